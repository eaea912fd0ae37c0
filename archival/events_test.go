package archival

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/archive/progress"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// later is a clock that a test sets forward.
type later struct{ by atomic.Int64 }

func (l *later) now() time.Time { return time.Now().Add(time.Duration(l.by.Load())) }

// happens stores an event of a schedule, and returns its ID.
func (b *bundle) happens(id string, kind schedule.EventKind, at time.Time) string {
	b.Helper()
	key := schedule.Key{Namespace: space, ID: id}
	e := schedule.Event{ID: fmt.Sprint(id, "-", kind, "-", at.UnixNano()), Time: at, Namespace: space, ScheduleID: id, Kind: kind}
	data, err := json.Marshal(&e)
	require.NoError(b, err)
	require.NoError(b, natstest.Bus(b, b.js).Publish(b.Context(), &nats.Msg{Subject: b.names.Event(key, kind), Data: data}))
	return e.ID
}

// archivedEvents asks the role for all pages.
func (b *bundle) archivedEvents(verb string, request archive.EventsRequest) (all archive.EventsPage, err error) {
	b.Helper()
	for {
		data, err := json.Marshal(&request)
		require.NoError(b, err)
		var answer wrapperspb.BytesValue
		if err := b.askArchive(verb, wrapperspb.Bytes(data), &answer); err != nil {
			return all, err
		}
		var page archive.EventsPage
		require.NoError(b, json.Unmarshal(answer.Value, &page))
		all.Schedules, all.Events = append(all.Schedules, page.Schedules...), append(all.Events, page.Events...)
		if request.Next = page.Next; len(page.Next) == 0 {
			return all, nil
		}
	}
}

// eventIDs returns the IDs of the archived events of a schedule, in pages of a size.
func (b *bundle) eventIDs(request archive.EventsRequest) (ids []string) {
	b.Helper()
	page, err := b.archivedEvents(subjects.VerbScheduleEvents, request)
	require.NoError(b, err)
	for _, data := range page.Events {
		var e schedule.Event
		require.NoError(b, json.Unmarshal(data, &e))
		ids = append(ids, e.ID)
	}
	return ids
}

// eventsThrough returns how far the events of the namespace are archived.
func (b *bundle) eventsThrough() uint64 {
	b.Helper()
	p, _, err := progress.NewRecords(kv.NewCluster(b.js, b.names)).GetEvents(b.Context(), space)
	require.NoError(b, err)
	return p.Through
}

// verifyEvents verifies all archived events of schedules.
func (b *bundle) verifyEvents() (found archive.Verified) {
	b.Helper()
	var answer wrapperspb.BytesValue
	require.NoError(b, b.askArchive(subjects.VerbVerifySchedules, wrapperspb.Bytes([]byte("{}")), &answer))
	require.NoError(b, json.Unmarshal(answer.Value, &found))
	return found
}

// TestEventsOfSchedules: events are archived when the first of them is old enough, by schedule and day; and further ones after that. They are found by
// schedule, day and kind.
func TestEventsOfSchedules(t *testing.T) {
	t.Parallel()
	b, clock := setup(t), &later{}
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
	var want []string
	for i := range 5 {
		want = append(want, b.happens("daily/1", schedule.EventStarted, noon.Add(time.Duration(i)*6*time.Hour)))
	}
	want = append(want, b.happens("daily/1", schedule.EventCompleted, noon.Add(25*time.Hour)))
	b.happens("other", schedule.EventStarted, noon)
	require.NoError(t, natstest.Bus(t, b.js).Publish(t.Context(), &nats.Msg{Subject: b.names.Event(schedule.Key{Namespace: space, ID: "ruin"}, "started"), Data: []byte("?")}))
	stop := b.run(func(config *Config) { config.Now = clock.now })
	b.await("all are archived", func() bool { return b.eventsThrough() == 8 })
	young := b.happens("daily/1", schedule.EventDeleted, time.Now())
	first, second := archive.DayOf(noon), archive.DayOf(noon.AddDate(0, 0, 1))
	for _, size := range []int{0, 1, 4} {
		require.Equal(t, want, b.eventIDs(archive.EventsRequest{ScheduleID: "daily/1", Size: size}))
	}
	require.Equal(t, want[:2], b.eventIDs(archive.EventsRequest{ScheduleID: "daily/1", Day: first}))
	require.Equal(t, want[5:], b.eventIDs(archive.EventsRequest{ScheduleID: "daily/1", Kind: "completed"}))
	for _, size := range []int{0, 1} {
		page, err := b.archivedEvents(subjects.VerbListSchedules, archive.EventsRequest{Size: size})
		require.NoError(t, err)
		var days []string
		for _, s := range page.Schedules {
			days = append(days, s.Day+" "+s.ScheduleID)
		}
		require.Equal(t, []string{second + " ", second + " daily/1", first + " daily/1", first + " other"}, days)
		require.Equal(t, map[string]int{"started": 3, "completed": 1}, page.Schedules[1].Kinds)
	}
	page, err := b.archivedEvents(subjects.VerbListSchedules, archive.EventsRequest{Day: first, Kind: "started", ScheduleID: "other"})
	require.NoError(t, err)
	require.Len(t, page.Schedules, 1)
	_, err = b.archivedEvents(subjects.VerbScheduleEvents, archive.EventsRequest{ScheduleID: "never"})
	var missing *serviceerror.NotFound
	require.ErrorAs(t, err, &missing)
	require.EqualValues(t, 8, b.eventsThrough(), "an event is young")
	stop()
	clock.by.Store(int64(2 * partAge))
	b.run(func(config *Config) { config.Now = clock.now })
	b.await("it is archived as well", func() bool { return b.eventsThrough() == 9 })
	require.Equal(t, append(want, young), b.eventIDs(archive.EventsRequest{ScheduleID: "daily/1"}))
}

