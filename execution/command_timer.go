package execution

import (
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

func (tx *transition) startTimer(c commandContext) *failedCommand {
	attributes := c.GetStartTimerCommandAttributes()
	bad := enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_START_TIMER_ATTRIBUTES
	switch {
	case attributes.GetTimerId() == "":
		return &failedCommand{bad, "timer ID is not set"}
	case attributes.GetStartToFireTimeout().AsDuration() <= 0:
		return &failedCommand{bad, "a timeout is not positive"}
	}
	if long := tooLong("timer ID", attributes.GetTimerId()); long != "" {
		return &failedCommand{bad, long}
	}
	if _, ok := tx.run.Timers[attributes.GetTimerId()]; ok {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_START_TIMER_DUPLICATE_ID, "timer " + attributes.GetTimerId()}
	}
	tx.writeFor(c, &historypb.TimerStartedEventAttributes{
		TimerId: attributes.GetTimerId(), StartToFireTimeout: attributes.GetStartToFireTimeout(), WorkflowTaskCompletedEventId: c.completed,
	})
	return nil
}

// cancelTimer cancels a timer. If the timer has fired while the task was in progress, the event that says so is taken back: for the workflow,
// the cancellation came first.
func (tx *transition) cancelTimer(c commandContext) *failedCommand {
	id := c.GetCancelTimerCommandAttributes().GetTimerId()
	started := tx.run.Timers[id].Event
	if started == 0 {
		if started = tx.takeBackFired(id); started == 0 {
			return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_CANCEL_TIMER_ATTRIBUTES, "there is no timer " + id}
		}
	}
	tx.writeFor(c, &historypb.TimerCanceledEventAttributes{
		TimerId: id, StartedEventId: started, WorkflowTaskCompletedEventId: c.completed, Identity: c.identity,
	})
	return nil
}

// takeBackFired removes the buffered event of a timer that has fired, and returns the ID of the event that started it; zero if there is none.
func (tx *transition) takeBackFired(id string) int64 {
	for i, event := range tx.run.Buffered {
		fired := event.GetTimerFiredEventAttributes()
		if fired == nil || fired.GetTimerId() != id {
			continue
		}
		tx.run.Buffered = slices.Delete(slices.Clone(tx.run.Buffered), i, i+1)
		if i < tx.arrived {
			tx.arrived--
			tx.part.TakenBack = append(tx.part.TakenBack, int32(i))
		}
		return fired.GetStartedEventId()
	}
	return 0
}
