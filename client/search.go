package client

import (
	"context"

	"github.com/carillon-scheduler/carillon/schedule"
)

// CountMatching returns how many schedules a request asks for, as those that a query finds (docs/search.md). See
// [Client.Count].
func (c *Client) CountMatching(ctx context.Context, req schedule.CountRequest) (schedule.CountReply, error) {
	return do[schedule.CountReply](ctx, c, "count", req)
}
