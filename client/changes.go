package client

import (
	"context"

	"github.com/carillon-scheduler/carillon/schedule"
)

// All of these replace an empty RequestID by a unique one, as Create does.

// Update replaces spec, action, policies and state of a schedule, and describes it. With a ConflictToken it is refused
// with CodeFailedPrecondition if the schedule has been changed since the token was handed out.
func (c *Client) Update(ctx context.Context, req schedule.UpdateRequest) (schedule.Description, error) {
	identify(&req.RequestID)
	return do[schedule.Description](ctx, c, "update", req)
}

// Patch does several things to a schedule, all of them or none, and describes it.
func (c *Client) Patch(ctx context.Context, req schedule.PatchRequest) (schedule.Description, error) {
	identify(&req.RequestID)
	return do[schedule.Description](ctx, c, "patch", req)
}

// Skip asks that due times be passed over. The reply says which will be.
func (c *Client) Skip(ctx context.Context, req schedule.SkipRequest) (schedule.SkipReply, error) {
	identify(&req.RequestID)
	return do[schedule.SkipReply](ctx, c, "skip", req)
}

// Unskip takes back what Skip has asked for. The reply says which times will still be passed over.
func (c *Client) Unskip(ctx context.Context, req schedule.UnskipRequest) (schedule.SkipReply, error) {
	identify(&req.RequestID)
	return do[schedule.SkipReply](ctx, c, "unskip", req)
}

// Backfill starts a run for every time of the spec in a range. The reply names the backfill.
func (c *Client) Backfill(ctx context.Context, req schedule.BackfillRequest) (schedule.BackfillReply, error) {
	identify(&req.RequestID)
	return do[schedule.BackfillReply](ctx, c, "backfill", req)
}

// CancelBackfill ends a backfill: what it has in the buffer is dropped, its runs go on.
func (c *Client) CancelBackfill(ctx context.Context, req schedule.CancelBackfillRequest) error {
	identify(&req.RequestID)
	_, err := do[schedule.Empty](ctx, c, "cancelBackfill", req)
	return err
}
