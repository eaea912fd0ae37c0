package execution

import (
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

// The commands that end a workflow. None is carried out if events arrived while the workflow task was in progress: the workflow has decided
// without knowing them, so it must look again.

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
	tx.writeFor(c, &historypb.WorkflowExecutionCompletedEventAttributes{
		Result: attributes.GetResult(), WorkflowTaskCompletedEventId: c.completed,
	})
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
	tx.writeFor(c, &historypb.WorkflowExecutionFailedEventAttributes{
		Failure: attributes.GetFailure(), RetryState: enumspb.RETRY_STATE_RETRY_POLICY_NOT_SET, WorkflowTaskCompletedEventId: c.completed,
	})
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

// writeFor writes the event of a command, with what the command says for people.
func (tx *transition) writeFor(c commandContext, attributes any) *historypb.HistoryEvent {
	event := newEvent(attributes, tx.now)
	event.UserMetadata, event.EventGroupMarkers = c.GetUserMetadata(), c.GetEventGroupMarkers()
	tx.run.effect(event)
	return tx.number(event)
}
