package simulation

import (
	"context"
	"fmt"
	"slices"

	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/subjects"
)

// longHistory is how many events a workflow has that lets itself end.
const longHistory = 150

// signalItself lets some workflows signal themselves whenever they are about to end, as a local activity may. So they end only because such signals are
// refused, or their history is long.
func (w *flowWorker) signalItself(
	ctx context.Context, task *workflowservice.PollWorkflowTaskQueueResponse, completion *workflowservice.RespondWorkflowTaskCompletedRequest,
) {
	of := task.GetWorkflowExecution()
	ends := slices.ContainsFunc(completion.GetCommands(), func(c *commandpb.Command) bool {
		return c.GetCommandType() == enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION
	})
	if !ends || task.GetStartedEventId() > longHistory || diceFor("signals itself "+of.GetRunId()).IntN(6) > 0 {
		return
	}
	name := fmt.Sprintf("itself-%s-%d", of.GetRunId(), task.GetStartedEventId())
	_ = w.request(ctx, subjects.VerbSignal, of.GetWorkflowId(), &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: of.GetWorkflowId(), RunId: of.GetRunId()},
		SignalName: name, RequestId: name,
	}, &workflowservice.SignalWorkflowExecutionResponse{})
}

// checkClosing: only new events keep a workflow from its end. The next attempt is not kept from it by signals: none is accepted while a worker has that.
func (run *executionRun) checkClosing(find func(kind, format string, args ...any)) {
	closing, follow := false, closingRest{}
	for _, event := range run.events {
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED:
			if follow.unhandled && follow.events == 0 {
				find("closing", "it was kept from its end before event %d, and nothing new had come", event.GetEventId())
			}
			if closing = follow.unhandled; follow.refuses && follow.signals > 0 {
				find("closing", "it was kept from its end before event %d by a signal that came when it was about to end", event.GetEventId())
			}
			follow = closingRest{}
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
			cause := event.GetWorkflowTaskFailedEventAttributes().GetCause()
			follow = closingRest{unhandled: cause == enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND}
			follow.refuses = follow.unhandled && closing
			closing = false
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
			closing, follow = false, closingRest{}
		default:
			follow.add(event)
		}
	}
}

// closingRest is what follows on a workflow task that has failed, up to the next one: the events that came meanwhile.
type closingRest struct {
	// unhandled says that the task was to end the workflow, and refuses that the task before it was so, too.
	unhandled, refuses bool
	events, signals    int
}

func (r *closingRest) add(event *historypb.HistoryEvent) {
	r.events++
	if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED {
		r.signals++
	}
}