// TestEventsAreWrittenAgain: a process that dies after any write leaves events that another one completes, each once.
func TestEventsAreWrittenAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := time.Now().Add(-2 * partAge)
	want := map[string]string{}
	for i := range 3 {
		id := fmt.Sprint("s", i)
		want[id] = b.happens(id, schedule.EventStarted, at)
	}
	for step := 1; step <= 4; step++ {
		b.runUntil(step)
		require.Zero(t, b.eventsThrough())
	}
	b.run()
	b.await("all are archived", func() bool { return b.eventsThrough() == 3 })
	for id, event := range want {
		require.Equal(t, []string{event}, b.eventIDs(archive.EventsRequest{ScheduleID: id}))
	}
	page, err := b.archivedEvents(subjects.VerbListSchedules, archive.EventsRequest{})
	require.NoError(t, err)
	require.Len(t, page.Schedules, 3)
}

// TestEventsOfAnotherEnd: when the stream has lost its end and got another one, as by a takeover, or when it is another stream, the events that are not
// archived are. Those that are there already are not written again.
func TestEventsOfAnotherEnd(t *testing.T) {
	t.Parallel()
	at := time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
	for name, c := range map[string]struct{ kept, later int }{
		"nothing is lost": {6, 2}, "as many as were lost": {4, 2}, "more": {4, 5}, "fewer": {3, 1}, "all is lost": {0, 3}, "all, and more": {0, 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			happens := func(i int) string { return b.happens("s", schedule.EventStarted, at.Add(time.Duration(i)*time.Second)) }
			var want []string
			for i := range 6 {
				want = append(want, happens(i))
			}
			stop := b.run()
			b.await("all are archived", func() bool { return b.eventsThrough() == 6 })
			stop()
			require.NoError(t, b.js.DeleteStream(t.Context(), b.names.EventStream()))
			_, err := topology.Ensure(t.Context(), b.js, b.names, topology.Settings{Shards: b.shards, Replicas: 1})
			require.NoError(t, err)
			for i := range c.kept {
				happens(i)
			}
			for i := range c.later {
				want = append(want, happens(60+i))
			}
			b.run()
			b.await("all are archived", func() bool {
				p, _, err := progress.NewRecords(kv.NewCluster(b.js, b.names)).GetEvents(b.Context(), space)
				require.NoError(t, err)
				return p.At.Equal(at.Add(time.Duration(60+c.later-1) * time.Second))
			})
			require.EqualValues(t, c.kept+c.later, b.eventsThrough())
			got := b.eventIDs(archive.EventsRequest{ScheduleID: "s"})
			require.Equal(t, want, got)
		})
	}
}

