package execution

import (
	"cmp"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// The commands that end a workflow. None is carried out if events arrived while the workflow task was in progress: the workflow has decided without
// knowing them, so it must look again. Updates that arrived do not count: nothing of them is in the history yet. They are aborted.

func (tx *transition) unhandled() *failedCommand {
	if tx.arrived == 0 {
		return nil
	}
	return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND, "there are new events"}
}

func (tx *transition) completeWorkflow(c commandContext) *failedCommand {
	attributes := c.GetCompleteWorkflowExecutionCommandAttributes()
	if attributes == nil {
		return &failedCommand{cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_COMPLETE_WORKFLOW_EXECUTION_ATTRIBUTES}
	}
	if failed := tx.unhandled(); failed != nil {
		return failed
	}
	next, _ := tx.successor(attributes.GetResult(), nil)
	tx.endWith(c, &historypb.WorkflowExecutionCompletedEventAttributes{
		Result: attributes.GetResult(), WorkflowTaskCompletedEventId: c.completed, NewExecutionRunId: tx.newRunID(next),
	}, next)
	return nil
}

func (tx *transition) failWorkflow(c commandContext) *failedCommand {
	attributes := c.GetFailWorkflowExecutionCommandAttributes()
	if attributes.GetFailure() == nil {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_FAIL_WORKFLOW_EXECUTION_ATTRIBUTES, "failure is not set"}
	}
	if failed := tx.unhandled(); failed != nil {
		return failed
	}
	next, state := tx.successor(nil, attributes.GetFailure())
	tx.endWith(c, &historypb.WorkflowExecutionFailedEventAttributes{
		Failure: attributes.GetFailure(), RetryState: state, WorkflowTaskCompletedEventId: c.completed, NewExecutionRunId: tx.newRunID(next),
	}, next)
	return nil
}

func (tx *transition) cancelWorkflow(c commandContext) *failedCommand {
	attributes := c.GetCancelWorkflowExecutionCommandAttributes()
	if attributes == nil {
		return &failedCommand{cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_CANCEL_WORKFLOW_EXECUTION_ATTRIBUTES}
	}
	if failed := tx.unhandled(); failed != nil {
		return failed
	}
	tx.writeFor(c, &historypb.WorkflowExecutionCanceledEventAttributes{
		Details: attributes.GetDetails(), WorkflowTaskCompletedEventId: c.completed,
	})
	return nil
}

func (tx *transition) continueAsNew(c commandContext) *failedCommand {
	asked := c.GetContinueAsNewWorkflowExecutionCommandAttributes()
	bad := enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_CONTINUE_AS_NEW_ATTRIBUTES
	if asked == nil {
		return &failedCommand{cause: bad}
	}
	if failed := tx.unhandled(); failed != nil {
		return failed
	}
	if min(asked.GetWorkflowRunTimeout().AsDuration(), asked.GetWorkflowTaskTimeout().AsDuration(), asked.GetBackoffStartInterval().AsDuration()) < 0 {
		return &failedCommand{bad, "a timeout or interval is negative"}
	}
	policy, message := workflowRetryPolicy(asked.GetRetryPolicy())
	if err := checkCron(asked.GetCronSchedule(), tx.now); err != nil {
		message = err.Error()
	}
	inherit := asked.GetInheritBuildId() //lint:ignore SA1019 workers still send it
	long := tooLong("workflow type", asked.GetWorkflowType().GetName(), "task queue", asked.GetTaskQueue().GetName())
	if message = cmp.Or(message, long, tx.compatible(asked, inherit)); message != "" {
		return &failedCommand{bad, message}
	}
	attributes := tx.run.continued(asked)
	attributes.Input, attributes.Header, attributes.RetryPolicy, attributes.CronSchedule = asked.GetInput(), asked.GetHeader(), policy, asked.GetCronSchedule()
	attributes.Memo, attributes.SearchAttributes = someMemo(asked.GetMemo()), someAttributes(asked.GetSearchAttributes())
	attributes.ContinuedFailure, attributes.LastCompletionResult = asked.GetFailure(), asked.GetLastCompletionResult()
	attributes.Initiator, attributes.Attempt, attributes.Identity = cmp.Or(asked.GetInitiator(), enumspb.CONTINUE_AS_NEW_INITIATOR_WORKFLOW), 1, ""
	next := &successor{attributes, asked.GetBackoffStartInterval().AsDuration()}
	continued := &historypb.WorkflowExecutionContinuedAsNewEventAttributes{
		NewExecutionRunId: tx.newRunID(next), WorkflowType: attributes.GetWorkflowType(), TaskQueue: attributes.GetTaskQueue(),
		Input: asked.GetInput(), WorkflowRunTimeout: attributes.GetWorkflowRunTimeout(), WorkflowTaskTimeout: attributes.GetWorkflowTaskTimeout(),
		WorkflowTaskCompletedEventId: c.completed, BackoffStartInterval: durationpb.New(tx.run.pauseBefore(next.pause, tx.now)),
		Initiator: attributes.GetInitiator(), LastCompletionResult: asked.GetLastCompletionResult(),
		Header: asked.GetHeader(), Memo: attributes.GetMemo(), SearchAttributes: attributes.GetSearchAttributes(),
	}
	continued.InheritBuildId = inherit //lint:ignore SA1019 workers still send it
	tx.endWith(c, continued, next)
	return nil
}

// writeFor writes the event of a command, with what the command says for people.
func (tx *transition) writeFor(c commandContext, attributes proto.Message) *historypb.HistoryEvent {
	event := newEvent(attributes, tx.now)
	event.UserMetadata, event.EventGroupMarkers = c.GetUserMetadata(), c.GetEventGroupMarkers()
	tx.run.effect(event)
	return tx.number(event)
}
