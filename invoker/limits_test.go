package invoker_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// rules are namespaces that a test changes.
type rules struct {
	mu  sync.Mutex
	all namespaces.Fixed
}

func (r *rules) Get(name string) (schedule.Namespace, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.Get(name)
}

func (r *rules) All() []schedule.Namespace {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.All()
}

func (r *rules) set(record schedule.Namespace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = namespaces.Fixed{record.Name: record}
}

func under(source namespaces.Source) func(*invoker.Config) {
	return func(c *invoker.Config) { c.Namespaces = source }
}

func limitedBy(limits schedule.NamespaceLimits) namespaces.Source {
	return namespaces.Fixed{"default": {Name: "default", Limits: limits}}
}

// turnTo stores a schedule of another name, or namespace, and turns to it.
func (s *installation) turnTo(namespace, id string) {
	s.t.Helper()
	s.key = s.define(id, func(d *wire.Definition) {
		d.Namespace = namespace
		d.Schedule.Policies.Overlap = schedule.OverlapAllowAll
	})
	s.handed = s.began
}

// backfillOf hands over so many manual starts.
func (s *installation) backfillOf(starts int) {
	s.t.Helper()
	s.request(wire.BackfillState{ID: "b-" + s.key.ID, Range: &schedule.BackfillRange{}})
	var seconds []int
	for n := range starts {
		seconds = append(seconds, n+1)
	}
	s.deliver(s.manual("b-"+s.key.ID, seconds...))
}

// arrival is when the run of a schedule was stored.
type arrival struct {
	id string
	at time.Time
}

// arrivals waits for so many runs of a namespace, and returns them by time.
func (s *installation) arrivals(namespace string, runs int) []arrival {
	s.t.Helper()
	consumer, err := s.js.CreateConsumer(s.t.Context(), s.names.ActionStream(), s.names.WorkerConsumer(namespace, "q"))
	require.NoError(s.t, err)
	var all []arrival
	for len(all) < runs {
		msg, err := consumer.Next(jetstream.FetchMaxWait(patience))
		require.NoError(s.t, err, "%d of %d runs have come", len(all), runs)
		meta, err := msg.Metadata()
		require.NoError(s.t, err)
		var request schedule.ActionRequest
		require.NoError(s.t, json.Unmarshal(msg.Data(), &request))
		all = append(all, arrival{request.ScheduleID, meta.Timestamp})
	}
	return all
}

// TestActionsPerSecond: two processes share the rate of a namespace among three schedules that have far more to start, and
// another namespace does not notice.
func TestActionsPerSecond(t *testing.T) {
	t.Parallel()
	const rate, each = 50, 60
	s := newInstallation(t)
	source := limitedBy(schedule.NamespaceLimits{ActionsPerSecond: rate})
	began := time.Now()
	for _, id := range []string{"a", "b", "c"} {
		s.turnTo("default", id)
		s.backfillOf(each)
	}
	s.turnTo("other", "free")
	s.backfillOf(each)
	s.run(s.newPool(under(source)))
	s.run(s.newPool(under(source)))
	s.arrivals("other", each)
	_, err := kv.GetLeader(t.Context(), s.store, kv.StartRate("other"))
	require.ErrorIs(t, err, kv.ErrNotFound, "nobody has asked for another namespace")

	all := s.arrivals("default", 3*each)
	took := all[len(all)-1].at.Sub(began)
	require.GreaterOrEqual(t, took, time.Duration(3*each-1)*time.Second/rate-invoker.PaceBurst, "the rate is kept")
	half := map[string]int{}
	for _, a := range all[:len(all)/2] {
		half[a.id]++
	}
	for _, id := range []string{"a", "b", "c"} {
		require.GreaterOrEqual(t, half[id], each/6, "all have a share of the first half: %v", half)
	}
}

// ready are the runs of a namespace that have been started.
func (s *installation) ready(namespace string) []string {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), s.names.ActionStream())
	require.NoError(s.t, err)
	info, err := stream.Info(s.t.Context(), jetstream.WithSubjectFilter(s.names.Actions(namespace)))
	require.NoError(s.t, err)
	var all []string
	for subject := range info.State.Subjects {
		all = append(all, subject)
	}
	return all
}

