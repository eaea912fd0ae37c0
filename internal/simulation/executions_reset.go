package simulation

import (
	"bytes"
	"context"
	"maps"

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
	var described workflowservice.DescribeWorkflowExecutionResponse
	request := &workflowservice.DescribeWorkflowExecutionRequest{Namespace: namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: op.id}}
	if err := n.insist(ctx, subjects.VerbDescribe, op.id, request, &described, drainLimit); err != nil {
		return "", err
	}
	of := described.GetWorkflowExecutionInfo().GetExecution()
	if dice.IntN(3) == 0 {
		of = &commonpb.WorkflowExecution{WorkflowId: op.id, RunId: described.GetWorkflowExecutionInfo().GetFirstRunId()}
	}
	events, err := n.fetchHistory(ctx, of, drainLimit)
	if err != nil {
		return "", err
	}
	var ends []int64
	for i, event := range events {
		if i > 0 && events[i-1].GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED {
			ends = append(ends, event.GetEventId())
		}
	}
	if len(ends) == 0 {
		return noReset, nil
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

// beginAgain checks a run that a reset begins. It has the first events of the base, as they are in the journal; and then each signal once that came
// to the base later, or to the runs that continued it as new, unless the request leaves them out.
func (j *journaled) beginAgain(next, last *executionRun, part *execution.Part, find func(string, ...any)) {
	stretches := part.Base.Stretches
	through := stretches[len(stretches)-1].Through
	failed := part.Events[0].GetWorkflowTaskFailedEventAttributes()
	if failed == nil {
		failed = part.Events[1].GetWorkflowTaskFailedEventAttributes()
	}
	for _, run := range j.runs {
		if run.id == failed.GetBaseRunId() {
			next.base = run
		}
	}
	if next.base == nil || int64(len(next.base.events)) < through {
		find("run %s begins with %d events of run %s, which has not so many", next.id, through, failed.GetBaseRunId())
		next.base = &executionRun{}
		return
	}
	next.through, next.reset = through, part.Resets[len(part.Resets)-1].Request
	next.events = next.base.events[:through:through]
	part.Base.Events = next.events
	next.follows = next.base.follows
	end := last.events[len(last.events)-1].GetWorkflowExecutionTerminatedEventAttributes()
	if end.GetIdentity() == "history-resetter" && last.chain() == next.chain() {
		if last.handed = next.id; !bytes.Equal(last.callback, part.Callback) {
			find("run %s takes over another callback than that of run %s", next.id, last.id)
		}
	} else if len(part.Callback) > 0 {
		find("run %s has a callback, and its base has ended before", next.id)
	}
	want := map[string]int{}
	if excludesSignals(next.reset) {
		countSignals(want, next.events)
	} else {
		for run := next.base; run != nil; run = j.continued(run) {
			countSignals(want, run.events)
		}
	}
	got := map[string]int{}
	countSignals(got, next.events)
	if countSignals(got, part.Events); !maps.Equal(got, want) {
		find("run %s has the signals %v after a reset, and not %v", next.id, got, want)
	}
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
