package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// childPlan is a child of a workflow. The parent waits for its end, or does not, because it never ends by itself.
type childPlan struct {
	hangs   bool
	policy  enumspb.ParentClosePolicy
	timeout time.Duration
}

// The workflow ID of a child follows on that of its parent, and says whether it ends by itself.
const (
	childMark = "/c"
	hangMark  = "/h"
)

func isChild(workflowID string) bool { return strings.Contains(workflowID, "/") }
func hangs(workflowID string) bool   { return strings.Contains(workflowID, hangMark) }

func childID(step int) string { return fmt.Sprintf("c%d", step) }

// childOf is the workflow ID of the child of a step.
func (c *childPlan) workflowID(parent string, step int) string {
	mark := childMark
	if c.hangs {
		mark = hangMark
	}
	return fmt.Sprintf("%s%s%d", parent, mark, step)
}

// someChild draws a step with a child. One that hangs ends with its parent; of the others, some are canceled after a time.
func someChild(dice *rand.Rand) step {
	policies := []enumspb.ParentClosePolicy{
		enumspb.PARENT_CLOSE_POLICY_TERMINATE, enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL, enumspb.PARENT_CLOSE_POLICY_ABANDON,
	}
	child := &childPlan{hangs: dice.IntN(3) == 0}
	if child.hangs {
		child.policy = policies[dice.IntN(2)]
		return step{child: child}
	}
	child.policy = policies[dice.IntN(3)]
	child.timeout = someTimeout(dice) / 4
	if dice.IntN(2) == 0 {
		return step{child: child}
	}
	return step{child: child, timer: between(dice, 10*time.Millisecond, 10*time.Second)}
}

// run starts the child if it has not been started, and reports whether the workflow waits for it.
func (c *childPlan) run(step int, is *seen) (commands []*commandpb.Command, waits bool) {
	id := childID(step)
	if !is.begun[id] {
		return []*commandpb.Command{c.command(is.workflowID, step)}, true
	}
	_, ended := is.outcomes[id]
	return nil, !ended && !(c.hangs && is.started[id])
}

func (c *childPlan) command(parent string, step int) *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_StartChildWorkflowExecutionCommandAttributes{
			StartChildWorkflowExecutionCommandAttributes: &commandpb.StartChildWorkflowExecutionCommandAttributes{
				WorkflowId: c.workflowID(parent, step), WorkflowType: &commonpb.WorkflowType{Name: "script"},
				TaskQueue: &taskqueuepb.TaskQueue{Name: taskQueue}, ParentClosePolicy: c.policy, WorkflowRunTimeout: durationpb.New(c.timeout),
			},
		},
	}
}

// cancel asks the child to end, once, as soon as it has begun.
func (c *childPlan) cancel(step int, is *seen) []*commandpb.Command {
	id := c.workflowID(is.workflowID, step)
	if is.ends[id] || !is.started[childID(step)] {
		return nil
	}
	return []*commandpb.Command{{
		CommandType: enumspb.COMMAND_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_RequestCancelExternalWorkflowExecutionCommandAttributes{
			RequestCancelExternalWorkflowExecutionCommandAttributes: &commandpb.RequestCancelExternalWorkflowExecutionCommandAttributes{
				WorkflowId: id, ChildWorkflowOnly: true,
			},
		},
	}}
}

// signalOther signals another workflow, which may not be there, and waits for what comes of that.
func signalOther(step int, is *seen) (commands []*commandpb.Command, waits bool) {
	id := fmt.Sprintf("x%d", step)
	_, ended := is.outcomes[id]
	if is.begun[id] {
		return nil, !ended
	}
	seed, _, _ := strings.Cut(is.workflowID, "-")
	other := fmt.Sprintf("%s-%d", seed, diceFor(is.workflowID+id).IntN(3))
	return []*commandpb.Command{{
		CommandType: enumspb.COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_SignalExternalWorkflowExecutionCommandAttributes{
			SignalExternalWorkflowExecutionCommandAttributes: &commandpb.SignalExternalWorkflowExecutionCommandAttributes{
				Execution: &commonpb.WorkflowExecution{WorkflowId: other}, SignalName: id + " of " + is.runID,
			},
		},
	}}, true
}

func continueCommand(round int) *commandpb.Command {
	return &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_ContinueAsNewWorkflowExecutionCommandAttributes{
			ContinueAsNewWorkflowExecutionCommandAttributes: &commandpb.ContinueAsNewWorkflowExecutionCommandAttributes{
				Input: payloadOf(strings.Repeat("x", round)),
			},
		},
	}
}

