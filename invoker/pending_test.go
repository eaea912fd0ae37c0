package invoker_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// waits is an installation with schedules that the test handles in turn, by a clock that it sets.
type waits struct {
	*installation
	now time.Time
	// pool is the process at work.
	pool *invoker.Pool
}

func newWaits(t *testing.T, limits schedule.NamespaceLimits, changes ...func(*invoker.Config)) *waits {
	t.Helper()
	w := &waits{installation: newInstallation(t), now: time.Now()}
	all := append([]func(*invoker.Config){under(limitedBy(limits)), clock(func() time.Time { return w.now })}, changes...)
	w.pool = w.newPool(all...)
	return w
}

// manualStarts hands over so many starts of another schedule, which becomes the one that is handled.
func (w *waits) manualStarts(id string, starts int) {
	w.t.Helper()
	w.turnTo("default", id)
	w.request(wire.BackfillState{ID: "b-" + id, Range: &schedule.BackfillRange{}})
	var seconds []int
	for n := range starts {
		seconds = append(seconds, n+1)
	}
	e := w.manual("b-"+id, seconds...)
	w.handle(w.pool, invoker.Message{Enqueue: &e})
}

// later handles the schedule again some time later.
func (w *waits) later(d time.Duration) {
	w.t.Helper()
	w.now = w.now.Add(d)
	w.handle(w.pool, wakeUp)
}

// delayedBy says what the starts of the schedule wait for that wait.
func (w *waits) delayedBy() (reasons []schedule.DelayReason) {
	w.t.Helper()
	state := w.record()
	for i := range state.Starts {
		if s := &state.Starts[i]; s.Delayed() {
			reasons = append(reasons, s.Delay.By)
		}
	}
	return slices.Compact(reasons)
}

// TestPendingRunsToTheLetter: each time that a schedule asks it is given a quarter of the limit, so that others have their turn,
// and all of them together never more than the limit.
func TestPendingRunsToTheLetter(t *testing.T) {
	t.Parallel()
	w := newWaits(t, schedule.NamespaceLimits{MaxPendingRuns: 8})
	w.manualStarts("a", 12)
	var queued []int
	for range 6 {
		queued = append(queued, w.queued())
		w.later(2 * time.Second)
	}
	require.Equal(t, []int{2, 4, 6, 8, 8, 8}, queued)
	require.Equal(t, []schedule.DelayReason{schedule.DelayPendingRuns}, w.delayedBy())
	w.finish(w.take(), schedule.StatusCompleted, "")
	w.later(2 * time.Second)
	require.Equal(t, 8, w.queued(), "one for the one that has ended")
}

// TestPendingRunsThatArePromised: a start that has been given a time counts until its run is among those that are counted, and no
// longer.
func TestPendingRunsThatArePromised(t *testing.T) {
	t.Parallel()
	w := newWaits(t, schedule.NamespaceLimits{MaxPendingRuns: 2, ActionsPerSecond: 1})
	w.manualStarts("a", 1)
	require.Equal(t, 1, w.queued())
	w.now = w.now.Add(time.Millisecond)
	w.manualStarts("b", 1)
	require.Equal(t, []schedule.DelayReason{schedule.DelayActionRate}, w.delayedBy(), "it begins in a moment")
	w.now = w.now.Add(300 * time.Millisecond)
	w.manualStarts("c", 1)
	require.Equal(t, []schedule.DelayReason{schedule.DelayPendingRuns}, w.delayedBy(), "with that one there are as many as may be")
	w.later(3 * time.Second) // the process that had the other start has died
	require.Equal(t, 2, w.queued())
}

// deafBus cannot count the runs of a namespace.
type deafBus struct {
	bus.Bus
	deaf bool
}

func (b *deafBus) Subjects(ctx context.Context, stream, filter string) (int, error) {
	if b.deaf {
		return 0, jetstream.ErrNoStreamResponse
	}
	return b.Bus.Subjects(ctx, stream, filter)
}

// TestStartsWaitWhereRunsCannotBeCounted: a limit protects others, most of all when something is wrong.
func TestStartsWaitWhereRunsCannotBeCounted(t *testing.T) {
	t.Parallel()
	deaf := &deafBus{deaf: true}
	w := newWaits(t, schedule.NamespaceLimits{MaxPendingRuns: 8}, func(c *invoker.Config) {
		deaf.Bus = c.Bus
		c.Bus = deaf
	})
	w.manualStarts("a", 1)
	require.Zero(t, w.queued())
	require.Equal(t, []schedule.DelayReason{schedule.DelayPendingRuns}, w.delayedBy())
	deaf.deaf = false
	w.later(2 * time.Second)
	require.Equal(t, 1, w.queued())
}

// TestAPaceServesInOrder: of several schedules that ask at the same time the first is given the first times, also where there are
// not enough for all.
func TestAPaceServesInOrder(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	now := time.Now()
	config := pool.Config{Store: s.store, Names: s.names, Now: func() time.Time { return now }}
	given := invoker.ServePace(t.Context(), config, "default", 1, 10, 10, 10)
	require.Len(t, given[0], 10)
	require.Len(t, given[1], 10)
	require.LessOrEqual(t, len(given[2]), 1, "the others are too far away")
	require.True(t, slices.IsSortedFunc(slices.Concat(given...), time.Time.Compare))
}

// whileItCounts is a bus on which something happens when runs are counted first.
type whileItCounts struct {
	bus.Bus
	happens func()
}

func (b *whileItCounts) Subjects(ctx context.Context, stream, filter string) (int, error) {
	if happens := b.happens; happens != nil {
		b.happens = nil
		happens()
	}
	return b.Bus.Subjects(ctx, stream, filter)
}

// TestRoomOutlivesAConflict: another process writes the record when a start has been given the last room there is. The next attempt
// goes on with that, and does not ask for more.
func TestRoomOutlivesAConflict(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	now := time.Now()
	counting := &whileItCounts{Bus: s.bus(), happens: func() {
		other := wire.InvokerState{Incarnation: s.definition().Incarnation, LimitVersion: s.definition().LimitVersion}
		_, err := kv.Put(t.Context(), s.store, kv.Invoker(s.key), &other, 0)
		require.NoError(t, err)
	}}
	invokers := s.newPool(under(limitedBy(schedule.NamespaceLimits{MaxPendingRuns: 1})), clock(func() time.Time { return now }),
		func(c *invoker.Config) { c.Bus = counting })
	e := s.handOff("", 1)
	s.handle(invokers, invoker.Message{Enqueue: &e})
	require.Nil(t, counting.happens)
	require.Equal(t, 1, s.queued())
}
