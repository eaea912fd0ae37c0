package client

import (
	"context"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Runs returns the newest runs of a schedule or of the namespace, the newest first.
func (c *Client) Runs(ctx context.Context, req schedule.RunsRequest) (schedule.RunsReply, error) {
	return do[schedule.RunsReply](ctx, c, "runs", req)
}

// Run returns one run of a schedule with what happened to it. It is named by its run ID, workflow ID or request ID.
func (c *Client) Run(ctx context.Context, id, run string) (schedule.RunReply, error) {
	return do[schedule.RunReply](ctx, c, "run", schedule.RunRequest{ID: id, Run: run})
}

// CancelRun asks a run in progress to stop; its code decides how, and the run ends when it has. It returns as soon as the
// request is stored, from when on it will reach the run.
func (c *Client) CancelRun(ctx context.Context, req schedule.EndRunRequest) (schedule.EndRunReply, error) {
	return do[schedule.EndRunReply](ctx, c, "cancelRun", req)
}

// TerminateRun ends a run in progress at once: it is over for its schedule, whatever its code still does. It returns as
// CancelRun does.
func (c *Client) TerminateRun(ctx context.Context, req schedule.EndRunRequest) (schedule.EndRunReply, error) {
	return do[schedule.EndRunReply](ctx, c, "terminateRun", req)
}
