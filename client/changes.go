package client

import (
	"context"

	"github.com/carillon-scheduler/carillon/schedule"
)

// All of these replace an empty RequestID by a unique one, as Create does.

// Update replaces spec, action, policies and state of a schedule, and describes it. If the request has a ConflictToken and the schedule has
// changed since the token was issued, the error is CodeFailedPrecondition.
func (c *Client) Update(ctx context.Context, req schedule.UpdateRequest) (schedule.Description, error) {
	identify(&req.RequestID)
	return do[schedule.Description](ctx, c, "update", req)
}

// Patch does several things to a schedule, all of them or none, and describes it.
func (c *Client) Patch(ctx context.Context, req schedule.PatchRequest) (schedule.Description, error) {
	identify(&req.RequestID)
	return do[schedule.Description](ctx, c, "patch", req)
}

// Skip asks to skip due times. The reply lists all times that will be skipped.
func (c *Client) Skip(ctx context.Context, req schedule.SkipRequest) (schedule.SkipReply, error) {
	identify(&req.RequestID)
	return do[schedule.SkipReply](ctx, c, "skip", req)
}

// Unskip undoes a Skip. The reply lists the times that will still be skipped.
func (c *Client) Unskip(ctx context.Context, req schedule.UnskipRequest) (schedule.SkipReply, error) {
	identify(&req.RequestID)
	return do[schedule.SkipReply](ctx, c, "unskip", req)
}

// Backfill starts a run for every time of the spec in a range. The reply names the backfill.
func (c *Client) Backfill(ctx context.Context, req schedule.BackfillRequest) (schedule.BackfillReply, error) {
	identify(&req.RequestID)
	return do[schedule.BackfillReply](ctx, c, "backfill", req)
}

// CancelBackfill ends a backfill. Its buffered starts are dropped; its runs continue.
func (c *Client) CancelBackfill(ctx context.Context, req schedule.CancelBackfillRequest) error {
	identify(&req.RequestID)
	_, err := do[schedule.Empty](ctx, c, "cancelBackfill", req)
	return err
}
