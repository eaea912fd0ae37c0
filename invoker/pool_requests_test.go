package invoker_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// request stores the record of a trigger or backfill.
func (s *installation) request(state wire.BackfillState) (revision uint64) {
	s.t.Helper()
	state.Incarnation = s.definition().Incarnation
	revision, err := kv.Put(s.t.Context(), s.store, kv.Backfill(s.key, state.ID), &state, 0)
	require.NoError(s.t, err)
	return revision
}

// manual is a hand-off of a trigger or backfill, complete with its one batch.
func (s *installation) manual(source string, seconds ...int) wire.Enqueue {
	d := s.definition()
	e := wire.Enqueue{
		Incarnation: d.Incarnation, Version: d.Version, Source: source, Complete: true,
		Span: wire.Span{From: s.began.Add(-1), To: s.at(seconds[len(seconds)-1])},
	}
	for _, n := range seconds {
		e.Starts = append(e.Starts, wire.NewStart(d, source, s.at(n), s.at(n)))
	}
	return e
}

// pending reports whether a message waits on a subject of the task stream.
func (s *installation) pending(subject string) bool {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), s.names.TaskStream(0))
	require.NoError(s.t, err)
	_, err = stream.GetLastMsgForSubject(s.t.Context(), subject)
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		require.NoError(s.t, err)
	}
	return err == nil
}

func TestATriggerReplacesPartOfTheAction(t *testing.T) {
	t.Parallel()
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	tests := map[string]struct {
		trigger schedule.Trigger
		input   string
		headers map[string]string
		memo    map[string]json.RawMessage
	}{
		"input": {
			schedule.Trigger{Input: raw(`{"b":2}`)}, `{"b":2}`, map[string]string{"h": "v"}, map[string]json.RawMessage{"m": raw("1")},
		},
		"headers and memo": {
			schedule.Trigger{
				Headers: map[string]string{"h": "w", "new": "x"}, Memo: map[string]json.RawMessage{"new": raw("2")},
			},
			`{"a":1}`, map[string]string{"h": "w", "new": "x"}, map[string]json.RawMessage{"m": raw("1"), "new": raw("2")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := running(t, func(d *wire.Definition) { d.Schedule.Action.Memo = map[string]json.RawMessage{"m": raw("1")} })
			s.request(wire.BackfillState{ID: "b", Trigger: &test.trigger})
			e := s.manual("b", 1)
			e.Starts[0].Overridden, e.Starts[0].Identity = true, "ann"
			s.deliver(e)
			run := s.take()
			require.JSONEq(t, test.input, string(run.Input))
			require.Equal(t, test.headers, run.Headers)
			require.Equal(t, test.memo, run.Memo)
			s.finish(run, schedule.StatusCompleted, "")
			s.idle() // the next start must not meet the run
			s.due(2)
			run = s.take()
			require.JSONEq(t, `{"a":1}`, string(run.Input), "that run alone")
			require.Equal(t, map[string]string{"h": "v"}, run.Headers)
			require.Len(t, run.Memo, 1)
		})
	}
}

// TestWithoutItsTriggerAStartIsRefused: it would run with an input that nobody has asked for.
func TestWithoutItsTriggerAStartIsRefused(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, runTimeout(time.Hour))
	revision := s.request(wire.BackfillState{ID: "b", Trigger: &schedule.Trigger{Input: json.RawMessage("2")}})
	e := s.manual("b", 1)
	e.Starts[0].Overridden = true
	in := invoker.Input{Enqueues: []invoker.Traced[wire.Enqueue]{{Body: e}}}
	s.put(invoker.Transition(s.definition(), wire.InvokerState{}, in, time.Now()).State)
	require.NoError(t, kv.Delete(t.Context(), s.store, kv.Backfill(s.key, "b"), revision))
	s.handle(s.newPool(), wakeUp)
	require.Zero(t, s.queued())
	require.Equal(t, wire.Counters{BufferDropped: 1}, s.record().Counters)
	last := s.lastEvent()
	require.Equal(t, schedule.EventDropped, last.Kind)
	require.Contains(t, last.Reason, "trigger")
}

func (s *installation) lastEvent() schedule.Event {
	s.t.Helper()
	history := s.history(s.names.EventStream())
	var event schedule.Event
	require.NoError(s.t, json.Unmarshal(history[len(history)-1].Data, &event))
	return event
}

func TestACanceledBackfillIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := running(t, policy(schedule.OverlapBufferAll))
	revision := s.request(wire.BackfillState{ID: "b", Range: &schedule.BackfillRange{}})
	s.deliver(s.manual("b", 1, 2, 3))
	s.awaitPhase(1, schedule.PhaseStarted)
	s.idle()
	require.False(t, s.pending(s.names.Backfill(0, s.key, "b")), "two wait")
	record, err := kv.GetLeader(t.Context(), s.store, kv.Backfill(s.key, "b"))
	require.NoError(t, err)
	record.Value.Canceled = true
	_, err = kv.Put(t.Context(), s.store, kv.Backfill(s.key, "b"), &record.Value, revision)
	require.NoError(t, err)
	s.wake()
	natstest.Eventually(t, patience, "it is withdrawn", func() bool { return s.record().Sources["b"].Withdrawn })
	s.idle()
	require.Equal(t, wire.Counters{Actions: 1, BufferDropped: 2}, s.record().Counters)
	require.True(t, s.pending(s.names.Backfill(0, s.key, "b")), "its backfiller is woken")
	require.Equal(t, 1, s.queued(), "the run goes on")
	late := s.manual("b", 4)
	late.From = s.at(3)
	s.deliver(late)
	s.idle()
	require.EqualValues(t, 3, s.record().Counters.BufferDropped)
}

// TestCanceledBeforeItsFirstHandOff: the wake of the cancel found nothing.
func TestCanceledBeforeItsFirstHandOff(t *testing.T) {
	t.Parallel()
	s := running(t)
	s.request(wire.BackfillState{ID: "b", Range: &schedule.BackfillRange{}, Canceled: true})
	s.wake()
	s.idle()
	s.deliver(s.manual("b", 1, 2))
	s.idle()
	require.Zero(t, s.queued())
	require.Equal(t, wire.Counters{BufferDropped: 2}, s.record().Counters)
	require.True(t, s.pending(s.names.Backfill(0, s.key, "b")))
}

// TestTheLastSuccessIsLeftOutWhereItDoesNotFit: a large action leaves no room for a large result.
func TestTheLastSuccessIsLeftOutWhereItDoesNotFit(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	most := int(s.js.Conn().MaxPayload())
	record, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
	require.NoError(t, err)
	record.Value.Schedule.Action.Input = json.RawMessage(`"` + strings.Repeat("x", most-100<<10) + `"`)
	_, err = kv.Put(t.Context(), s.store, kv.Definition(s.key), &record.Value, record.Revision)
	require.NoError(t, err)
	s.run(s.newPool())
	for n, test := range []struct {
		result  string
		omitted bool
	}{{`"small"`, false}, {`"` + strings.Repeat("y", 200<<10) + `"`, true}, {`"small"`, false}} {
		s.due(10*n + 1)
		s.finish(s.take(), schedule.StatusCompleted, test.result)
		s.awaitPhase(10*n+1, schedule.PhaseCompleted)
		s.due(10*n + 2)
		run := s.take()
		require.Equal(t, test.omitted, run.LastSuccessOmitted)
		require.Equal(t, test.omitted, len(run.LastSuccess) == 0)
		require.Equal(t, record.Value.Schedule.Action.Input, run.Input)
		s.finish(run, schedule.StatusCanceled, "")
		s.awaitPhase(10*n+2, schedule.PhaseCompleted)
	}
}

// TestAnAutomatedStartWaitsForOneRound: hundreds of manual starts are ready when it becomes due.
func TestAnAutomatedStartWaitsForOneRound(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, policy(schedule.OverlapAllowAll))
	const total = 450
	seconds := make([]int, total)
	for i := range seconds {
		seconds[i] = i + 1
	}
	s.request(wire.BackfillState{ID: "b", Range: &schedule.BackfillRange{}})
	backfill, due := s.manual("b", seconds...), s.handOff("", 1000)
	pool := s.newPool()
	s.handle(pool, invoker.Message{Enqueue: &backfill})
	require.Equal(t, invoker.RoundLimit, s.queued())
	require.True(t, s.pending(s.names.InvokeWake(0, s.key)), "the rest is for a later group")
	s.handle(pool, wakeUp, invoker.Message{Enqueue: &due})
	require.Equal(t, 2*invoker.RoundLimit, s.queued())
	require.Equal(t, schedule.PhaseStarted, s.phase(1000))

	s.run(pool)
	natstest.Eventually(t, patience, "all are started", func() bool { return s.record().Counters.Actions == total+1 })
	s.idle()
	require.Equal(t, total+1, s.queued(), "each once")
}

