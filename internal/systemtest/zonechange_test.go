package systemtest

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/internal/zonedata"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The zones of TestZoneDataChanges: one whose rules change, and one whose rules do not.
const (
	zoneChanged = "Pacific/Apia"
	zoneSame    = "Asia/Tokyo"
)

// TestZoneDataChanges restarts a server with time zone data that gives a zone another offset from yesterday on. Without any
// request, the coming times of its schedules move once, actions that the change has made due run once, and a schedule of
// another zone is left alone.
func TestZoneDataChanges(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes, which the race detector does not see")
	}
	now := time.Now().UTC().Truncate(time.Minute)
	before := zoneDataWith(t, "2026x", compiledZone(now.AddDate(0, 0, -1), time.Hour, time.Hour))
	after := zoneDataWith(t, "2026y", compiledZone(now.AddDate(0, 0, -1), time.Hour, 2*time.Hour))
	port := strconv.Itoa(freePort(t))
	server := newProcess(t, "server", "--data", t.TempDir(), "--port", port)
	restart := func(zones string) {
		server.kill()
		server.env = []string{"CARILLON_ZONEINFO=" + zones}
		server.start()
	}
	restart(before)
	s := zonedSystem(t, "nats://127.0.0.1:"+port)
	s.createAt("moved", zoneChanged, now.Add(3*time.Hour))
	soon := s.createDue("due")
	s.createAt("same", zoneSame, now.Add(3*time.Hour))
	moved, same := s.planned("moved", "2026x"), s.planned("same", "2026x")
	s.planned("due", "2026x")
	kept := s.generator("same").Revision

	restart(after)
	for i, at := range s.planned("moved", "2026y") {
		assert.WithinDuration(t, moved[i].Add(-time.Hour), at, 0)
	}
	s.planned("due", "2026y")
	natstest.Eventually(t, natstest.Patience, "what the change has made due to run", func() bool {
		runs := s.describe("due").Info.RecentActions
		return len(runs) == 1 && runs[0].Status == schedule.StatusCompleted
	})
	natstest.Eventually(t, natstest.Patience, "all to have been looked at", s.swept)
	assert.Equal(t, kept, s.generator("same").Revision, "nobody has written it")
	assert.Equal(t, same, s.describe("same").Info.FutureActionTimes)

	restart(after)
	for _, name := range []string{"moved", "due"} { // the generator looks at them once more
		natstest.Eventually(t, natstest.Patience, "the server to be up again", func() bool {
			return s.client.Pause(t.Context(), name, "") == nil && s.client.Unpause(t.Context(), name, "") == nil
		})
		natstest.Eventually(t, natstest.Patience, "the generator to have looked", func() bool {
			return s.generator(name).Value.Version == s.describe(name).ConflictToken
		})
	}
	for name, want := range map[string]int{"moved": 1, "due": 1, "same": 0} {
		events := s.history(name, schedule.EventReplanned)
		require.Len(t, events, want, name)
		for _, event := range events {
			assert.Contains(t, event.Reason, "2026x → 2026y")
		}
	}
	started := s.history("due", schedule.EventStarted)
	require.Len(t, started, 1)
	assert.WithinDuration(t, soon, started[0].Nominal, 0)
	assert.Empty(t, s.history("moved", schedule.EventStarted))
	assert.WithinDuration(t, now.Add(2*time.Hour), s.describe("moved").Info.FutureActionTimes[0], 0)
	assert.WithinDuration(t, soon.AddDate(0, 0, 1), s.describe("due").Info.FutureActionTimes[0], 0)
}

// zonedSystem is what the test sees of a server: its API and its records.
func zonedSystem(t *testing.T, url string) *system {
	conn := connectWhenUp(t, url)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	s := &system{t: t, names: subjects.Default(), conn: conn, js: js}
	s.client, err = client.New(conn, client.Config{Timeout: 30 * time.Second})
	require.NoError(t, err)
	natstest.Eventually(t, natstest.Patience, "the frontend to answer", func() bool {
		_, err := s.client.List(t.Context(), schedule.ListRequest{})
		return err == nil
	})
	shards := 0
	for stream := range js.StreamNames(t.Context()).Name() {
		if len(stream) > len("CARILLON_TASKS_") && stream[:len("CARILLON_TASKS_")] == "CARILLON_TASKS_" {
			shards++
		}
	}
	s.store, err = kv.Open(t.Context(), js, s.names, shards)
	require.NoError(t, err)
	return s
}

