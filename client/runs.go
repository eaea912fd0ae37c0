package client

import (
	"context"

	"github.com/carillon-scheduler/carillon/schedule"
)

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
