package archival

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// forgetEvents removes what is known of how far the events are archived, as a restore of a backup does.
func (b *bundle) forgetEvents() {
	b.Helper()
	cluster, err := b.js.KeyValue(b.Context(), b.names.ClusterBucket())
	require.NoError(b, err)
	require.NoError(b, cluster.Purge(b.Context(), subjects.ArchivedEventsKey(space)))
}

// TestEventsAreArchivedOnce: events that are archived are not archived again, although nobody knows of it and the first of them have left the stream. What the
// archive has stays as it is.
func TestEventsAreArchivedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := time.Now().UTC().Truncate(24 * time.Hour).Add(-24*time.Hour - 30*time.Minute)
	want := map[string][]string{}
	through := 0
	happen := func(n int) {
		for range n {
			id := fmt.Sprint("s", through%2)
			want[id] = append(want[id], b.happens(id, schedule.EventStarted, at.Add(time.Duration(through)*5*time.Minute)))
			through++
		}
	}
	archived := func() (stop func()) {
		stop = b.run()
		b.await("all are archived", func() bool { return b.eventsThrough() == uint64(through) })
		return stop
	}
	for _, n := range []int{4, 5, 3} { // the day ends within the second part
		happen(n)
		archived()()
	}
	for _, c := range []struct {
		name       string
		gone, more int
	}{
		{"nothing is new", 0, 0}, {"one is new", 0, 1}, {"some have left", 2, 0}, {"some have left, others are new", 3, 2}, {"a part has left", 4, 1},
		{"only new ones are left", 16, 2},
	} {
		before := b.objects()
		b.forgetEvents()
		stream, err := b.js.Stream(t.Context(), b.names.EventStream())
		require.NoError(t, err)
		require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSequence(uint64(c.gone)+1)))
		happen(c.more)
		stop := archived()
		for id, events := range want {
			require.Equal(t, events, b.eventIDs(archive.EventsRequest{ScheduleID: id}), c.name)
		}
		after := b.objects()
		maps.DeleteFunc(after, func(object, _ string) bool { return before[object] == "" })
		require.Equal(t, before, after, c.name)
		page, err := b.archivedEvents(subjects.VerbListSchedules, archive.EventsRequest{})
		require.NoError(t, err)
		listed := 0
		for _, one := range page.Schedules {
			listed += one.Count
		}
		require.Equal(t, through, listed, c.name)
		require.Equal(t, archive.Verified{Events: len(page.Schedules)}, b.verifyEvents(), c.name)
		stop()
	}
}

// TestAPartThatWasBegun: when a process dies after any write of a part with several days, another one completes it, and each event is there once.
func TestAPartThatWasBegun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := time.Now().UTC().Truncate(24 * time.Hour).Add(-24*time.Hour - 10*time.Minute)
	want := map[string][]string{}
	for i := range 4 {
		id := fmt.Sprint("s", i%2)
		want[id] = append(want[id], b.happens(id, schedule.EventStarted, at.Add(time.Duration(i)*5*time.Minute)))
	}
	for _, step := range []int{1, 2, 3, 4, 5, 1, 2, 3} { // four objects with events, and two that say where they are; then only those of the second day
		b.runUntil(step)
		require.Zero(t, b.eventsThrough())
	}
	b.run()
	b.await("all are archived", func() bool { return b.eventsThrough() == 4 })
	for id, events := range want {
		require.Equal(t, events, b.eventIDs(archive.EventsRequest{ScheduleID: id}))
	}
	require.Equal(t, archive.Verified{Events: 4}, b.verifyEvents())
}

// TestEventsOfTwoStreams: when another stream has other events with the same numbers, an object that has to have the same name gets them, and loses nothing.
func TestEventsOfTwoStreams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
	first, other := b.happens("s", schedule.EventStarted, at), b.happens("other", schedule.EventStarted, at)
	stop := b.run()
	b.await("all are archived", func() bool { return b.eventsThrough() == 2 })
	stop()
	b.forgetEvents()
	b.emptyEvents()
	second := b.happens("s", schedule.EventCompleted, at.Add(time.Hour))
	b.run()
	b.await("the other one is archived", func() bool { return b.eventsThrough() == 1 })
	require.Equal(t, []string{first, second}, b.eventIDs(archive.EventsRequest{ScheduleID: "s"}))
	require.Equal(t, []string{other}, b.eventIDs(archive.EventsRequest{ScheduleID: "other"}))
	require.Equal(t, archive.Verified{Events: 2}, b.verifyEvents())
	page, err := b.archivedEvents(subjects.VerbListSchedules, archive.EventsRequest{ScheduleID: "s"})
	require.NoError(t, err)
	require.Len(t, page.Schedules, 1)
	require.Equal(t, map[string]int{"started": 1, "completed": 1}, page.Schedules[0].Kinds)
	require.Equal(t, at, page.Schedules[0].First)
}

// emptyEvents makes the stream of events anew.
func (b *bundle) emptyEvents() {
	b.Helper()
	require.NoError(b, b.js.DeleteStream(b.Context(), b.names.EventStream()))
	_, err := topology.Ensure(b.Context(), b.js, b.names, topology.Settings{Shards: b.shards, Replicas: 1})
	require.NoError(b, err)
}
