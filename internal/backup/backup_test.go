package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/backup"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// TestTimersAndRunsGoOn: what was due later happens, and a run that a worker had runs.
func TestTimersAndRunsGoOn(t *testing.T) {
	t.Parallel()
	old := connectInstallation(t, natstest.Server(t), natstest.Names(t))
	old.start(topology.Settings{Shards: 2}, &ledger{work: func(ctx context.Context, _ *worker.Run) error {
		<-ctx.Done()
		return ctx.Err()
	}})
	later := every(time.Hour, schedule.OverlapSkip)
	later.Spec = schedule.Spec{At: []time.Time{time.Now().Add(4 * time.Second).UTC().Truncate(time.Second)}}
	old.create("later", later)
	old.create("held", every(time.Hour, schedule.OverlapSkip))
	limited := every(time.Hour, schedule.OverlapSkip)
	limited.Action.RunTimeout = schedule.Duration(5 * time.Second)
	limited.Action.TaskQueue = "nobody"
	old.create("limited", limited)
	for _, id := range []string{"held", "limited"} {
		_, err := old.client.Trigger(t.Context(), schedule.TriggerRequest{ID: id, Trigger: schedule.Trigger{Input: []byte(`"as told"`)}})
		require.NoError(t, err)
		natstest.Eventually(t, natstest.Patience, "it runs", func() bool { return len(old.describe(id).Info.RunningWorkflows) == 1 })
	}
	dir, manifest := old.backup()
	assert.Len(t, manifest.Streams, 17)
	old.stop()

	restored := connectInstallation(t, natstest.Server(t), old.names)
	summary := restored.restore(dir, backup.RestoreConfig{})
	assert.Equal(t, 3, summary.Schedules)
	assert.Equal(t, 17, summary.Streams)
	assert.Empty(t, summary.Lost)
	inputs := make(chan string, 10)
	after := &ledger{work: func(_ context.Context, run *worker.Run) error {
		inputs <- run.ScheduleID + string(run.Input)
		return nil
	}}
	restored.start(topology.Settings{}, after)
	assert.Equal(t, 2, restored.facts.Shards)
	natstest.Eventually(t, natstest.Patience, "both have run", func() bool { return after.of("later") == 1 && after.of("held") == 1 })
	assert.ElementsMatch(t, []string{"later", `held"as told"`}, []string{<-inputs, <-inputs})
	natstest.Eventually(t, natstest.Patience, "the run nobody takes has timed out", func() bool {
		recent := restored.describe("limited").Info.RecentActions
		return len(recent) == 1 && recent[0].Status == schedule.StatusTimedOut
	})
	restored.consistent()
}

// TestResumeFrom: what was due between the backup and the time to resume from does not run, and the audit accounts for it.
func TestResumeFrom(t *testing.T) {
	t.Parallel()
	old := connectInstallation(t, natstest.Server(t), natstest.Names(t))
	before := &ledger{}
	old.start(topology.Settings{Shards: 2}, before)
	old.create("tick", every(time.Second, schedule.OverlapAllowAll))
	natstest.Eventually(t, natstest.Patience, "it runs", func() bool { return before.of("tick") > 0 })
	dir, manifest := old.backup()
	// Things continue for a while that no backup knows of.
	known := before.of("tick")
	natstest.Eventually(t, natstest.Patience, "it has gone on", func() bool { return before.of("tick") > known+2 })
	old.stop()

	restored := connectInstallation(t, natstest.Server(t), old.names)
	for name, at := range map[string]time.Time{
		"in the future": time.Now().Add(time.Hour), "is before the moment of the backup": manifest.Moment.Add(-time.Minute),
	} {
		_, err := backup.Restore(t.Context(), backup.RestoreConfig{JS: restored.js, ResumeFrom: at}, dir)
		require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeInvalidArgument})
		assert.ErrorContains(t, err, name)
	}
	from := time.Now()
	summary := restored.restore(dir, backup.RestoreConfig{ResumeFrom: from})
	assert.GreaterOrEqual(t, summary.Assumed, 2)
	after := &ledger{}
	restored.start(topology.Settings{}, after)
	natstest.Eventually(t, natstest.Patience, "it runs again", func() bool { return after.of("tick") > 1 })
	_, pending := restored.history()
	for _, run := range after.all() {
		if !pending[run.requestID] {
			assert.NotContains(t, requests(before.all()), run.requestID, "it had run before")
		}
	}
	page := restored.events(events.Query{Kinds: []schedule.EventKind{schedule.EventMissed}})
	require.Len(t, page.Entries, 1)
	assert.Equal(t, summary.Assumed, page.Entries[0].Count)
	assert.Equal(t, "restored from a backup: taken for done", page.Entries[0].Reason)
	restored.audit([]string{"tick"})
	restored.consistent()
}

func requests(runs []ran) []string {
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.requestID)
	}
	return ids
}

