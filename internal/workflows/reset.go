package workflows

import (
	"context"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
)

// FirstTask returns the ID of the event to which a run is to be reset so that it begins with its first workflow task: the event that completed it. If
// no task was completed, it is the event after the first task was scheduled. read returns a page of a history. The error is that of read, or
// FailedPrecondition if there is no task at all.
func FirstTask(
	ctx context.Context, namespace string, execution *common.WorkflowExecution,
	read func(context.Context, *workflowservice.GetWorkflowExecutionHistoryRequest) (*workflowservice.GetWorkflowExecutionHistoryResponse, error),
) (int64, error) {
	return taskIn(func(token []byte) (*history.History, []byte, error) {
		page, err := read(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{Namespace: namespace, Execution: execution, NextPageToken: token})
		return page.GetHistory(), page.GetNextPageToken(), err
	})
}

// LastTask is FirstTask for the last workflow task that was completed. read returns a page of a history from its end.
func LastTask(
	ctx context.Context, namespace string, execution *common.WorkflowExecution,
	read func(
		context.Context, *workflowservice.GetWorkflowExecutionHistoryReverseRequest,
	) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error),
) (int64, error) {
	return taskIn(func(token []byte) (*history.History, []byte, error) {
		page, err := read(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
			Namespace: namespace, Execution: execution, NextPageToken: token,
		})
		return page.GetHistory(), page.GetNextPageToken(), err
	})
}

// taskIn returns the first event in pages that completed a workflow task, or else the one after the first task was scheduled. The token is that of the
// page before; it is empty for the first page and after the last.
func taskIn(read func(token []byte) (page *history.History, next []byte, err error)) (point int64, err error) {
	for token := []byte(nil); ; {
		page, next, err := read(token)
		if err != nil {
			return 0, err
		}
		for _, event := range page.GetEvents() {
			switch {
			case event.EventType == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
				return event.EventId, nil
			case event.EventType == enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED && (point == 0 || event.EventId < point):
				point = event.EventId + 1
			}
		}
		switch token = next; {
		case len(token) > 0:
		case point == 0:
			return 0, serviceerror.NewFailedPrecondition("the run has no workflow task to which it could be reset")
		default:
			return point, nil
		}
	}
}
