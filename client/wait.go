package client

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// lookAgain is how long a wait relies on what it hears, which may have gaps, before it looks at the history again.
	lookAgain = 10 * time.Second
	// clockSkew is how far apart the clocks of two machines may be.
	clockSkew = time.Minute
)

// TriggerAndWait starts one run now, waits until it has ended, and returns it; its Status says how. It is an error if there is
// no run in the end: ErrFailedPrecondition if the overlap policy, a limit or somebody else prevented it, ErrNotFound if the
// schedule was deleted meanwhile. The end of ctx ends the wait, and not the run; the timeout of the client does not count.
func (c *Client) TriggerAndWait(ctx context.Context, req schedule.TriggerRequest) (schedule.RunReply, error) {
	since := time.Now().Add(-clockSkew)
	trigger, err := c.Trigger(ctx, req)
	if err != nil {
		return schedule.RunReply{}, err
	}
	end, err := c.await(ctx, req.ID, since, func(e *schedule.Event) bool { return e.Source == trigger.TriggerID })
	if err != nil {
		return schedule.RunReply{}, err
	}
	return c.runEnded(ctx, &end)
}

// WaitForRun waits until a run of a schedule has ended, and returns it; its Status says how, and is empty only if the schedule
// was deleted before. The run is named as in [Client.Run]. The end of ctx ends the wait; the timeout of the client does not count.
func (c *Client) WaitForRun(ctx context.Context, id, run string) (schedule.RunReply, error) {
	reply, err := c.Run(ctx, id, run)
	if err != nil || reply.Status != "" || reply.Failure != nil {
		return reply, err
	}
	since := reply.StartTime.Add(-clockSkew)
	end, err := c.await(ctx, id, since, func(e *schedule.Event) bool { return e.RequestID == reply.RequestID })
	if err != nil {
		return reply, err
	}
	return c.runEnded(ctx, &end)
}

// telling are the kinds of events that tell of the beginning and the end of a trigger or a run.
var telling = []schedule.EventKind{
	schedule.EventTriggered, schedule.EventStarted, schedule.EventCompleted, schedule.EventSkipped, schedule.EventDropped,
	schedule.EventBackfillCanceled, schedule.EventDeleted,
}

// vigil looks for the event that ends what somebody waits for.
type vigil struct {
	// meant reports whether an event is about it.
	meant func(*schedule.Event) bool
	// begun says that it has begun: only from then on, the end of the schedule is its end.
	begun bool
}

// ends takes in an event and reports whether it is the one.
func (v *vigil) ends(e *schedule.Event) bool {
	meant := v.meant(e)
	v.begun = v.begun || meant
	switch e.Kind {
	case schedule.EventCompleted, schedule.EventSkipped, schedule.EventDropped, schedule.EventBackfillCanceled:
		return meant
	case schedule.EventDeleted:
		return v.begun
	}
	return false
}

// await waits for the event that ends what is meant. Since is a time before its beginning.
func (c *Client) await(
	ctx context.Context, id string, since time.Time, meant func(*schedule.Event) bool,
) (schedule.Event, error) {
	for {
		event, found, err := c.listen(ctx, id, since, &vigil{meant: meant})
		switch {
		case found:
			return event, nil
		case ctx.Err() != nil:
			return event, c.explain(ctx, ctx.Err())
		case err != nil && (c.conn.IsClosed() || !errors.Is(err, ErrUnavailable)):
			return event, err
		}
	}
}

// listen looks for the event in the history, and in what happens for a while.
func (c *Client) listen(
	ctx context.Context, id string, since time.Time, v *vigil,
) (event schedule.Event, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookAgain)
	defer cancel()
	live, err := c.Watch(ctx, id)
	if err != nil {
		return event, false, err
	}
	past := c.Events(ctx, schedule.HistoryRequest{ID: id, From: since, Kinds: telling})
	if event, found, err = v.find(past); found || err != nil {
		return event, found, err
	}
	v.begun = true
	return v.find(live)
}

func (v *vigil) find(events iter.Seq2[schedule.Event, error]) (schedule.Event, bool, error) {
	for event, err := range events {
		if err != nil {
			return event, false, err
		}
		if v.ends(&event) {
			return event, true, nil
		}
	}
	return schedule.Event{}, false, nil
}

// runEnded returns the run that an event has ended. What is read may be a moment older than the event.
func (c *Client) runEnded(ctx context.Context, end *schedule.Event) (schedule.RunReply, error) {
	switch end.Kind {
	case schedule.EventCompleted:
	case schedule.EventDeleted:
		return schedule.RunReply{}, &schedule.Error{Code: schedule.CodeNotFound, Field: "id",
			Message: "the schedule has been deleted, so it is not known what becomes of the run"}
	case schedule.EventBackfillCanceled:
		return schedule.RunReply{}, schedule.Errorf(schedule.CodeFailedPrecondition, "the trigger was canceled")
	default:
		return schedule.RunReply{}, schedule.Errorf(schedule.CodeFailedPrecondition, "the run was %s: %s", end.Kind, end.Reason)
	}
	run, err := c.Run(ctx, end.ScheduleID, end.RequestID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return run, err
	}
	if run.Status == "" {
		run.Run = schedule.Run{
			WorkflowID: end.WorkflowID, RunID: end.RunID, RequestID: end.RequestID, NominalTime: end.Nominal, DueTime: end.Actual,
			StartTime: run.StartTime, CodeTime: end.CodeTime, CloseTime: end.CloseTime, Status: end.Status, Manual: end.Manual,
			ScheduleID: end.ScheduleID, Source: end.Source, TaskQueue: end.TaskQueue, Identity: run.Identity,
			Attempt: end.Attempt, Worker: end.Worker, Outcome: end.Outcome,
		}
		run.Events = append(run.Events, *end)
	}
	return run, nil
}
