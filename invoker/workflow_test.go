package invoker_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestAWorkflowFromHandOffToResult(t *testing.T) {
	t.Parallel()
	h := withHistory(t, func(d *wire.Definition) { d.Schedule.Policies.PauseOnFailure = true })
	h.run(h.newPool())
	h.due(1)
	first, want := h.begun(1), h.start(1)
	require.Equal(t, want.RequestID, first.request.RequestId)
	require.Equal(t, wire.RunID(want.RequestID), first.runID)
	require.Equal(t, want.WorkflowID, first.request.WorkflowId)
	require.Equal(t, "record", first.request.WorkflowType.Name)
	require.Equal(t, "q", first.request.TaskQueue.Name)
	require.Len(t, first.request.Input.Payloads, 2)
	require.Equal(t, `"nightly"`, string(first.request.SearchAttributes.IndexedFields["TemporalScheduledById"].Data))
	require.Nil(t, first.request.LastCompletionResult)
	var callback wire.WorkflowCallback
	require.NoError(t, codec.Unmarshal(first.callback, &callback))
	require.Equal(t, wire.WorkflowCallback{ScheduleID: "nightly", TaskQueue: "q", RequestID: want.RequestID, Trace: traceparent}, callback)
	h.awaitPhase(1, schedule.PhaseStarted)
	require.Equal(t, schedule.ActionWorkflow, h.record().Starts[0].ActionKind)
	require.Zero(t, h.queued(), "no worker of Carillon's protocol gets it")
	require.False(t, h.pending(h.names.TimeoutTimer(0, h.key, want.RequestID)))

	h.end(first, completed(`{"rows":3}`))
	h.awaitPhase(1, schedule.PhaseCompleted)
	require.JSONEq(t, `{"rows":3}`, string(h.record().Ended.Runs()[0].Result))
	h.due(2)
	second := h.begun(2)
	require.Equal(t, `{"rows":3}`, string(second.request.LastCompletionResult.Payloads[0].Data))

	failure := &failurepb.Failure{Message: "activity error", Cause: &failurepb.Failure{
		Message: "boom", FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: "Bang"}},
	}}
	h.end(second, &historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes{
			WorkflowExecutionFailedEventAttributes: &historypb.WorkflowExecutionFailedEventAttributes{Failure: failure},
		},
	})
	h.awaitPhase(2, schedule.PhaseCompleted)
	require.Equal(t, &schedule.Failure{Type: "Bang", Message: "activity error: boom"}, h.record().Ended.Runs()[1].Failure)
	require.True(t, h.definition().Schedule.State.Paused, "a failure pauses the schedule")
	h.request(wire.BackfillState{ID: "b1", RequestTime: h.at(1), Range: &schedule.BackfillRange{Start: h.at(3), End: h.at(3)}})
	h.deliver(h.manual("b1", 3))
	third := h.begun(3)
	require.Equal(t, `{"rows":3}`, string(third.request.LastCompletionResult.Payloads[0].Data), "a failure keeps the last success")
	require.True(t, proto.Equal(failure, third.request.ContinuedFailure), third.request.ContinuedFailure)
}

