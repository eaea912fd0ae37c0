package client

import (
	"context"
	"iter"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Runs returns one page of the runs of a schedule or of the namespace, newest first. A page may have fewer runs than asked for, or none, even
// if more follow; only an empty NextPageToken means that it is the last page. See [Client.AllRuns].
func (c *Client) Runs(ctx context.Context, req schedule.RunsRequest) (schedule.RunsReply, error) {
	return do[schedule.RunsReply](ctx, c, "runs", req)
}

// AllRuns iterates over the runs that a request selects, newest first. It reads a page at a time, and goes on until the iteration stops or the
// event history ends. A run that begins or ends meanwhile may or may not come, and one of a process whose clock is wrong may come twice;
// every other run comes once. An error ends the iteration.
func (c *Client) AllRuns(ctx context.Context, req schedule.RunsRequest) iter.Seq2[schedule.Run, error] {
	return func(yield func(schedule.Run, error) bool) {
		for {
			page, err := c.Runs(ctx, req)
			if err != nil {
				yield(schedule.Run{}, err)
				return
			}
			for i := range page.Runs {
				if !yield(page.Runs[i], nil) {
					return
				}
			}
			if page.NextPageToken == "" {
				return
			}
			req.PageToken = page.NextPageToken
		}
	}
}

// Run returns one run of a schedule with its events. The run is named by its run ID, workflow ID or request ID.
func (c *Client) Run(ctx context.Context, id, run string) (schedule.RunReply, error) {
	return do[schedule.RunReply](ctx, c, "run", schedule.RunRequest{ID: id, Run: run})
}

// CancelRun asks a run in progress to stop. The code of the run decides how to stop, and the run ends when the code has stopped. CancelRun
// returns as soon as the request is stored; from then on, the request will reach the run.
func (c *Client) CancelRun(ctx context.Context, req schedule.EndRunRequest) (schedule.EndRunReply, error) {
	return do[schedule.EndRunReply](ctx, c, "cancelRun", req)
}

// TerminateRun ends a run in progress at once. For its schedule the run is over, whatever its code still does. It returns when CancelRun
// does: as soon as the request is stored.
func (c *Client) TerminateRun(ctx context.Context, req schedule.EndRunRequest) (schedule.EndRunReply, error) {
	return do[schedule.EndRunReply](ctx, c, "terminateRun", req)
}
