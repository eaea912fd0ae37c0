package cli

import (
	"context"
	"fmt"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/execution"
)

// printResult waits for the end of a workflow and prints its result. A workflow that does not complete is an error.
func (a *app) printResult(
	ctx context.Context, api workflowservice.WorkflowServiceClient, execution *common.WorkflowExecution, output outputFlag,
) error {
	last, err := awaitEnd(ctx, api, a.global.namespace, execution)
	if err != nil {
		return err
	}
	completed := last.GetWorkflowExecutionCompletedEventAttributes()
	if completed == nil {
		return fmt.Errorf("workflow %s %s", execution.WorkflowId, endingText(last))
	}
	return a.printPayloads(output, completed.GetResult())
}

// awaitEnd waits for the last event of a workflow, and of the runs in which it goes on. The gateway answers each poll with nothing when its time
// is over.
func awaitEnd(
	ctx context.Context, api workflowservice.WorkflowServiceClient, namespace string, of *common.WorkflowExecution,
) (*history.HistoryEvent, error) {
	request := &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: namespace, Execution: of, WaitNewEvent: true, HistoryEventFilterType: enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT,
	}
	for {
		reply, err := api.GetWorkflowExecutionHistory(ctx, request)
		if err != nil {
			return nil, err
		}
		request.NextPageToken = reply.NextPageToken
		events := reply.GetHistory().GetEvents()
		if len(events) == 0 {
			continue
		}
		last := events[len(events)-1]
		next := execution.NextRun(last)
		if next == "" {
			return last, nil
		}
		request.Execution = &common.WorkflowExecution{WorkflowId: of.WorkflowId, RunId: next}
		request.NextPageToken = nil
	}
}

// endingText says how a workflow has ended without a result.
func endingText(last *history.HistoryEvent) string {
	switch {
	case last.GetWorkflowExecutionFailedEventAttributes() != nil:
		return "has failed" + because(failureMessages(last.GetWorkflowExecutionFailedEventAttributes().Failure))
	case last.GetWorkflowExecutionTerminatedEventAttributes() != nil:
		return "has been terminated" + because(last.GetWorkflowExecutionTerminatedEventAttributes().Reason)
	case last.GetWorkflowExecutionTimedOutEventAttributes() != nil:
		return "has timed out"
	case last.GetWorkflowExecutionCanceledEventAttributes() != nil:
		return "has been canceled"
	}
	return "has no result: its last event is " + eventName(last)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