// TestWorkflowsOverlap: policies do with executions what they do with runs.
func TestWorkflowsOverlap(t *testing.T) {
	t.Parallel()
	for _, overlap := range []schedule.OverlapPolicy{
		schedule.OverlapSkip, schedule.OverlapBufferOne, schedule.OverlapCancelOther, schedule.OverlapTerminateOther, schedule.OverlapAllowAll,
	} {
		t.Run(string(overlap), func(t *testing.T) {
			t.Parallel()
			h := withHistory(t, policy(overlap))
			h.run(h.newPool())
			h.due(1)
			first := h.begun(1)
			h.awaitPhase(1, schedule.PhaseStarted)
			h.due(2)
			h.idle()
			id := first.request.WorkflowId
			switch overlap {
			case schedule.OverlapSkip:
				require.Equal(t, 1, h.count())
				require.EqualValues(t, 1, h.record().Counters.OverlapSkipped)
				return
			case schedule.OverlapCancelOther:
				require.Contains(t, h.requests(), "cancel "+id)
				h.end(first, canceledEvent)
			case schedule.OverlapBufferOne:
				require.Equal(t, schedule.PhaseDeferred, h.phase(2))
				h.end(first, completed())
			}
			second := h.begun(2)
			require.Equal(t, h.start(2).RequestID, second.request.RequestId)
			if overlap == schedule.OverlapTerminateOther {
				require.Contains(t, h.requests(), "terminate "+id)
				require.Equal(t, schedule.StatusTerminated, h.ends()[id])
			}
			h.idle() // the report of the terminated one comes to nothing
			require.Equal(t, 2, h.count())
		})
	}
}

// TestAWorkflowIDThatIsTaken: the start is given up, and a fence ends it if somebody starts it all the same.
func TestAWorkflowIDThatIsTaken(t *testing.T) {
	t.Parallel()
	h := withHistory(t, keepOriginal, policy(schedule.OverlapAllowAll))
	pool := h.newPool()
	e := h.handOff("", 1)
	h.handle(pool, invoker.Message{Enqueue: &e})
	second := h.handOff("", 2)
	h.handle(pool, invoker.Message{Enqueue: &second})
	start := h.start(2)
	require.Equal(t, 1, h.count())
	require.EqualValues(t, 1, h.record().Counters.BufferDropped)
	dropped := h.lastEvent()
	require.Equal(t, schedule.EventDropped, dropped.Kind)
	require.Equal(t, "workflow ID nightly is already running", dropped.Reason)
	require.Equal(t, schedule.ActionWorkflow, dropped.ActionKind)
	require.True(t, h.pending(h.names.TimeoutTimer(0, h.key, start.RequestID)))

	// A process that has read the record before starts it.
	h.end(h.begun(1), completed())
	h.mu.Lock()
	h.executions = append(h.executions, &execution{h.executions[0].request, wire.RunID(start.RequestID), nil, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, false})
	late := h.executions[1]
	to, err := codec.Marshal(&wire.WorkflowCallback{ScheduleID: "nightly", TaskQueue: "q", RequestID: start.RequestID})
	require.NoError(t, err)
	late.callback = to
	h.mu.Unlock()
	end := &wire.EndRun{
		Kind: schedule.ControlTerminate, RequestID: start.RequestID, WorkflowID: "nightly", RunID: late.runID, TaskQueue: "q",
		ActionKind: schedule.ActionWorkflow, GivenUp: true, Reason: "its start had been given up",
	}
	h.handle(pool, invoker.Message{End: end})
	require.NotEqual(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, late.status)
	ended := h.lastEvent()
	require.Equal(t, schedule.EventCompleted, ended.Kind)
	require.Equal(t, schedule.StatusTerminated, ended.Status)
	told := len(h.events())
	h.handle(pool, invoker.Message{End: end})
	require.Len(t, h.events(), told, "nothing is left to end")
}

// TestTheFenceOfAWorkflow fires for a run that the record knows, and for none.
func TestTheFenceOfAWorkflow(t *testing.T) {
	t.Parallel()
	h := withHistory(t)
	pool := h.newPool()
	e := h.handOff("", 1)
	h.handle(pool, invoker.Message{Enqueue: &e})
	start := h.record().Starts[0]
	h.handle(pool, invoker.Message{End: &wire.EndRun{
		Kind: schedule.ControlTerminate, RequestID: start.RequestID, WorkflowID: start.WorkflowID, RunID: start.RunID, TaskQueue: "q",
		ActionKind: schedule.ActionWorkflow, GivenUp: true,
	}})
	require.Equal(t, schedule.PhaseStarted, h.phase(1), "somebody started it in time")
	require.NotContains(t, h.requests(), "terminate "+start.WorkflowID)
	task, err := h.names.ParseTask(h.names.InvokeGivenUp(0, h.key, start.RequestID))
	require.NoError(t, err)
	require.True(t, task.IsEnd())
}