// readOthers reads an event about children and other workflows. begun has what each event began, by its ID.
func (s *seen) readOthers(e *historypb.HistoryEvent, begun map[int64]string) {
	id := ""
	if a := e.GetStartChildWorkflowExecutionInitiatedEventAttributes(); a != nil {
		id = "c" + a.GetWorkflowId()[strings.LastIndexAny(a.GetWorkflowId(), "/")+2:]
	} else if a := e.GetSignalExternalWorkflowExecutionInitiatedEventAttributes(); a != nil {
		id, _, _ = strings.Cut(a.GetSignalName(), " ")
	}
	if id != "" {
		begun[e.GetEventId()], s.begun[id] = id, true
	}
	if a := e.GetRequestCancelExternalWorkflowExecutionInitiatedEventAttributes(); a != nil {
		s.ends[a.GetWorkflowExecution().GetWorkflowId()] = true
	}
	if a := e.GetChildWorkflowExecutionStartedEventAttributes(); a != nil {
		s.started[begun[a.GetInitiatedEventId()]] = true
	}
	if of, outcome := outcomeOfOther(e); of > 0 && begun[of] != "" {
		s.outcomes[begun[of]] = outcome
	}
}

// outcomeOfOther returns how a child ended, or what came of a request to another workflow. of is the event that began it; 0 for any other event.
func outcomeOfOther(e *historypb.HistoryEvent) (of int64, outcome string) {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
		a := e.GetChildWorkflowExecutionCompletedEventAttributes()
		return a.GetInitiatedEventId(), "completed: " + textOf(a.GetResult())
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED:
		a := e.GetChildWorkflowExecutionFailedEventAttributes()
		return a.GetInitiatedEventId(), "failed: " + a.GetFailure().GetMessage()
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED:
		a := e.GetChildWorkflowExecutionCanceledEventAttributes()
		return a.GetInitiatedEventId(), "canceled: " + textOf(a.GetDetails())
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED:
		return e.GetChildWorkflowExecutionTerminatedEventAttributes().GetInitiatedEventId(), "terminated"
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT:
		return e.GetChildWorkflowExecutionTimedOutEventAttributes().GetInitiatedEventId(), "timed out"
	case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED:
		return e.GetStartChildWorkflowExecutionFailedEventAttributes().GetInitiatedEventId(), "not started"
	case enumspb.EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED:
		return e.GetExternalWorkflowExecutionSignaledEventAttributes().GetInitiatedEventId(), "signaled"
	case enumspb.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED:
		return e.GetSignalExternalWorkflowExecutionFailedEventAttributes().GetInitiatedEventId(), "not signaled"
	case enumspb.EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
		return e.GetExternalWorkflowExecutionCancelRequestedEventAttributes().GetInitiatedEventId(), "cancel requested"
	case enumspb.EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED:
		return e.GetRequestCancelExternalWorkflowExecutionFailedEventAttributes().GetInitiatedEventId(), "not canceled"
	}
	return 0, ""
}

// checkFamily: a run that says that another one follows is followed by it, children began once and ended as the parent has heard, and a signal
// that another workflow got is in its history once.
func (e *executions) checkFamily(id string, run *executionRun, find func(kind, format string, args ...any)) {
	if run.next != "" && e.run(id, run.next) == nil {
		find("torn", "run %s does not follow", run.next)
	}
	initiated := map[int64]*historypb.HistoryEvent{}
	for _, event := range run.events {
		initiated[event.GetEventId()] = event
		of, outcome := outcomeOfOther(event)
		if of == 0 {
			continue
		}
		if a := initiated[of].GetSignalExternalWorkflowExecutionInitiatedEventAttributes(); a != nil {
			e.checkSent(a.GetWorkflowExecution().GetWorkflowId(), a.GetSignalName(), outcome == "signaled", find)
		}
		if a := initiated[of].GetStartChildWorkflowExecutionInitiatedEventAttributes(); a != nil && outcome != "not started" {
			e.checkChild(a.GetWorkflowId(), run, of, outcome, find)
		}
	}
}

func (e *executions) checkSent(id, name string, signaled bool, find func(kind, format string, args ...any)) {
	count := 0
	for _, run := range e.runsOf(id) {
		count += signalsIn(run, name)
	}
	if signaled && count == 0 {
		find("lost", "signal %s to %s is in no history", name, id)
	}
}

// checkChild: the last run of the child's chain ended as the parent has heard.
func (e *executions) checkChild(id string, parent *executionRun, initiated int64, outcome string, find func(kind, format string, args ...any)) {
	var chain *executionRun
	author, said, heard := parent.author(initiated), "", false
	for _, run := range e.runsOf(id) {
		a := run.events[0].GetWorkflowExecutionStartedEventAttributes()
		if a.GetParentWorkflowExecution().GetRunId() != author.id || a.GetParentInitiatedEventId() != initiated {
			continue
		}
		if chain != nil && run.base == nil && run.follows != chain.id {
			find("start doubled", "child %s began twice for event %d", id, initiated)
		}
		// If the child was reset after its end, the parent has heard of that end, and not of the other.
		if chain = run; run.next == "" && run.handed == "" {
			said = saidBy(run.events[len(run.events)-1])
			heard = heard || said == "" || strings.HasSuffix(outcome, ": "+said) ||
				// After a reset, nobody may know any more how the child ended.
				parent.base != nil && outcome == "terminated" && !e.keeps(run, time.Now())
		}
	}
	if chain == nil {
		find("lost", "child %s of event %d is in no journal", id, initiated)
		return
	}
	if !heard {
		find("result", "child %s said %s, and the parent has heard %s", id, said, outcome)
	}
}
