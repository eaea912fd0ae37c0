package simulation

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/subjects"
)

// noReset is the text of a reset that a client has not asked for, because it has found no event to reset to.
const noReset = "none"

// excludesSignals says whether a reset leaves out the signals.
func excludesSignals(request string) bool { return diceFor("excludes "+request).IntN(4) == 0 }

// reset resets a run to one of its workflow tasks: the newest run, or the first one of its chain. The text is the new run.
func (n *node) reset(ctx context.Context, op *operation) (text string, err error) {
	dice := diceFor(op.name)
	of, err := n.someRun(ctx, op.id, dice)
	if err != nil {
		return "", err
	}
	events, err := n.fetchHistory(ctx, of, drainLimit)
	if err != nil {
		return "", err
	}
	ends := endsOfTasks(events)
	if len(ends) == 0 {
		return noReset, nil
	}
	if dice.IntN(4) == 0 {
		n.deleteChildren(ctx, events)
	}
	reset := &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: namespace, WorkflowExecution: of, RequestId: op.name, WorkflowTaskFinishEventId: ends[dice.IntN(len(ends))],
	}
	if excludesSignals(op.name) {
		reset.ResetReapplyExcludeTypes = []enumspb.ResetReapplyExcludeType{enumspb.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL}
	}
	var done workflowservice.ResetWorkflowExecutionResponse
	err = n.insist(ctx, op.verb, op.id, reset, &done, drainLimit)
	return done.GetRunId(), err
}

// someRun returns the newest run of a workflow ID, or the first one of its chain.
func (n *node) someRun(ctx context.Context, id string, dice *rand.Rand) (*commonpb.WorkflowExecution, error) {
	var described workflowservice.DescribeWorkflowExecutionResponse
	request := &workflowservice.DescribeWorkflowExecutionRequest{Namespace: namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: id}}
	err := n.insist(ctx, subjects.VerbDescribe, id, request, &described, drainLimit)
	info := described.GetWorkflowExecutionInfo()
	if dice.IntN(3) == 0 {
		return &commonpb.WorkflowExecution{WorkflowId: id, RunId: info.GetFirstRunId()}, err
	}
	return info.GetExecution(), err
}

// endsOfTasks are the events that end workflow tasks.
func endsOfTasks(events []*historypb.HistoryEvent) (ids []int64) {
	for i, event := range events {
		if i > 0 && events[i-1].GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED {
			ids = append(ids, event.GetEventId())
		}
	}
	return ids
}

// checkReset: a reset that was accepted has begun the run that the answer names, and no other.
func (e *executions) checkReset(op *operation, find func(kind, format string, args ...any)) {
	if op.text == noReset {
		return
	}
	count := 0
	for _, run := range e.runsOf(op.id) {
		if run.base != nil && run.reset == op.name {
			count++
		}
	}
	if run := e.run(op.id, op.text); run == nil || run.base == nil || count != 1 {
		find("reset", "it has begun %d runs, and not run %s alone", count, op.text)
	}
}

// beginAgain checks a run that a reset begins after the last run. It has the first events of the base, as they are in the journal; and then each
// signal once that came to the base later, or to the runs that continued it as new, unless the request leaves them out.
func (j *journaled) beginAgain(next, last *executionRun, part *execution.Part, find func(string, ...any)) {
	stretches := part.Base.Stretches
	through := stretches[len(stretches)-1].Through
	if next.base = j.baseOf(part); next.base == nil || int64(len(next.base.events)) < through {
		find("run %s begins with %d events of another run, which has not so many", next.id, through)
		next.base = &executionRun{}
		return
	}
	next.through, next.reset, next.follows = through, part.Resets[len(part.Resets)-1].Request, next.base.follows
	next.events = next.base.events[:through:through]
	part.Base.Events = next.events
	next.checkHeir(last, part, find)
	got, want := map[string]int{}, j.signalsFor(next)
	countSignals(got, next.events)
	if countSignals(got, part.Events); !maps.Equal(got, want) {
		find("run %s has the signals %v after a reset, and not %v", next.id, got, want)
	}
}

// baseOf returns the run that the failure of a workflow task by a reset names; nil if there is none.
func (j *journaled) baseOf(part *execution.Part) *executionRun {
	for _, event := range part.Events {
		for _, run := range j.runs {
			if run.id == event.GetWorkflowTaskFailedEventAttributes().GetBaseRunId() {
				return run
			}
		}
	}
	return nil
}

// checkHeir: whoever waits for the end of a run that a reset ends waits for that of the new run, if both are of one chain.
func (run *executionRun) checkHeir(last *executionRun, part *execution.Part, find func(string, ...any)) {
	end := last.events[len(last.events)-1].GetWorkflowExecutionTerminatedEventAttributes()
	switch {
	case end.GetIdentity() == "history-resetter" && last.chain() == run.chain():
		if last.handed = run.id; !bytes.Equal(last.callback, part.Callback) {
			find("run %s takes over another callback than that of run %s", run.id, last.id)
		}
	case len(part.Callback) > 0:
		find("run %s has a callback, and its base has ended before", run.id)
	}
}

// signalsFor counts the signals that a run must have which a reset begins. One whose sender has repeated it to the next run of a chain is one signal.
func (j *journaled) signalsFor(next *executionRun) map[string]int {
	count, known := map[string]int{}, map[string]bool{}
	if excludesSignals(next.reset) {
		countSignals(count, next.events)
		return count
	}
	for run := next.base; run != nil && (run == next.base || run.deleted.IsZero()); run = j.continued(run) { // what came to a deleted run is gone
		for _, event := range run.events {
			id := event.GetWorkflowExecutionSignaledEventAttributes().GetRequestId()
			if id == "" || !known[id] {
				countSignals(count, []*historypb.HistoryEvent{event})
			}
			known[id] = true
		}
	}
	return count
}

// continued returns the run that has continued a run as new; nil if none has.
func (j *journaled) continued(of *executionRun) *executionRun {
	id := of.events[len(of.events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	for _, run := range j.runs {
		if run.id == id {
			return run
		}
	}
	return nil
}

func countSignals(count map[string]int, events []*historypb.HistoryEvent) {
	for _, event := range events {
		if a := event.GetWorkflowExecutionSignaledEventAttributes(); a != nil {
			count[a.GetSignalName()]++
		}
	}
}

// chain is the first run of the chain of a run.
func (run *executionRun) chain() string {
	return run.events[0].GetWorkflowExecutionStartedEventAttributes().GetFirstExecutionRunId()
}

// author returns the run that wrote an event of a run.
func (run *executionRun) author(event int64) *executionRun {
	for run.base != nil && event <= run.through {
		run = run.base
	}
	return run
}