// TestAnAnswerThatIsLost: the start is looked up, and not made again.
func TestAnAnswerThatIsLost(t *testing.T) {
	t.Parallel()
	h := withHistory(t)
	h.fail(subjects.VerbStartScheduled, serviceerror.NewDeadlineExceeded("no answer"))
	e := h.handOff("", 1)
	h.handle(h.newPool(), invoker.Message{Enqueue: &e})
	require.Equal(t, schedule.PhaseReady, h.phase(1))
	require.Equal(t, schedule.EventRetried, h.lastEvent().Kind)
	h.handle(h.newPool(ahead(time.Minute)), wakeUp)
	require.Equal(t, schedule.PhaseStarted, h.phase(1))
	id := e.Starts[0].WorkflowID
	require.Equal(t, []string{"start " + id, "describe " + id}, h.requests())
	require.Equal(t, 1, h.count())
}

// TestHistoryThatDoesNotAnswer: a start waits for history, however many attempts that takes.
func TestHistoryThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	h := withHistory(t)
	away := serviceerror.NewUnavailable("nobody answers")
	for range invoker.MaxAttempts {
		h.fail(subjects.VerbStartScheduled, away)
		h.fail(subjects.VerbDescribe, nil)
	}
	h.answers[subjects.VerbDescribe] = []error{away, away}
	e := h.handOff("", 1)
	h.handle(h.newPool(), invoker.Message{Enqueue: &e})
	for n := range invoker.MaxAttempts + 3 {
		require.Equal(t, schedule.PhaseReady, h.phase(1), n)
		require.LessOrEqual(t, h.record().Starts[0].Attempt, invoker.MaxAttempts)
		h.handle(h.newPool(ahead(time.Duration(n+1)*2*time.Minute)), wakeUp)
		if h.phase(1) == schedule.PhaseStarted {
			break
		}
	}
	require.Equal(t, schedule.PhaseStarted, h.phase(1))
	require.Equal(t, 1, h.count())
	require.Zero(t, h.record().Counters.BufferDropped)
}

// TestAWorkflowThatIsRefused, and one that fails too often, are given up.
func TestAWorkflowThatIsRefused(t *testing.T) {
	t.Parallel()
	h := withHistory(t)
	h.fail(subjects.VerbStartScheduled, serviceerror.NewInvalidArgument("no such thing"))
	e := h.handOff("", 1)
	h.handle(h.newPool(), invoker.Message{Enqueue: &e})
	require.Equal(t, schedule.EventDropped, h.lastEvent().Kind)
	require.Equal(t, "no such thing", h.lastEvent().Reason)

	second := h.handOff("", 2)
	h.fail(subjects.VerbStartScheduled, serviceerror.NewInternal("defect"))
	h.handle(h.newPool(), invoker.Message{Enqueue: &second})
	require.Equal(t, schedule.EventRetried, h.lastEvent().Kind)
	record, err := kv.GetLeader(t.Context(), h.store, kv.Invoker(h.key))
	require.NoError(t, err)
	record.Value.Starts[0].Attempt = invoker.MaxAttempts
	_, err = kv.Put(t.Context(), h.store, kv.Invoker(h.key), &record.Value, record.Revision)
	require.NoError(t, err)
	h.fail(subjects.VerbStartScheduled, serviceerror.NewInternal("defect"))
	h.handle(h.newPool(ahead(time.Minute)), wakeUp)
	require.Equal(t, schedule.EventDropped, h.lastEvent().Kind)
	require.Contains(t, h.lastEvent().Reason, "start failed too often")
	require.True(t, h.pending(h.names.TimeoutTimer(0, h.key, second.Starts[0].RequestID)))
}

