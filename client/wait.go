package client

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// lookAgain is how long a wait relies on live events, which may have gaps, before it reads the history again.
	lookAgain = 10 * time.Second
	// clockSkew is how far apart the clocks of two machines may be.
	clockSkew = time.Minute
)

// TriggerAndWait starts one run now, waits until it has ended, and returns it; its Status says how it ended. If no run results, it returns
// an error: ErrFailedPrecondition if the overlap policy, a limit or somebody else prevented the run, ErrNotFound if the schedule was
// deleted meanwhile. The end of ctx ends the wait, but not the run. The client's timeout does not limit the wait.
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

// TriggerAndFollow starts one run now and returns its events. The last event is the end of the run, the reason why there is no run, or the
// deletion of the schedule. Events that happen while the connection is down come afterwards. An error ends the sequence. The end of ctx
// ends it with an error too, but does not end the run. The client's timeout does not limit it.
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

// WaitForRun waits until a run of a schedule has ended, and returns it. Its Status says how it ended; it is empty only if the schedule was
// deleted first. The run is named as in [Client.Run]. The end of ctx ends the wait. The client's timeout does not limit it.
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

// last returns the last event of a sequence.
func last(events iter.Seq2[schedule.Event, error]) (end schedule.Event, err error) {
	for end, err = range events {
		if err != nil {
			return end, err
		}
	}
	return end, nil
}

// vigil collects the events that a caller waits for, up to the event that ends the wait.
type vigil struct {
	// meant reports whether an event belongs to what the caller waits for.
	meant func(*schedule.Event) bool
	// begun says that one of these events has come, or that the history has been read. Only after that, a deletion of the schedule ends
	// the wait: an earlier one may be about an earlier schedule of the same ID.
	begun bool
	// told are the IDs of the events that have been passed on.
	told map[string]bool
	// over says that nothing more will come, or that the reader has stopped.
	over  bool
	yield func(schedule.Event, error) bool
}

// ends processes an event and reports whether it is the last.
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

// tell passes on the events that the caller waits for, each once.
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

// follow returns the events that meant selects, up to the one that ends them. since is a time before the first of them.
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

// listen passes on the events in the history, and then live events for a while.
func (c *Client) listen(ctx context.Context, id string, since time.Time, v *vigil) error {
	ctx, cancel := context.WithTimeout(ctx, lookAgain)
	defer cancel()
	live, err := c.hear(ctx, id, nil) // the history has the same events, only later
	if err != nil {
		return err
	}
	if err := v.tell(c.Events(ctx, schedule.HistoryRequest{ID: id, From: since})); err != nil || v.over {
		return err
	}
	v.begun = true
	return v.tell(live)
}

// runEnded returns the run that an event ended. What it reads may be slightly older than the event; it corrects that.
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
			Attempt: end.Attempt, Worker: end.Worker, ActionKind: end.ActionKind, Outcome: end.Outcome,
		}
		run.Events = append(run.Events, *end)
	}
	return run, nil
}