func TestTimeoutTimersOfRunsThatAreOver(t *testing.T) {
	t.Parallel()
	s := running(t, policy(schedule.OverlapTerminateOther), runTimeout(time.Hour))
	timer := func(n int) string { return s.names.TimeoutTimer(0, s.key, s.start(n).RequestID) }
	s.due(1)
	s.awaitPhase(1, schedule.PhaseStarted)
	require.True(t, s.pending(timer(1)))
	s.due(2)
	s.awaitPhase(2, schedule.PhaseStarted)
	require.False(t, s.pending(timer(1)), "terminated")
	require.True(t, s.pending(timer(2)))
}

// TestReportRemovesTheTimeoutTimer: no worker may do that itself.
func TestReportRemovesTheTimeoutTimer(t *testing.T) {
	t.Parallel()
	s := running(t, runTimeout(time.Hour))
	s.due(1)
	run := s.take()
	s.awaitPhase(1, schedule.PhaseStarted)
	timer := s.names.TimeoutTimer(0, s.key, run.RequestID)
	require.True(t, s.pending(timer))
	s.finish(run, schedule.StatusCompleted, "")
	s.awaitPhase(1, schedule.PhaseCompleted)
	natstest.Eventually(t, patience, "its timer is gone", func() bool { return !s.pending(timer) })

	// A process has recorded a report and died: it comes again, and nobody knows whether the timer is there.
	arm := func() {
		require.NoError(t, task.Arm(t.Context(), s.bus(), timer, s.names.Timeout(0, s.key, run.RequestID), time.Now().Add(time.Hour), &wire.Wake{}))
		require.True(t, s.pending(timer))
	}
	arm()
	s.report(run.RequestID, run.Callback, schedule.StatusCompleted, "")
	natstest.Eventually(t, patience, "its timer is gone again", func() bool { return !s.pending(timer) })

	// It may also come when the schedule is gone.
	arm()
	s.deleted(schedule.RunsLeave)
	s.report(run.RequestID, run.Callback, schedule.StatusCompleted, "")
	natstest.Eventually(t, patience, "its timer has gone with its schedule", func() bool { return !s.pending(timer) })
}

// TestTwoSchedulesOfOneWorkflowID: the second is refused while the first runs, whatever its overlap policy.
func TestTwoSchedulesOfOneWorkflowID(t *testing.T) {
	t.Parallel()
	shared := func(d *wire.Definition) { d.Schedule.Action.WorkflowID = "shared" }
	s := running(t, keepOriginal, shared, runTimeout(time.Hour))
	s.due(1)
	run := s.take()
	s.awaitPhase(1, schedule.PhaseStarted)
	first := s.key
	s.key, s.handed = s.define("other", keepOriginal, shared, runTimeout(time.Hour)), s.began
	s.due(2)
	natstest.Eventually(t, patience, "it is dropped", func() bool { return s.record().Counters.BufferDropped == 1 })
	s.idle()
	last := s.lastEvent()
	require.Equal(t, schedule.EventDropped, last.Kind)
	require.Equal(t, "other", last.ScheduleID)
	require.Equal(t, "workflow ID shared is already running", last.Reason)
	require.False(t, s.pending(s.names.TimeoutTimer(0, s.key, s.start(2).RequestID)), "no timer of a run that is none")
	require.True(t, s.pending(s.names.TimeoutTimer(0, first, run.RequestID)))
	s.key = first
	s.finish(run, schedule.StatusCompleted, "")
	s.awaitPhase(1, schedule.PhaseCompleted)
}

