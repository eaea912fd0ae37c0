package invoker_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (k *harness) endRun(n int, kind schedule.ControlKind) {
	k.transition(invoker.Input{Ends: []wire.EndRun{{
		Incarnation: "inc", Kind: kind, RequestID: k.id(n), Reason: "stuck", Identity: "ann@harness",
	}}})
}

func TestCancelByHand(t *testing.T) {
	t.Parallel()
	k := newHarness(t)
	k.running(1)
	k.endRun(1, schedule.ControlCancel)
	require.Len(t, k.state.Controls, 1)
	assert.Equal(t, "asked to cancel by ann@harness: stuck", k.state.Controls[0].Reason)
	event := k.news[0]
	assert.Equal(t, "1 cancel_requested", k.events())
	assert.Equal(t, "ann@harness", event.Identity)
	assert.Equal(t, "stuck", event.Reason)
	assert.Empty(t, event.Overlap, "no policy has decided")

	k.work(invoker.Accepted)
	assert.Empty(t, k.state.Controls, "delivered")
	assert.Equal(t, schedule.PhaseStarted, k.find(1).Phase, "its code decides when it ends")
	k.endRun(1, schedule.ControlCancel)
	assert.False(t, k.last.Changed, "it has been asked already")
	assert.Equal(t, map[string]int{"repeat": 1}, k.last.Ignored)
	k.complete(1, schedule.StatusCanceled)
	assert.Equal(t, "1 completed", k.events())
}

func TestTerminateByHand(t *testing.T) {
	t.Parallel()
	k := newHarness(t)
	k.running(1)
	k.endRun(1, schedule.ControlCancel)
	k.endRun(1, schedule.ControlTerminate)
	assert.Equal(t, "1 cancel_requested, 1 terminated", k.events(), "a cancel that does not help")
	k.work(invoker.Accepted)
	assert.Equal(t, "1 completed", k.events())
	run := k.find(1)
	assert.Equal(t, schedule.StatusTerminated, run.Status)
	assert.Equal(t, "terminated by ann@harness: stuck", run.Failure.Message)
	k.endRun(1, schedule.ControlCancel)
	assert.Equal(t, map[string]int{"unknown_request": 1}, k.last.Ignored, "it is over")
}

// TestByHandMakesRoom: what waits for the run starts when it is over.
func TestByHandMakesRoom(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapBufferOne))
	k.running(1)
	k.due(2)
	k.endRun(1, schedule.ControlTerminate)
	k.work(invoker.Accepted)
	assert.Equal(t, "1 completed, 2 ready", k.phases())
}

func TestByHandOfAnother(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapBufferOne))
	k.running(1)
	k.due(2)
	k.events()
	k.endRun(2, schedule.ControlTerminate)
	k.endRun(3, schedule.ControlTerminate)
	k.transition(invoker.Input{Ends: []wire.EndRun{{Incarnation: "earlier", Kind: schedule.ControlTerminate, RequestID: k.id(1)}}})
	assert.Empty(t, k.events())
	assert.Equal(t, "1 started, 2 deferred", k.phases(), "what waits is no run, and an earlier schedule's is not this one")
}

// endByHand asks any start to end, whatever its phase.
func (m *model) endByHand(t *rapid.T) {
	all := known(&m.state)
	if len(all) == 0 {
		return
	}
	start := rapid.SampledFrom(all).Draw(t, "start")
	kind := rapid.SampledFrom([]schedule.ControlKind{schedule.ControlCancel, schedule.ControlTerminate}).Draw(t, "kind")
	m.step(invoker.Input{Ends: []wire.EndRun{{Incarnation: m.d.Incarnation, Kind: kind, RequestID: start.RequestID}}})
}
