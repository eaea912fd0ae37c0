package backup_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/backup"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestChangesInTheLastMoment makes changes after the records have been copied, and before the events have. The restore applies
// what the events say completely enough. It reports the rest and removes its events from the history.
func TestChangesInTheLastMoment(t *testing.T) {
	t.Parallel()
	old := connectInstallation(t, natstest.Server(t), natstest.Names(t))
	before := &ledger{}
	old.start(topology.Settings{Shards: 1}, before)
	for _, id := range []string{"early", "updated", "paused", "deleted", "triggered", "held"} {
		sched := every(time.Hour, schedule.OverlapSkip)
		if id == "held" {
			sched.Action.TaskQueue = "nobody"
		}
		old.create(id, sched)
	}
	dir := t.TempDir() + "/backup"
	_, err := backup.Create(t.Context(), backup.CreateConfig{
		JS: old.js, Names: old.names, Facts: old.facts, Progress: func(step string, _, _ int) {
			switch step {
			case "complete KV_" + old.names.ClusterBucket():
				_, err := old.client.Update(t.Context(), schedule.UpdateRequest{ID: "early", Schedule: every(2*time.Hour, schedule.OverlapSkip)})
				assert.NoError(t, err)
			case "complete " + old.names.ControlStream():
				old.change(before)
			}
		},
	}, dir)
	require.NoError(t, err)
	old.stop()

	restored := connectInstallation(t, natstest.Server(t), old.names)
	summary := restored.restore(dir, backup.RestoreConfig{})
	var lost []string
	for _, l := range summary.Lost {
		lost = append(lost, l.ScheduleID+" "+string(l.Kind))
		assert.NotEmpty(t, l.Identity)
	}
	assert.ElementsMatch(t, []string{"updated updated", "paused paused", "created created"}, lost)
	assert.Equal(t, backup.Counts{Started: 2, Completed: 1, Deleted: 1}, summary.Counts)
	if assert.Len(t, summary.Gone, 1, "what the restore removes it names") {
		gone := summary.Gone[0]
		assert.Equal(t, []any{"deleted", schedule.EventDeleted}, []any{gone.ScheduleID, gone.Kind})
		assert.NotEmpty(t, gone.Identity)
	}

	after := &ledger{}
	restored.start(topology.Settings{}, after)
	last, err := kv.LastDeletion(t.Context(), restored.store, schedule.Key{Namespace: "default", ID: "deleted"})
	require.NoError(t, err)
	assert.True(t, last.By("r-deleted"), "a repeat of the request that has deleted it is recognised")
	for _, id := range []string{"created", "deleted"} {
		_, err := restored.client.Describe(t.Context(), id)
		require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeNotFound}, id)
	}
	assert.Equal(t, 2*time.Hour, restored.describe("early").Spec.Intervals[0].Every.Std(), "it came after the snapshot, and in time")
	assert.Equal(t, time.Hour, restored.describe("updated").Spec.Intervals[0].Every.Std())
	assert.False(t, restored.describe("paused").State.Paused)
	triggered := restored.describe("triggered")
	assert.EqualValues(t, 1, triggered.Info.ActionCount)
	require.Len(t, triggered.Info.RecentActions, 1)
	assert.Equal(t, schedule.StatusCompleted, triggered.Info.RecentActions[0].Status)
	assert.Len(t, restored.describe("held").Info.RunningWorkflows, 1)
	restored.audit([]string{"early", "updated", "paused", "triggered", "held"})
	restored.consistent()
	assert.Empty(t, after.all())
}

// change makes a change of each kind, and waits until all its effects have happened.
func (s *installation) change(l *ledger) {
	s.Helper()
	ctx := s.Context()
	_, err := s.client.Update(ctx, schedule.UpdateRequest{ID: "updated", Schedule: every(2*time.Hour, schedule.OverlapSkip)})
	require.NoError(s, err)
	require.NoError(s, s.client.Pause(ctx, "paused", "for now"))
	require.NoError(s, s.client.DeleteVersion(ctx, schedule.DeleteRequest{ID: "deleted", RequestID: "r-deleted"}))
	s.create("created", every(time.Hour, schedule.OverlapSkip))
	for _, id := range []string{"triggered", "held"} {
		_, err := s.client.Trigger(ctx, schedule.TriggerRequest{ID: id, Trigger: schedule.Trigger{Input: []byte(`"as told"`)}})
		require.NoError(s, err)
	}
	natstest.Eventually(s, natstest.Patience, "all has happened", func() bool {
		kinds := map[string]bool{}
		for _, e := range s.events(everything).Entries {
			kinds[strings.Join([]string{e.ScheduleID, string(e.Kind)}, " ")] = true
		}
		return kinds["triggered completed"] && kinds["held started"] && kinds["deleted deleted"] && kinds["created created"]
	})
	assert.Equal(s, 1, l.of("triggered"))
}
