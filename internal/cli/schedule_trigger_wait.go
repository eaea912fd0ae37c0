package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

// errStopped ends an interrupted wait. It is an error so that a script does not mistake it for success.
var errStopped = errors.New("stopped waiting; what was asked for goes on")

// triggerAndWait starts a run and shows what happens to it. For programs, the answer is the event that ended the trigger.
func (a *app) triggerAndWait(
	ctx context.Context, api *client.Client, output outputFlag, request schedule.TriggerRequest,
) error {
	reply, events, err := api.TriggerAndFollow(ctx, request)
	if err != nil {
		return err
	}
	people := io.Discard
	if output.forPeople() {
		people = a.env.Stdout
	}
	if err := triggered(people, reply); err != nil {
		return err
	}
	last, err := tell(people, events)
	if ctx.Err() != nil {
		return errStopped
	}
	if err != nil {
		return err
	}
	if err := a.print(output, last, func(w io.Writer) error { return printOutcome(w, &last) }); err != nil {
		return err
	}
	return failureOf(&last)
}

// tell prints what happens to a trigger, and returns the event that ended it.
func tell(w io.Writer, events iter.Seq2[schedule.Event, error]) (last schedule.Event, err error) {
	for last, err = range events {
		if err != nil {
			return last, err
		}
		if text := triggerText(&last); text != "" {
			if _, err := fmt.Fprintln(w, text); err != nil {
				return last, err
			}
		}
	}
	return last, nil
}

// triggerText describes an intermediate event; it is empty for events that people need not see.
func triggerText(event *schedule.Event) string {
	switch event.Kind {
	case schedule.EventDeferred:
		return fmt.Sprintf("waits for a run in progress to end (%s)", event.Overlap)
	case schedule.EventRetried:
		return "could not be started, and will be tried again: " + event.Reason
	case schedule.EventStarted:
		return "started " + event.WorkflowID
	case schedule.EventNoWorker:
		return "no worker serves the task queue " + event.TaskQueue
	}
	return ""
}

// printOutcome prints the result of a completed run. A failure is left to failureOf.
func printOutcome(w io.Writer, event *schedule.Event) error {
	if event.Kind != schedule.EventCompleted || event.Status != schedule.StatusCompleted {
		return nil
	}
	line := "completed"
	if !event.CodeTime.IsZero() && !event.CloseTime.IsZero() {
		line += " in " + render.Millis(event.CloseTime.Sub(event.CodeTime))
	}
	if event.Attempt > 1 {
		line += fmt.Sprintf(", attempt %d", event.Attempt)
	}
	switch {
	case len(event.Result) > 0:
		line += ": " + string(event.Result)
	case event.ResultBytes > 0:
		line += fmt.Sprintf(": a result of %d bytes, more than is kept in the history", event.ResultBytes)
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// failureOf returns an error if the trigger did not lead to a completed run.
func failureOf(event *schedule.Event) error {
	switch event.Kind {
	case schedule.EventCompleted:
		if event.Status == schedule.StatusCompleted {
			return nil
		}
		return errors.New("the run has ended as " + string(event.Status) + failureText(event.Failure))
	case schedule.EventDeleted:
		return errors.New("the schedule has been deleted, so it is not known what becomes of the run")
	case schedule.EventBackfillCanceled:
		return fmt.Errorf("the trigger was canceled%s", by(event.Identity))
	}
	return fmt.Errorf("the run was %s: %s", event.Kind, event.Reason)
}

func failureText(failure *schedule.Failure) string {
	switch {
	case failure == nil:
		return ""
	case failure.Type == "":
		return ": " + failure.Message
	}
	return fmt.Sprintf(": %s (%s)", failure.Message, failure.Type)
}
