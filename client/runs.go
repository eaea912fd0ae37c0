package client

import (
	"context"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Runs returns the newest runs of a schedule or of the namespace, newest first.
func (c *Client) Runs(ctx context.Context, req schedule.RunsRequest) (schedule.RunsReply, error) {
	return do[schedule.RunsReply](ctx, c, "runs", req)
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