// TestRestoreRefuses: a restore refuses if there is an installation, or one that runs.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	s := connectInstallation(t, natstest.Server(t), natstest.Names(t))
	s.open(topology.Settings{Shards: 1})
	dir, _ := s.backup()

	_, err := backup.Create(t.Context(), backup.CreateConfig{JS: s.js, Names: s.names, Facts: s.facts}, dir)
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeAlreadyExists}, "a backup replaces nothing")
	refused(t, s, dir, backup.RestoreConfig{}, "there is an installation of prefix "+s.names.Prefix())
	refused(t, s, dir, backup.RestoreConfig{Prefix: "other"}, "the backup is of prefix "+s.names.Prefix()+", not other")
	refused(t, s, dir+"-no", backup.RestoreConfig{}, "holds no backup: it has no manifest.json")

	other := connectInstallation(t, natstest.Server(t), s.names)
	refused(t, other, dir, backup.RestoreConfig{Replicas: 3}, "each replica needs a NATS server of its own")
	assert.Empty(t, other.streams(), "a restore that fails leaves nothing")
	_, err = backup.Restore(t.Context(), backup.RestoreConfig{JS: other.js, Replicas: 2}, dir)
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeInvalidArgument})

	sub, err := other.conn.SubscribeSync("$SRV.PING." + s.names.ServiceName())
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if msg, err := sub.NextMsg(20 * time.Second); err == nil {
			_ = msg.Respond([]byte("{}"))
		}
	}()
	refused(t, other, dir, backup.RestoreConfig{}, "a process of the installation is running")
	<-done
	require.NoError(t, sub.Unsubscribe())
	other.restore(dir, backup.RestoreConfig{})
	assert.Len(t, other.streams(), 13)
}

func refused(t *testing.T, s *installation, dir string, config backup.RestoreConfig, want string) {
	t.Helper()
	config.JS = s.js
	_, err := backup.Restore(t.Context(), config, dir)
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
	assert.ErrorContains(t, err, want)
	assert.NotContains(t, err.Error(), "\n")
}

// streams returns the names of the streams of the server.
func (s *installation) streams() []string {
	s.Helper()
	var names []string
	lister := s.js.StreamNames(s.Context())
	for name := range lister.Name() {
		names = append(names, name)
	}
	require.NoError(s, lister.Err())
	return names
}

// TestDamage: every fault of a backup is found before anything is restored.
func TestDamage(t *testing.T) {
	t.Parallel()
	s := connectInstallation(t, natstest.Server(t), natstest.Names(t))
	s.open(topology.Settings{Shards: 1})
	dir, _ := s.backup()
	snapshot := s.names.ActionStream() + ".snapshot"
	for name, c := range map[string]struct {
		file   string
		damage func([]byte) []byte
		want   string
	}{
		"cut":             {snapshot, func(b []byte) []byte { return b[:len(b)-1] }, "the backup is damaged: " + snapshot + " has "},
		"changed":         {snapshot, func(b []byte) []byte { b[len(b)/2] ^= 1; return b }, "has another SHA-256 than when it was made"},
		"missing":         {snapshot, func([]byte) []byte { return nil }, snapshot + " is missing"},
		"tail":            {s.names.EventStream() + ".tail", func(b []byte) []byte { return append(b, '{') }, "has 1 bytes and should have 0"},
		"manifest":        {"manifest.json", replace(`"shards": 1`, `"shards": 2`), "manifest.json has another SHA-256"},
		"no sum":          {"manifest.json.sha256", func([]byte) []byte { return nil }, "the backup is damaged: "},
		"cut manifest":    {"manifest.json", func(b []byte) []byte { return b[:20] }, "manifest.json cannot be read"},
		"another format":  {"manifest.json", replace(`"format": 1`, `"format": 2`), "holds a backup of format 2, and this program knows format 1"},
		"not a manifest":  {"manifest.json", func([]byte) []byte { return []byte("{}") }, "holds a backup of format 0"},
		"another version": {"manifest.json", replace(`"formatVersion": 1`, `"formatVersion": 2`), "manifest.json has another SHA-256"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := filepath.Join(t.TempDir(), "broken")
			require.NoError(t, os.CopyFS(broken, os.DirFS(dir)))
			path := filepath.Join(broken, c.file)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.Remove(path))
			if damaged := c.damage(text); damaged != nil {
				require.NoError(t, os.WriteFile(path, damaged, 0o600))
			}
			_, err = backup.Read(broken)
			require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func replace(old, by string) func([]byte) []byte {
	return func(b []byte) []byte { return []byte(strings.Replace(string(b), old, by, 1)) }
}

// TestABackupThatFailsLeavesNothing: neither does a restore that fails.
func TestABackupThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	s := connectInstallation(t, natstest.Server(t), natstest.Names(t))
	s.open(topology.Settings{Shards: 1})
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := backup.Create(ctx, backup.CreateConfig{
		JS: s.js, Names: s.names, Facts: s.facts, Progress: func(step string, _, _ int) {
			if strings.HasPrefix(step, "complete") {
				cancel()
			}
		},
	}, filepath.Join(folder, "backup"))
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Empty(t, left)

	dir, _ := s.backup()
	other := connectInstallation(t, natstest.Server(t), s.names)
	ctx, cancel = context.WithCancel(t.Context())
	_, err = backup.Restore(ctx, backup.RestoreConfig{JS: other.js, Progress: func(step string, _, _ int) {
		if step == "reconcile" {
			cancel()
		}
	}}, dir)
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, other.streams())

	// Somebody who starts a process in the middle of the restore keeps what that process has made. (This needs a server of its
	// own: a server removes the folder of all streams a moment after the last of them was deleted, even if the next one is being
	// created.)
	other = connectInstallation(t, natstest.Server(t), s.names)
	config := jetstream.KeyValueConfig{Bucket: s.names.ClusterBucket()}
	_, err = backup.Restore(t.Context(), backup.RestoreConfig{JS: other.js, Progress: func(step string, _, _ int) {
		if step == "reconcile" {
			_, err := other.js.CreateKeyValue(t.Context(), config)
			assert.NoError(t, err)
		}
	}}, dir)
	var refused *jetstream.APIError
	require.True(t, errors.As(err, &refused), "%v", err)
	require.Equal(t, jetstream.ErrorCode(10130), refused.ErrorCode, "%v", err)
	assert.Equal(t, []string{"KV_" + config.Bucket}, other.streams())
}