// TestEventsOfABucketThatComesBack: when another bucket has been used meanwhile, as that of another site, the first one gets the events that it does not
// have, and no others.
func TestEventsOfABucketThatComesBack(t *testing.T) {
	t.Parallel()
	b, at := setup(t), time.Now().Add(-2*partAge)
	var want []string
	for n, bucket := range []string{"", "-b", "-c", "-b", ""} {
		want = append(want, b.happens("s", schedule.EventStarted, at.Add(time.Duration(n)*time.Second)))
		stop := b.run(func(config *Config) {
			config.open = func(ctx context.Context, _ string) (*archive.Bucket, error) {
				return b.store.Open(ctx, "jetstream://"+b.names.ArchiveBucket()+bucket)
			}
		})
		b.await("it is archived", func() bool { return b.eventsThrough() == uint64(n+1) })
		require.Equal(t, want, b.eventIDs(archive.EventsRequest{ScheduleID: "s"}))
		stop()
	}
}

// TestVerifyEvents: events that are damaged or missing are found, and so is what says where they are.
func TestVerifyEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 4 {
		b.happens(fmt.Sprint("s", i), schedule.EventStarted, time.Now().Add(-2*partAge).AddDate(0, 0, -i))
	}
	b.run()
	b.await("all are archived", func() bool { return b.eventsThrough() == 4 })
	require.Equal(t, archive.Verified{Events: 4}, b.verifyEvents())
	in := b.bucket()
	page, err := b.archivedEvents(subjects.VerbListSchedules, archive.EventsRequest{})
	require.NoError(t, err)
	require.NoError(t, in.WriteAll(t.Context(), page.Schedules[0].Object, []byte("{}"), nil))
	require.NoError(t, in.Delete(t.Context(), page.Schedules[1].Object))
	names, err := in.EventIndexes(t.Context(), space, page.Schedules[3].Day)
	require.NoError(t, err)
	require.NoError(t, in.WriteAll(t.Context(), names[0], []byte("garbage"), nil))
	found := b.verifyEvents()
	require.Equal(t, 3, found.Events)
	require.Len(t, found.Damaged, 3)
	require.Equal(t, []string{"s0", "s1", ""}, []string{found.Damaged[0].ScheduleID, found.Damaged[1].ScheduleID, found.Damaged[2].ScheduleID})
	page, err = b.archivedEvents(subjects.VerbListSchedules, archive.EventsRequest{})
	require.NoError(t, err, "others are listed")
	require.Len(t, page.Schedules, 3)
}

// TestEventsWaitForTheBucket: what a bucket does not take is told, and archived when it does.
func TestEventsWaitForTheBucket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.happens("s", schedule.EventStarted, time.Now().Add(-2*partAge))
	var full atomic.Bool
	full.Store(true)
	b.run(func(config *Config) { config.open = b.fullWhile(&full) })
	b.await("it is told", func() bool { return len(b.status().Waiting) == 1 })
	require.Zero(t, b.eventsThrough())
	full.Store(false)
	b.await("it is archived", func() bool { return b.eventsThrough() == 1 })
}

// TestEventsInANewBucket: a bucket that was made anew gets the events that are still there.
func TestEventsInANewBucket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	event := b.happens("s", schedule.EventStarted, time.Now().Add(-2*partAge))
	b.run()
	b.await("it is archived", func() bool { return b.eventsThrough() == 1 })
	b.removeBucket()
	b.bucket()
	b.await("it is archived again", func() bool {
		page, err := b.archivedEvents(subjects.VerbScheduleEvents, archive.EventsRequest{ScheduleID: "s"})
		return err == nil && len(page.Events) == 1
	})
	require.Equal(t, []string{event}, b.eventIDs(archive.EventsRequest{ScheduleID: "s"}))
}

// TestPartsOfEvents: a part begins while events are kept for several times as long, and one from the future does not keep it waiting.
func TestPartsOfEvents(t *testing.T) {
	t.Parallel()
	require.Equal(t, partAge, ageOf(&schedule.NamespaceLimits{}))
	require.Equal(t, 10*time.Minute, ageOf(&schedule.NamespaceLimits{EventRetention: schedule.Duration(time.Hour)}))
	require.Equal(t, partAge, ageOf(&schedule.NamespaceLimits{EventRetention: schedule.Duration(48 * time.Hour)}))
	require.True(t, isYoung(noon, noon.Add(-time.Minute), time.Hour))
	require.False(t, isYoung(noon, noon.Add(-time.Hour), time.Hour))
	require.False(t, isYoung(noon, noon.Add(time.Hour), time.Hour))
	require.False(t, isYoung(noon, time.Time{}, time.Hour))
}
