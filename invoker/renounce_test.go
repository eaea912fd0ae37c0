package invoker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// heldUp is a bus on which something happens before the first run is published.
type heldUp struct {
	bus.Bus
	action string // the beginning of the subject of runs
	before func()
}

func (h *heldUp) PublishOnce(ctx context.Context, msg *nats.Msg) (bool, error) {
	if before := h.before; before != nil && msg.Subject == h.action {
		h.before = nil
		before()
	}
	return h.Bus.PublishOnce(ctx, msg)
}

// heldUpPool is a pool to which something happens before it publishes the first run of a workflow ID.
func (s *installation) heldUpPool(workflowID string, before func()) *invoker.Pool {
	own := bus.New(s.js)
	s.t.Cleanup(own.Close)
	return s.newPool(func(c *invoker.Config) {
		c.Bus = &heldUp{Bus: own, action: s.names.Action("default", "q", workflowID), before: before}
	})
}

// usedUp makes the action stream know the message ID of a start, as a process does that gives it up.
func (s *installation) usedUp(start wire.BufferedStart) {
	s.t.Helper()
	msg := &nats.Msg{Subject: s.names.ActionAnchor(), Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}}
	_, err := s.js.PublishMsg(s.t.Context(), msg, jetstream.WithMsgID(start.RequestID))
	require.NoError(s.t, err)
}

// TestWhatIsRefusedIsStartedByNobody: a process is about to publish a start. Another one, which has read the same record, is
// refused and gives the start up. The run that was in its way ends, and then the first one goes on.
func TestWhatIsRefusedIsStartedByNobody(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, policy(schedule.OverlapAllowAll), keepOriginal)
	first := s.handOff("", 1)
	s.handle(s.newPool(), invoker.Message{Enqueue: &first})
	run := s.take()
	second := s.handOff("", 2)
	pool := s.heldUpPool(second.Starts[0].WorkflowID, func() {
		s.handle(s.newPool(), wakeUp)
		require.EqualValues(t, 1, s.record().Counters.BufferDropped)
		require.NoError(t, run.msg.DoubleAck(t.Context()))
	})
	s.handle(pool, invoker.Message{Enqueue: &second})
	require.Zero(t, s.queued(), "what has been given up does not begin")
	require.Equal(t, []schedule.EventKind{schedule.EventStarted, schedule.EventDropped}, s.events())
}

// TestARefusalThatComesAfterTheRun: the process that is refused finds that another has published the start meanwhile.
func TestARefusalThatComesAfterTheRun(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, policy(schedule.OverlapAllowAll), keepOriginal)
	e := s.handOff("", 1)
	state := s.afterHandOff(e)
	state.Starts[0].Attempt = invoker.MaxAttempts
	s.put(state)
	pool := s.heldUpPool(e.Starts[0].WorkflowID, func() {
		s.publishedBefore(e.Starts[0])
		run := s.take()
		s.report(e.Starts[0].RequestID, s.names.Callback(0, s.key, "q", e.Starts[0].RequestID), schedule.StatusCompleted, "")
		require.NoError(t, run.msg.DoubleAck(t.Context()))
		s.publishedBefore(wire.BufferedStart{RequestID: "another", WorkflowID: e.Starts[0].WorkflowID})
	})
	s.handle(pool, wakeUp)
	require.Equal(t, schedule.PhaseReady, s.phase(1), "its completion is on its way")
	require.Zero(t, s.record().Counters.BufferDropped)
}

// afterAnchor is a bus on which something happens after the first start was given up, before that is known.
type afterAnchor struct {
	bus.Bus
	anchor string
	after  func()
}

func (a *afterAnchor) PublishOnce(ctx context.Context, msg *nats.Msg) (bool, error) {
	repeated, err := a.Bus.PublishOnce(ctx, msg)
	if after := a.after; after != nil && msg.Subject == a.anchor {
		a.after = nil
		after()
	}
	return repeated, err
}

// TestStoodStillAfterItGaveUp: a process gives a start up, and stands still until the action stream has forgotten that. Another one,
// which has read the record as it was, starts the run meanwhile, and has not recorded it yet.
func TestStoodStillAfterItGaveUp(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, policy(schedule.OverlapAllowAll), keepOriginal)
	natstest.ForgetSoon(t, s.js, s.names.ActionStream())
	first := s.handOff("", 1)
	s.handle(s.newPool(), invoker.Message{Enqueue: &first})
	run := s.take()
	second := s.handOff("", 2)
	var asleep atomic.Bool
	own := bus.New(s.js)
	t.Cleanup(own.Close)
	after := func() {
		asleep.Store(true)
		require.NoError(t, run.msg.DoubleAck(t.Context()))
		natstest.Eventually(t, patience, "the ID is forgotten", func() bool {
			s.publishedBefore(second.Starts[0])
			return s.queued() == 1
		})
	}
	invokers := s.newPool(clock(func() time.Time {
		if asleep.Load() {
			return time.Now().Add(3 * time.Minute)
		}
		return time.Now()
	}), func(c *invoker.Config) { c.Bus = &afterAnchor{Bus: own, anchor: s.names.ActionAnchor(), after: after} })
	s.handle(invokers, invoker.Message{Enqueue: &second})
	require.True(t, asleep.Load())
	require.Equal(t, schedule.PhaseStarted, s.phase(2), "it has begun, and must not count as given up")
	require.Equal(t, []schedule.EventKind{schedule.EventStarted, schedule.EventStarted}, s.events())
}

