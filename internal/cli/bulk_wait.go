package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// bulkPoll is the pause between two looks at the progress of a bulk operation.
	bulkPoll = 500 * time.Millisecond
	// shownFailures is how many failures are printed at the end of a wait.
	shownFailures = 10
)

// waitForBulk shows the progress of a bulk operation until it is over. It fails if one of the schedules has failed. For programs it prints
// the description at the end.
func (a *app) waitForBulk(ctx context.Context, api *client.Client, output outputFlag, started schedule.StartBulkReply) error {
	meter := newMeter(io.Discard, false)
	if output.forPeople() {
		meter = newMeter(a.env.Stdout, isTerminal(a.env.Stdout))
	}
	defer meter.end()
	operation, err := followBulk(ctx, api, started.JobID, func(now *schedule.BulkDescription) error {
		meter.draw(render.BulkMeter(now), bulkSettled(now), now.Total)
		return nil
	})
	if err != nil {
		return err
	}
	meter.end()
	if err := a.print(output, operation, func(w io.Writer) error { return printFailures(w, &operation) }); err != nil {
		return err
	}
	err = bulkError(&operation)
	if operation.Failed > len(operation.Failures) || operation.Failed > shownFailures {
		return withHint(err, "carillon bulk watch %s shows all failures", operation.JobID)
	}
	return err
}

// followBulk polls a bulk operation until it is over, and calls a function with what it reads. The last call gets the finished operation.
// Polling misses nothing while NATS is away.
func followBulk(
	ctx context.Context, api *client.Client, jobID string, show func(*schedule.BulkDescription) error,
) (schedule.BulkDescription, error) {
	ticker := time.NewTicker(bulkPoll)
	defer ticker.Stop()
	for blind := 0; ; {
		operation, err := api.DescribeBulk(ctx, jobID)
		if err == nil {
			blind = 0
			err = show(&operation)
		}
		switch {
		case ctx.Err() != nil:
			return operation, errStopped
		case err == nil && operation.Ended():
			return operation, nil
		case err != nil && (blind == maxBlindPolls || schedule.CodeOf(err) != schedule.CodeUnavailable):
			return operation, err
		case err != nil:
			blind++
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

func bulkSettled(d *schedule.BulkDescription) int { return d.Done + d.Skipped + d.Failed }

// printFailures says how a bulk operation has ended.
func printFailures(w io.Writer, operation *schedule.BulkDescription) error {
	newest := operation.Failures[max(0, len(operation.Failures)-shownFailures):]
	if err := render.BulkFailures(w, newest); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", operation.Status, render.BulkProgress(operation))
	return err
}

// bulkError turns the outcome of a finished bulk operation into an error, and so into the exit code.
func bulkError(operation *schedule.BulkDescription) error {
	switch {
	case operation.Status == schedule.BulkFailed:
		return fmt.Errorf("the bulk operation could not go on: %s", operation.Error)
	case operation.Status == schedule.BulkCanceled:
		return fmt.Errorf("the bulk operation was canceled%s after %s", by(operation.CanceledBy),
			plural(bulkSettled(operation), "schedule"))
	case operation.Failed > 0:
		return fmt.Errorf("%s failed", plural(operation.Failed, "schedule"))
	}
	return nil
}
