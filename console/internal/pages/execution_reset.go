package pages

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/console/internal/readable"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
)

// pointsShown is how many workflow tasks a reset offers: the newest ones, and the first one.
const pointsShown = 30

// resetPoints adds to a form the workflow tasks after which a new run can begin.
func resetPoints(ctx context.Context, asks *speaker.Speaker, of *common.WorkflowExecution, form *actForm) error {
	points, err := newestTasks(ctx, asks, of)
	if err != nil {
		return err
	}
	field := &form.Fields[slices.IndexFunc(form.Fields, func(f actField) bool { return f.Name == "event" })]
	for _, point := range points {
		text := "event " + whole(point.task.GetEventId()) + ", " + point.task.GetEventTime().AsTime().Format("2006-01-02 15:04:05") + " UTC"
		if point.did != "" {
			text += ", before " + point.did
		}
		field.Choices = append(field.Choices, actChoice{whole(point.task.GetEventId()), text})
	}
	if len(field.Choices) == 0 {
		field.Mistake = "cannot be chosen: no workflow task has been completed yet"
		return nil
	}
	field.Choices[0].Label += ": the last one"
	if !form.IsSent {
		field.Value = cmp.Or(field.Value, field.Choices[0].Value)
	}
	return nil
}

// taskPages bounds how many pages of a history are read for the workflow tasks of a reset.
const taskPages = 5

// resetPoint is a workflow task to which a reset can go.
type resetPoint struct {
	task *history.HistoryEvent
	// did is what the workflow did with it, in a few words. The new run does it again, or something else.
	did string
}

// newestTasks returns the newest workflow tasks of a run, the newest one first, and the first one.
func newestTasks(ctx context.Context, asks *speaker.Speaker, of *common.WorkflowExecution) (points []resetPoint, err error) {
	for token, n := []byte(nil), 0; n < taskPages && len(points) < pointsShown; n++ {
		page, err := asks.Workflows.GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
			Namespace: asks.Namespace(), Execution: of, NextPageToken: token,
		})
		if err != nil {
			return nil, err
		}
		events := page.GetHistory().GetEvents()
		slices.Reverse(events)
		found := pointsOf(events)
		slices.Reverse(found)
		points = append(points, found...)
		if token = page.GetNextPageToken(); len(token) == 0 {
			return points[:min(len(points), pointsShown)], nil
		}
	}
	points = points[:min(len(points), pointsShown)]
	page, err := asks.Workflows.GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: asks.Namespace(), Execution: of, MaximumPageSize: historyShown,
	})
	begin := pointsOf(page.GetHistory().GetEvents())
	return append(points, begin[:min(len(begin), 1)]...), err
}

// pointsOf returns the workflow tasks among consecutive events, in the order of their IDs.
func pointsOf(events []*history.HistoryEvent) (points []resetPoint) {
	for _, e := range events {
		switch e.GetEventType() {
		case enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, enums.EVENT_TYPE_WORKFLOW_TASK_FAILED, enums.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
			points = append(points, resetPoint{task: e})
		case enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enums.EVENT_TYPE_WORKFLOW_TASK_STARTED:
		default:
			if n := len(points); n > 0 && points[n-1].did == "" {
				event := readable.EventOf(e)
				points[n-1].did = cut(strings.TrimSpace(event.Type+" "+event.Main), namesInList)
			}
		}
	}
	return points
}

// resetExecution begins a new run, and leads to it.
func resetExecution(ctx context.Context, asks *speaker.Speaker, of *common.WorkflowExecution, form *actForm) (string, error) {
	event, err := strconv.ParseInt(form.value("event"), 10, 64)
	if err != nil {
		form.mistake("event", "is not chosen")
		return "", nil
	}
	reply, err := asks.Workflows.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: asks.Namespace(), WorkflowExecution: of, Reason: form.value("reason"), WorkflowTaskFinishEventId: event, RequestId: form.Request,
		Identity: asks.Identity,
	})
	return address(asks.Namespace(), "executions", of.WorkflowId, reply.GetRunId()) + "?said=reset", err
}