// TestDiedBeforeTheRefusalWasRecorded: the next process does not take it for a run of its own.
func TestDiedBeforeTheRefusalWasRecorded(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	e := s.handOff("", 1)
	s.put(s.afterHandOff(e))
	s.usedUp(e.Starts[0])
	s.handle(s.newPool(), wakeUp)
	require.Equal(t, []schedule.EventKind{schedule.EventDropped}, s.events())
	require.Empty(t, s.record().Starts)
	require.Zero(t, s.queued())
}

// TestARetryThatIsTooLate is given up, unless an earlier attempt was stored after all.
func TestARetryThatIsTooLate(t *testing.T) {
	t.Parallel()
	for name, published := range map[string]bool{"never stored": false, "stored": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newInstallation(t, catchup(10*time.Second))
			e := s.handOff("", 1)
			in := invoker.Input{Enqueues: []invoker.Traced[wire.Enqueue]{{Body: e}}}
			state := invoker.Transition(s.definition(), wire.InvokerState{}, in, s.at(1)).State
			state.Starts[0].Attempt = 2
			s.put(state)
			want := schedule.EventMissed
			if published {
				s.publishedBefore(e.Starts[0])
				want = schedule.EventStarted
			}
			s.handle(s.newPool(), wakeUp)
			require.Equal(t, []schedule.EventKind{want}, s.events())
			require.Equal(t, published, s.queued() == 1)
			require.Equal(t, published, len(s.record().Starts) == 1)
		})
	}
}

// leftBehind is a record with a start that waits, one that is ready, and one that is ready and was published.
func (s *installation) leftBehind() {
	s.t.Helper()
	e := s.handOff(schedule.OverlapAllowAll, 1, 2, 3)
	state := s.afterHandOff(e)
	state.Outbox = nil
	state.Starts[0].Phase = schedule.PhaseDeferred
	require.Equal(s.t, schedule.PhaseReady, state.Starts[1].Phase)
	s.put(state)
	s.publishedBefore(e.Starts[2])
}

// farewell are the events about what a schedule takes with it: what was published has started, whatever ends it then.
var farewell = []schedule.EventKind{schedule.EventDropped, schedule.EventDropped, schedule.EventStarted}

// TestReplacedBeforeItWasForgotten: a schedule has been deleted, and another of the same ID created, before an invoker has
// heard of the deletion. The history tells what has become of all that was in the buffer of the first.
func TestReplacedBeforeItWasForgotten(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.leftBehind()
	record, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
	require.NoError(t, err)
	next := record.Value
	next.Incarnation = "inc-of-another"
	_, err = kv.Put(t.Context(), s.store, kv.Definition(s.key), &next, record.Revision)
	require.NoError(t, err)
	pool := s.newPool()
	s.handle(pool, wakeUp)
	require.ElementsMatch(t, farewell, s.events())
	require.Equal(t, "inc-of-another", s.record().Incarnation)
	require.Empty(t, s.record().Starts)
	s.handle(pool, wakeUp)
	require.ElementsMatch(t, farewell, s.events(), "once")
}

// TestForgottenWithRunsThatWereNotRecorded: the history does not say that what was published was given up.
func TestForgottenWithRunsThatWereNotRecorded(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.leftBehind()
	record, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
	require.NoError(t, err)
	require.NoError(t, kv.Delete(t.Context(), s.store, kv.Definition(s.key), record.Revision))
	s.handle(s.newPool(), wakeUp)
	require.ElementsMatch(t, farewell, s.events())
	_, err = kv.GetLeader(t.Context(), s.store, kv.Invoker(s.key))
	require.ErrorIs(t, err, kv.ErrNotFound)
}

// TestTerminatedBeforeItWasForgotten: a run that was published, not recorded as such, and terminated has left nothing but the use of
// its message ID. A start that is to be terminated is published by nobody, so that one of which there is not even that has not begun.
func TestTerminatedBeforeItWasForgotten(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		published bool
		want      []schedule.EventKind
	}{
		"published": {published: true, want: []schedule.EventKind{schedule.EventStarted}},
		"not yet":   {want: []schedule.EventKind{schedule.EventDropped}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newInstallation(t)
			e := s.handOff("", 1)
			state := s.afterHandOff(e)
			require.Equal(t, schedule.PhaseReady, state.Starts[0].Phase)
			state.Starts[0].Ending = schedule.ControlTerminate
			s.put(state)
			if test.published {
				s.publishedBefore(e.Starts[0])
				require.NoError(t, s.take().msg.DoubleAck(t.Context())) // as a worker does that is told to end it
			}
			s.deleted(schedule.RunsLeave)
			s.handle(s.newPool(), wakeUp)
			require.Equal(t, test.want, s.events())
		})
	}
}