// TestDiedAroundTheStartOfAWorkflow: the process that made a start ready died before it could start it, before it could record that, or after
// the execution was over.
func TestDiedAroundTheStartOfAWorkflow(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*playedHistory, wire.BufferedStart){
		"before":     func(*playedHistory, wire.BufferedStart) {},
		"after":      func(h *playedHistory, start wire.BufferedStart) { h.startElsewhere(start) },
		"at the end": func(h *playedHistory, start wire.BufferedStart) { h.end(h.startElsewhere(start), completed("7")) },
		"after the first of several runs": func(h *playedHistory, start wire.BufferedStart) {
			e := h.startElsewhere(start)
			h.mu.Lock()
			defer h.mu.Unlock()
			e.status, e.retried = enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := withHistory(t)
			e := h.handOff("", 1)
			state := h.afterHandOff(e)
			h.put(state)
			begin(h, state.Starts[0])
			h.run(h.newPool())
			h.wake()
			only := h.begun(1)
			if name != "at the end" {
				h.awaitPhase(1, schedule.PhaseStarted)
				h.end(only, completed("7"))
			}
			h.awaitPhase(1, schedule.PhaseCompleted)
			h.idle()
			assert.Equal(t, 1, h.count())
			assert.JSONEq(t, "7", string(h.record().Ended.Runs()[0].Result))
			assert.EqualValues(t, 1, h.record().Counters.Actions)
		})
	}
}

// startElsewhere starts an execution as another process does.
func (h *playedHistory) startElsewhere(start wire.BufferedStart) *execution {
	h.t.Helper()
	h.mu.Lock()
	count := len(h.executions)
	h.mu.Unlock()
	request := &wire.WorkflowCallback{ScheduleID: h.key.ID, TaskQueue: "q", RequestID: start.RequestID}
	require.NoError(h.t, h.client.Start(h.t.Context(), requestOf(h.t, h.key, h.definition(), &start), start.RunID, request))
	return h.begun(count + 1)
}

// TestATriggerReplacesTheArguments, and one whose input is no list is refused.
func TestATriggerReplacesTheArguments(t *testing.T) {
	t.Parallel()
	h := withHistory(t, func(d *wire.Definition) {
		d.Schedule.Action.HeaderPayloads = map[string]json.RawMessage{"h2": json.RawMessage("2"), "h3": json.RawMessage("3")}
	})
	h.run(h.newPool())
	trigger := func(id string, input string) {
		h.request(wire.BackfillState{
			ID: id, RequestTime: h.at(1), Trigger: &schedule.Trigger{
				Input: json.RawMessage(input), Headers: map[string]string{"h2": "two"}, Memo: map[string]json.RawMessage{"m": json.RawMessage("null")},
			},
		})
		e := h.manual(id, 1)
		e.Starts[0].Overridden = true
		h.deliver(e)
	}
	trigger("t1", `["x"]`)
	first := h.begun(1).request
	require.Len(t, first.Input.Payloads, 1)
	require.Equal(t, `"x"`, string(first.Input.Payloads[0].Data))
	require.Equal(t, `"two"`, string(first.Header.Fields["h2"].Data))
	require.Equal(t, "3", string(first.Header.Fields["h3"].Data))
	require.Equal(t, "binary/null", string(first.Memo.Fields["m"].Metadata["encoding"]))
	h.end(h.begun(1), completed())

	trigger("t2", `{"x":1}`)
	natstest.Eventually(t, patience, "it is dropped", func() bool { return h.record().Counters.BufferDropped == 1 })
	h.idle()
	require.Contains(t, h.lastEvent().Reason, "the trigger does not fit the workflow: input: is not a list")
}

