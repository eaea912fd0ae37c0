package execution

import (
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

func (tx *transition) signalExternal(c commandContext) *failedCommand {
	asked := c.GetSignalExternalWorkflowExecutionCommandAttributes()
	bad := enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_SIGNAL_WORKFLOW_EXECUTION_ATTRIBUTES
	switch {
	case asked.GetExecution().GetWorkflowId() == "":
		return &failedCommand{bad, "workflow ID is not set"}
	case asked.GetSignalName() == "":
		return &failedCommand{bad, "signal name is not set"}
	case tx.isElsewhere(asked):
		return &failedCommand{bad, "a signal to another namespace is not possible"}
	}
	if long := tooLong("workflow ID", asked.GetExecution().GetWorkflowId(), "signal name", asked.GetSignalName()); long != "" {
		return &failedCommand{bad, long}
	}
	if tx.run.outgoing(isSignal) >= maxPending {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_PENDING_SIGNALS_LIMIT_EXCEEDED, tooMany("signals to other workflows")}
	}
	attributes := &historypb.SignalExternalWorkflowExecutionInitiatedEventAttributes{
		WorkflowTaskCompletedEventId: c.completed, Namespace: tx.before.Key.Namespace, WorkflowExecution: asked.GetExecution(),
		SignalName: asked.GetSignalName(), Input: asked.GetInput(), Header: asked.GetHeader(), ChildWorkflowOnly: asked.GetChildWorkflowOnly(),
	}
	attributes.Control = asked.GetControl() //lint:ignore SA1019 workers may use it for long
	tx.writeFor(c, attributes)
	return nil
}

func (tx *transition) cancelExternal(c commandContext) *failedCommand {
	asked := c.GetRequestCancelExternalWorkflowExecutionCommandAttributes()
	bad := enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_ATTRIBUTES
	switch {
	case asked.GetWorkflowId() == "":
		return &failedCommand{bad, "workflow ID is not set"}
	case tx.isElsewhere(asked):
		return &failedCommand{bad, "a cancellation in another namespace is not possible"}
	case tx.startsNow(asked.GetWorkflowId()):
		return &failedCommand{bad, "a child cannot be canceled by the workflow task that starts it: " + asked.GetWorkflowId()}
	}
	if long := tooLong("workflow ID", asked.GetWorkflowId()); long != "" {
		return &failedCommand{bad, long}
	}
	if tx.run.outgoing(isCancel) >= maxPending {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_PENDING_REQUEST_CANCEL_LIMIT_EXCEEDED, tooMany("cancellations of other workflows")}
	}
	attributes := &historypb.RequestCancelExternalWorkflowExecutionInitiatedEventAttributes{
		WorkflowTaskCompletedEventId: c.completed, Namespace: tx.before.Key.Namespace,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: asked.GetWorkflowId()}, ChildWorkflowOnly: asked.GetChildWorkflowOnly(),
		Reason: asked.GetReason(),
	}
	attributes.WorkflowExecution.RunId = asked.GetRunId()
	attributes.Control = asked.GetControl() //lint:ignore SA1019 workers may use it for long
	tx.writeFor(c, attributes)
	return nil
}

// startsNow reports whether the workflow task has started a child with that workflow ID.
func (tx *transition) startsNow(workflowID string) bool {
	return slices.ContainsFunc(tx.part.Events, func(event *historypb.HistoryEvent) bool {
		return event.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowId() == workflowID
	})
}