// TestAnUpdateIsAppliedByABareWake: the frontend changes the definition and wakes the invoker, which reads it.
func TestAnUpdateIsAppliedByABareWake(t *testing.T) {
	t.Parallel()
	s := running(t, policy(schedule.OverlapBufferAll))
	s.due(1)
	s.awaitPhase(1, schedule.PhaseStarted)
	s.due(2, 3)
	s.awaitPhase(3, schedule.PhaseDeferred)
	record, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
	require.NoError(t, err)
	record.Value.Version++
	record.Value.Schedule.Policies.Overlap = schedule.OverlapAllowAll
	_, err = kv.Put(t.Context(), s.store, kv.Definition(s.key), &record.Value, record.Revision)
	require.NoError(t, err)
	s.wake()
	s.awaitPhase(2, schedule.PhaseStarted)
	s.awaitPhase(3, schedule.PhaseStarted)
}

// TestProcessesTakeTurns: each finds starts that another has made ready and left, or is about to publish.
func TestProcessesTakeTurns(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, policy(schedule.OverlapAllowAll))
	pools := []*invoker.Pool{s.newPool(), s.newPool(), s.newPool()}
	seconds := make([]int, 3*invoker.RoundLimit)
	for i := range seconds {
		seconds[i] = i + 1
	}
	s.request(wire.BackfillState{ID: "b", Range: &schedule.BackfillRange{}})
	backfill := s.manual("b", seconds...)
	s.handle(pools[0], invoker.Message{Enqueue: &backfill})
	for _, pool := range pools[1:] {
		// It publishes one and dies, which the next to come finds.
		ready := invoker.WorkOf(pointer(s.record()), time.Now()).Starts
		s.publishedBefore(ready[0])
		s.handle(pool, wakeUp)
	}
	require.Equal(t, len(seconds), s.queued())
	require.EqualValues(t, len(seconds), s.record().Counters.Actions)
	s.handle(pools[0], wakeUp)
	require.Len(t, s.events(), len(seconds), "each event once")
	require.Equal(t, s.record().Counters, s.rebuilt())
}

func pointer[T any](v T) *T { return &v }

// rebuilt are the counters that the event history gives.
func (s *installation) rebuilt() wire.Counters {
	s.t.Helper()
	var counters wire.Counters
	for _, msg := range s.history(s.names.EventStream()) {
		var event schedule.Event
		require.NoError(s.t, json.Unmarshal(msg.Data, &event))
		counters.Add(event)
	}
	return counters
}

// TestLeftOverEventsDoNotPileUp: processes that take turns hand on the events that the other may not have published, and
// not those they have published themselves.
func TestLeftOverEventsDoNotPileUp(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, policy(schedule.OverlapAllowAll))
	pools := []*invoker.Pool{s.newPool(), s.newPool()}
	for n := range 10 {
		e := s.handOff("", n+1)
		s.handle(pools[n%2], invoker.Message{Enqueue: &e})
		require.LessOrEqual(t, len(s.record().Outbox), 2)
	}
	require.Len(t, s.events(), 10)
}

// dueElsewhere writes what another process makes of a hand-off, before it executes anything.
func (s *installation) dueElsewhere(second int) {
	record, err := kv.GetLeader(s.t.Context(), s.store, kv.Invoker(s.key))
	require.NoError(s.t, err)
	in := invoker.Input{Enqueues: []invoker.Traced[wire.Enqueue]{{Body: s.handOff("", second)}}}
	out := invoker.Transition(s.definition(), record.Value, in, time.Now())
	_, err = kv.Put(s.t.Context(), s.store, kv.Invoker(s.key), &out.State, record.Revision)
	require.NoError(s.t, err)
}

// TestARoundIsRecordedWhateverElseHappens: completions that other processes apply while one executes are no reason to
// begin anew.
func TestARoundIsRecordedWhateverElseHappens(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, policy(schedule.OverlapAllowAll), limit(5))
	e := s.handOff("", 1, 2, 3)
	var other sync.Once
	pool := s.newPool(clock(func() time.Time {
		if s.queued() > 0 { // in the middle of the round
			other.Do(func() { s.dueElsewhere(4) })
		}
		return time.Now()
	}))
	s.handle(pool, invoker.Message{Enqueue: &e})
	for n := 1; n <= 4; n++ {
		require.Equal(t, schedule.PhaseStarted, s.phase(n), n)
	}
	require.Equal(t, 4, s.queued())
	require.EqualValues(t, 4, s.record().Counters.Actions)
	s.handle(pool, wakeUp)
	require.Len(t, s.events(), 4)
	require.Equal(t, s.record().Counters, s.rebuilt())
}
