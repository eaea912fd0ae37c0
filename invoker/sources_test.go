package invoker_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (k *harness) wake() string { return strings.Join(invoker.SourcesToWake(&k.state), " ") }

// backfill hands over a batch of a backfill.
func (k *harness) backfill(source string, complete bool, overlap schedule.OverlapPolicy, seconds ...int) {
	e := k.handOff(source, overlap, seconds...)
	e.Complete = complete
	k.transition(traced(e))
}

func TestProgressOfASource(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapBufferAll))
	first, second := k.handOff("b", "", 1, 2), k.handOff("b", "", 3)
	second.Complete = true
	for _, order := range [][]wire.Enqueue{{first, second}, {second, first}} {
		k := newHarness(t, policy(schedule.OverlapBufferAll))
		k.transition(traced(order...))
		progress := k.state.Sources["b"]
		require.Equal(t, 1, progress.LastCount, "of the newest, in whatever order they come")
		require.True(t, progress.Complete)
	}
	k.transition(traced(first))
	require.Equal(t, 2, k.state.Sources["b"].LastCount)
	require.False(t, k.state.Sources["b"].Complete)

	// It dies, finds that an update has left no more times, and says so with the range it has said before.
	first.Complete = true
	k.transition(traced(first))
	require.True(t, k.last.Changed)
	require.True(t, k.state.Sources["b"].Complete)
	require.Len(t, k.state.Starts, 2)
	k.transition(traced(first))
	require.False(t, k.last.Changed)
	require.Equal(t, map[string]int{"repeat": 1}, k.last.Ignored)
}

func TestSourcesAreWokenWhenItIsUseful(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapBufferAll))
	require.Empty(t, k.wake())
	k.backfill("b", false, "", 1, 2, 3, 4)
	for _, n := range []int{1, 2} {
		require.Empty(t, k.wake(), "more than half is to be done")
		k.work(invoker.Accepted)
		require.Empty(t, k.wake())
		k.complete(n, schedule.StatusCompleted)
	}
	require.Equal(t, "b", k.wake())
	k.backfill("b", true, "", 5)
	require.Empty(t, k.wake())
	for _, n := range []int{3, 4} {
		k.work(invoker.Accepted)
		k.complete(n, schedule.StatusCompleted)
		require.Empty(t, k.wake(), "5 waits")
	}
	k.work(invoker.Accepted)
	require.Equal(t, "b", k.wake(), "it runs: there is nothing left to do for the backfill")
	k.transition(invoker.Input{Finished: []string{"b"}})
	require.Empty(t, k.wake())
}

func TestSourcesAreWokenWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapBufferAll))
	k.running(-900)
	seconds := make([]int, 500)
	for i := range seconds {
		seconds[i] = i + 1
	}
	k.now = second(500)
	k.due(seconds...)
	k.backfill("b2", false, "") // it could hand over nothing, and made itself known
	k.backfill("b1", false, "")
	require.Empty(t, k.wake(), "automated starts take all the room")
	k.complete(-900, schedule.StatusCompleted)
	for n := 1; k.wake() == "" && n < 500; n++ {
		k.work(invoker.Accepted)
		k.complete(n, schedule.StatusCompleted)
	}
	require.Equal(t, "b1 b2", k.wake())
	waiting := 0
	for _, s := range k.state.Starts {
		if s.Waiting() {
			waiting++
		}
	}
	require.Equal(t, 448, waiting, "room for one each")
}

func TestWithdrawnSource(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapBufferAll))
	k.due(1)
	k.backfill("b", false, "", 2, 3)
	k.trigger(4, "")
	k.work(invoker.Accepted)
	k.complete(1, schedule.StatusCompleted)
	require.Equal(t, "1 completed, 2 ready, 3 deferred, 4 deferred", k.phases())
	k.events()

	withdraw := invoker.Input{Withdrawn: []string{"b", "unknown", schedule.SourceAuto}}
	k.transition(withdraw)
	require.Equal(t, "1 completed, 2 ready, 4 deferred", k.phases(), "what may have been started goes on")
	require.Equal(t, "the backfill was canceled", k.news[0].Reason)
	require.Equal(t, "b", k.news[0].Source)
	require.Equal(t, "3 dropped", k.events())
	require.EqualValues(t, 1, k.state.Counters.BufferDropped)
	require.True(t, k.state.Sources["b"].Withdrawn)
	require.Len(t, k.state.Sources, 3)
	require.Empty(t, k.wake(), "2 waits")
	k.transition(withdraw)
	require.False(t, k.last.Changed)

	k.backfill("b", false, "", 5)
	require.Equal(t, "5 dropped", k.events(), "what still comes")
	k.work(invoker.Accepted)
	require.Equal(t, "b", k.wake())
	k.complete(2, schedule.StatusCompleted)
	require.Equal(t, schedule.PhaseReady, k.find(4).Phase)
}

// TestWithdrawnWithItsFirstHandOff: the backfill was canceled before anything of it arrived.
func TestWithdrawnWithItsFirstHandOff(t *testing.T) {
	t.Parallel()
	k := newHarness(t)
	in := traced(k.handOff("b", "", 1, 2))
	in.Withdrawn = []string{"b"}
	k.transition(in)
	require.Empty(t, k.phases())
	require.Equal(t, "1 dropped, 2 dropped", k.events())
	require.Equal(t, "b", k.wake())
}