// TestAnotherKindOfAction: a start that was chosen as something else, and may have been made, is given up.
func TestAnotherKindOfAction(t *testing.T) {
	t.Parallel()
	h := withHistory(t)
	e := h.handOff("", 1)
	h.fail(subjects.VerbStartScheduled, serviceerror.NewUnavailable("away"))
	h.handle(h.newPool(), invoker.Message{Enqueue: &e})
	record, err := kv.GetLeader(t.Context(), h.store, kv.Definition(h.key))
	require.NoError(t, err)
	record.Value.Version, record.Value.Schedule.Action.Kind = 2, schedule.ActionRun
	_, err = kv.Put(t.Context(), h.store, kv.Definition(h.key), &record.Value, record.Revision)
	require.NoError(t, err)
	h.handle(h.newPool(ahead(time.Minute)), wakeUp)
	require.Zero(t, h.queued())
	require.Equal(t, schedule.EventDropped, h.lastEvent().Kind)
	require.Equal(t, "the schedule starts something of another kind by now", h.lastEvent().Reason)
}

// TestCanceledBeforeItBegan: the cancel waits for the execution, and then reaches it.
func TestCanceledBeforeItBegan(t *testing.T) {
	t.Parallel()
	h := withHistory(t, policy(schedule.OverlapCancelOther))
	h.fail(subjects.VerbStartScheduled, serviceerror.NewUnavailable("away"))
	first, second := h.handOff("", 1), h.handOff("", 2)
	h.handle(h.newPool(), invoker.Message{Enqueue: &first})
	h.handle(h.newPool(), invoker.Message{Enqueue: &second})
	require.Len(t, h.record().Controls, 1)
	id := first.Starts[0].WorkflowID
	require.NotContains(t, h.requests(), "cancel "+id)
	h.handle(h.newPool(ahead(time.Minute)), wakeUp)
	h.handle(h.newPool(ahead(time.Minute)), wakeUp)
	require.Contains(t, h.requests(), "cancel "+id)
	require.Empty(t, h.record().Controls)
}

// TestWorkflowsOfADeletedSchedule end as the deletion says.
func TestWorkflowsOfADeletedSchedule(t *testing.T) {
	t.Parallel()
	for policy, want := range map[schedule.RunsPolicy]string{
		schedule.RunsLeave: "", schedule.RunsWithdraw: "", schedule.RunsCancel: "cancel ", schedule.RunsTerminate: "terminate ",
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			h := withHistory(t)
			h.run(h.newPool())
			h.due(1)
			first := h.begun(1)
			h.awaitPhase(1, schedule.PhaseStarted)
			h.deleted(policy)
			h.forgotten()
			id := first.request.WorkflowId
			if want == "" {
				require.Equal(t, []string{"start " + id}, h.requests())
				return
			}
			require.Equal(t, []string{"start " + id, want + id}, h.requests())
			if policy == schedule.RunsTerminate {
				require.Equal(t, schedule.StatusTerminated, h.ends()[id])
			}
		})
	}
}

// TestDeletedWithAStartUnderWay: whoever may still start it is fenced.
func TestDeletedWithAStartUnderWay(t *testing.T) {
	t.Parallel()
	h := withHistory(t)
	h.fail(subjects.VerbStartScheduled, serviceerror.NewUnavailable("away"))
	e := h.handOff("", 1)
	h.handle(h.newPool(), invoker.Message{Enqueue: &e})
	h.run(h.newPool())
	h.deleted(schedule.RunsWithdraw)
	h.forgotten()
	require.True(t, h.pending(h.names.TimeoutTimer(0, h.key, e.Starts[0].RequestID)))
}

// TestLimitsOfWorkflows: the limit of pending runs does not count executions, and does not delay them.
func TestLimitsOfWorkflows(t *testing.T) {
	t.Parallel()
	h := withHistory(t, policy(schedule.OverlapAllowAll))
	h.run(h.newPool(under(limitedBy(schedule.NamespaceLimits{MaxPendingRuns: 1, ActionsPerSecond: 1000}))))
	h.due(1, 2, 3)
	h.begun(3)
	require.Zero(t, h.queued())
}