// createAt makes a schedule that is due every day at the time that the clock of a zone shows at an instant, by the data before
// the change.
func (s *system) createAt(name, zone string, at time.Time) schedule.Description {
	offset := time.Hour
	if zone == zoneSame {
		offset = 9 * time.Hour
	}
	wall := at.Add(offset)
	return s.create(name, schedule.Schedule{
		Spec:   schedule.Spec{Cron: []string{fmt.Sprintf("%d %d %d * * * *", wall.Second(), wall.Minute(), wall.Hour())}, TimeZone: zone},
		Action: schedule.Action{Type: "noop", TaskQueue: "default"},
	})
}

// createDue makes a schedule that is due in an hour and some seconds by the data before the change. By the data after it, it is
// due in some seconds, at the returned time.
func (s *system) createDue(name string) time.Time {
	for {
		at := time.Now().UTC().Truncate(time.Second).Add(4 * time.Second)
		if s.createAt(name, zoneChanged, at.Add(time.Hour)).Info.CreateTime.Before(at) {
			return at
		}
		require.NoError(s.t, s.client.Delete(s.t.Context(), name)) // it was too slow: nothing before its creation is due
	}
}

// planned waits until the coming times of a schedule follow some data, and returns them.
func (s *system) planned(name, data string) (times []time.Time) {
	natstest.Eventually(s.t, natstest.Patience, name+" to go by "+data, func() bool {
		d, err := s.client.Describe(s.t.Context(), name)
		times = d.Info.FutureActionTimes
		return err == nil && d.Info.ZoneData == data && len(times) == 10
	})
	return times
}

func (s *system) generator(name string) kv.Record[wire.GeneratorState] {
	record, err := kv.GetLeader(s.t.Context(), s.store, kv.Generator(schedule.Key{Namespace: "default", ID: name}))
	require.NoError(s.t, err)
	return record
}

// swept reports whether all schedules have been looked at after the change.
func (s *system) swept() bool {
	record, err := kv.GetJSON[struct {
		Data   string `json:"data"`
		Passes int    `json:"passes"`
	}](s.t.Context(), kv.NewCluster(s.js, s.names), subjects.KeyZoneSweep)
	return err == nil && record.Value.Data == "2026y" && record.Value.Passes > 0
}

func (s *system) history(name string, kind schedule.EventKind) []schedule.Event {
	page, err := s.client.History(s.t.Context(), schedule.HistoryRequest{ID: name, Kinds: []schedule.EventKind{kind}})
	require.NoError(s.t, err)
	return page.Events
}

// zoneDataWith writes the data of the binary with another version, and with another zone for [zoneChanged].
func zoneDataWith(t *testing.T, version string, changed []byte) (name string) {
	t.Helper()
	embedded, err := zip.OpenReader(filepath.Join("..", "zonedata", "zones.zip"))
	require.NoError(t, err)
	defer embedded.Close() //nolint:errcheck // nothing was written
	var data bytes.Buffer
	archive := zip.NewWriter(&data)
	write := func(name string, content []byte) {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		require.NoError(t, err)
		_, err = w.Write(content)
		require.NoError(t, err)
	}
	for _, file := range embedded.File {
		if file.Name == zoneChanged || file.Name == zonedata.VersionEntry {
			continue
		}
		reader, err := file.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(reader)
		require.NoError(t, err)
		write(file.Name, content)
	}
	write(zoneChanged, changed)
	write(zonedata.VersionEntry, []byte(version+"\n"))
	require.NoError(t, archive.Close())
	name = filepath.Join(t.TempDir(), version+".zip")
	require.NoError(t, os.WriteFile(name, data.Bytes(), 0o600))
	return name
}

// compiledZone is a compiled time zone file (RFC 9636) of a zone that has one offset before an instant and another one from
// then on.
func compiledZone(at time.Time, before, from time.Duration) []byte {
	var file bytes.Buffer
	write := func(values ...any) {
		for _, value := range values {
			_ = binary.Write(&file, binary.BigEndian, value) // a buffer accepts everything
		}
	}
	kind := func(offset time.Duration) { write(int32(offset/time.Second), uint8(0), uint8(0)) }
	header := func(transitions uint32) {
		// The numbers of indicators, leap seconds, transitions, kinds of time and bytes of names.
		write([]byte("TZif2"), make([]byte, 15), uint32(0), uint32(0), uint32(0), transitions, uint32(2), uint32(4))
	}
	header(0) // of the first version of the format, which nobody reads
	kind(before)
	kind(from)
	write([]byte("LMT\x00"))
	header(1)
	write(at.Unix(), uint8(1))
	kind(before)
	kind(from)
	write([]byte("LMT\x00"))
	fmt.Fprintf(&file, "\n<+%02d>-%d\n", int(from.Hours()), int(from.Hours()))
	return file.Bytes()
}
