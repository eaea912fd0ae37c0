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
	_, events, err := c.TriggerAndFollow(ctx, req)
	if err != nil {
		return schedule.RunReply{}, err
	}
	end, err := last(events)
	if err != nil {
		return schedule.RunReply{}, err
	}
	return c.runEnded(ctx, &end)
}

// TriggerAndFollow starts one run now, and returns what becomes of it, event by event: the last is that of its end, or says why
// there is no run, or that the schedule was deleted. What happens while the connection is away is told afterwards. An error
// ends the events. The end of ctx ends them with an error as well, and not the run; the timeout of the client does not count.
func (c *Client) TriggerAndFollow(
	ctx context.Context, req schedule.TriggerRequest,
) (schedule.TriggerReply, iter.Seq2[schedule.Event, error], error) {
	since := time.Now().Add(-clockSkew) //permit:time.Now the client has no other clock
	reply, err := c.Trigger(ctx, req)
	if err != nil {
		return reply, nil, err
	}
	return reply, c.follow(ctx, req.ID, since, func(e *schedule.Event) bool { return e.Source == reply.TriggerID }), nil
}

// WaitForRun waits until a run of a schedule has ended, and returns it; its Status says how, and is empty only if the schedule
// was deleted before. The run is named as in [Client.Run]. The end of ctx ends the wait; the timeout of the client does not count.
func (c *Client) WaitForRun(ctx context.Context, id, run string) (schedule.RunReply, error) {
	reply, err := c.Run(ctx, id, run)
	if err != nil || reply.Status != "" || reply.Failure != nil {
		return reply, err
	}
	since := reply.StartTime.Add(-clockSkew)
	end, err := last(c.follow(ctx, id, since, func(e *schedule.Event) bool { return e.RequestID == reply.RequestID }))
	if err != nil {
		return reply, err
	}
	return c.runEnded(ctx, &end)
}

// last returns the last of some events.
func last(events iter.Seq2[schedule.Event, error]) (end schedule.Event, err error) {
	for end, err = range events {
		if err != nil {
			return end, err
		}
	}
	return end, nil
}

// vigil looks for the events of what somebody waits for, up to the one that ends it.
type vigil struct {
	// meant reports whether an event is about it.
	meant func(*schedule.Event) bool
	// begun says that it has begun: only from then on, the end of the schedule is its end.
	begun bool
	// told are the events that have been passed on, by ID.
	told map[string]bool
	// over says that there is nothing more to come, or nobody to tell it to.
	over  bool
	yield func(schedule.Event, error) bool
}

// ends takes in an event and reports whether it is the last.
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

// tell passes on those events that are about it, each once.
func (v *vigil) tell(events iter.Seq2[schedule.Event, error]) error {
	for event, err := range events {
		if err != nil {
			return err
		}
		v.over = v.ends(&event)
		if (v.over || v.meant(&event)) && !v.told[event.ID] {
			v.told[event.ID] = true
			v.over = !v.yield(event, nil) || v.over
		}
		if v.over {
			return nil
		}
	}
	return nil
}

// follow returns the events of what is meant, up to the one that ends it. Since is a time before its beginning.
func (c *Client) follow(
	ctx context.Context, id string, since time.Time, meant func(*schedule.Event) bool,
) iter.Seq2[schedule.Event, error] {
	return func(yield func(schedule.Event, error) bool) {
		v := vigil{meant: meant, told: map[string]bool{}, yield: yield}
		for {
			err := c.listen(ctx, id, since, &v)
			switch {
			case v.over:
				return
			case ctx.Err() != nil:
				yield(schedule.Event{}, c.explain(ctx, ctx.Err()))
				return
			case err != nil && (c.conn.IsClosed() || !errors.Is(err, ErrUnavailable)):
				yield(schedule.Event{}, err)
				return
			}
		}
	}
}

// listen tells of what is in the history, and of what happens for a while.
func (c *Client) listen(ctx context.Context, id string, since time.Time, v *vigil) error {
	ctx, cancel := context.WithTimeout(ctx, lookAgain)
	defer cancel()
	live, err := c.Watch(ctx, id)
	if err != nil {
		return err
	}
	if err := v.tell(c.Events(ctx, schedule.HistoryRequest{ID: id, From: since})); err != nil || v.over {
		return err
	}
	v.begun = true
	return v.tell(live)
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