// TestMaxPendingRuns: starts wait until runs have ended, and go on by themselves.
func TestMaxPendingRuns(t *testing.T) {
	t.Parallel()
	const most, each = 8, 10
	s := newInstallation(t)
	s.run(s.newPool(under(limitedBy(schedule.NamespaceLimits{MaxPendingRuns: most}))))
	for _, id := range []string{"a", "b"} {
		s.turnTo("default", id)
		s.backfillOf(each)
	}
	natstest.Eventually(t, patience, "as many runs as there may be", func() bool { return len(s.ready("default")) == most })
	keys := []schedule.Key{{Namespace: "default", ID: "a"}, {Namespace: "default", ID: "b"}}
	natstest.Eventually(t, patience, "the others say why they wait", func() bool {
		delayed := 0
		for _, key := range keys {
			for _, start := range s.recordOf(key).Starts {
				if start.Delayed() && start.Delay.By == schedule.DelayPendingRuns {
					delayed++
				}
			}
		}
		return delayed == 2*each-most
	})
	require.Len(t, s.ready("default"), most)
	for range 2 * each {
		run := s.take()
		require.LessOrEqual(t, len(s.ready("default")), most)
		s.key = schedule.Key{Namespace: "default", ID: run.ScheduleID}
		s.finish(run, schedule.StatusCompleted, "")
	}
}

// TestAFreezeThatComesAndGoes: automated starts are dropped as long as it holds, those of people are not.
func TestAFreezeThatComesAndGoes(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	now := &rules{}
	s.run(s.newPool(under(now)))
	s.due(1)
	s.finish(s.take(), schedule.StatusCompleted, "")
	s.idle() // the next start must not meet the run
	now.set(schedule.Namespace{Name: "default", Freeze: &schedule.Freeze{Reason: "moving", From: time.Now()}})
	s.due(2)
	s.idle()
	require.EqualValues(t, 1, s.record().Counters.BufferDropped)
	s.request(wire.BackfillState{ID: "b", Trigger: &schedule.Trigger{}})
	s.deliver(s.manual("b", 100))
	s.finish(s.take(), schedule.StatusCompleted, "")
	s.idle() // the next start must not meet the run
	now.set(schedule.Namespace{Name: "default", Freeze: &schedule.Freeze{Reason: "moving", From: s.at(1000), Until: s.at(2000)}})
	s.due(3)
	require.Equal(t, s.at(3).UTC(), s.take().NominalTime.UTC())
	require.Contains(t, s.events(), schedule.EventDropped)
}

// TestStartsWaitWhereTheRateCannotBeLookedUp, and everything else goes on.
func TestStartsWaitWhereTheRateCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	broken := &brokenRates{}
	buckets, err := kv.OpenBuckets(t.Context(), s.js, s.names, 1)
	require.NoError(t, err)
	broken.Buckets = buckets
	broken.set(true)
	store := kv.NewStore(broken, s.names, 1)
	s.run(s.newPool(under(limitedBy(schedule.NamespaceLimits{ActionsPerSecond: 1000})), func(c *invoker.Config) { c.Store = store }))
	s.due(1)
	natstest.Eventually(t, patience, "a start is delayed", func() bool { return s.phase(1) == schedule.PhasePending })
	require.Zero(t, s.queued())
	broken.set(false)
	s.finish(s.take(), schedule.StatusCompleted, "")
}

// brokenRates are buckets that cannot write what the invokers share about rates.
type brokenRates struct {
	kv.Buckets
	mu     sync.Mutex
	broken bool
}

func (b *brokenRates) set(broken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = broken
}

func (b *brokenRates) Create(ctx context.Context, bucket, key string, data []byte) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken && key == "rate.default" {
		return 0, jetstream.ErrNoStreamResponse
	}
	return b.Buckets.Create(ctx, bucket, key, data)
}

// TestARunThatIsOverMakesRoom as soon as the runs are counted again: what was admitted counts apart only until it is published.
func TestARunThatIsOverMakesRoom(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	now := time.Now()
	pool := s.newPool(under(limitedBy(schedule.NamespaceLimits{MaxPendingRuns: 1})), clock(func() time.Time { return now }))
	for n := range 3 {
		e := s.handOff("", n+1)
		s.handle(pool, invoker.Message{Enqueue: &e})
		require.Equal(t, 1, s.queued())
		run := s.take()
		s.finish(run, schedule.StatusCompleted, "")
		s.handle(pool, completionOf(run))
		now = now.Add(time.Second)
	}
}
