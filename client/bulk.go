package client

import (
	"context"
	"iter"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// StartBulk starts a bulk operation and returns once it is stored. The operation continues in the background, even if the client ends. An
// empty RequestID is replaced by a unique one. A dry run starts nothing.
func (c *Client) StartBulk(ctx context.Context, req schedule.StartBulkRequest) (schedule.StartBulkReply, error) {
	identify(&req.RequestID)
	return doBulk[schedule.StartBulkReply](ctx, c, "start", req)
}

// DescribeBulk returns a bulk operation and its progress.
func (c *Client) DescribeBulk(ctx context.Context, jobID string) (schedule.BulkDescription, error) {
	return doBulk[schedule.BulkDescription](ctx, c, "describe", schedule.BulkRequest{JobID: jobID})
}

// CancelBulk ends a bulk operation; its changes so far remain. If the operation has ended otherwise than by a cancel, the error is
// CodeFailedPrecondition.
func (c *Client) CancelBulk(ctx context.Context, jobID string) (schedule.BulkDescription, error) {
	return doBulk[schedule.BulkDescription](ctx, c, "cancel", schedule.BulkRequest{JobID: jobID})
}

// ListBulk returns one page of bulk operations, the newest first.
func (c *Client) ListBulk(ctx context.Context, req schedule.ListBulkRequest) (schedule.ListBulkReply, error) {
	return doBulk[schedule.ListBulkReply](ctx, c, "list", req)
}

// AllBulk iterates over the bulk operations of the namespace, newest first. An error ends the iteration.
func (c *Client) AllBulk(ctx context.Context) iter.Seq2[schedule.BulkDescription, error] {
	return func(yield func(schedule.BulkDescription, error) bool) {
		var req schedule.ListBulkRequest
		for {
			page, err := c.ListBulk(ctx, req)
			if err != nil {
				yield(schedule.BulkDescription{}, err)
				return
			}
			for _, operation := range page.Operations {
				if !yield(operation, nil) {
					return
				}
			}
			if req.PageToken = page.NextPageToken; req.PageToken == "" {
				return
			}
		}
	}
}

func doBulk[Reply any](ctx context.Context, c *Client, verb string, request any) (Reply, error) {
	return call[Reply](ctx, c, c.names.API(c.namespace, subjects.ThingBulk, verb), request)
}
