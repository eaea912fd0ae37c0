package simulation

import (
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

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
