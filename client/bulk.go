package client

import (
	"context"
	"iter"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// StartBulk starts a bulk operation and returns once it is stored: it goes on in the background, whatever becomes of the
// client. An empty RequestID is replaced by a unique one. For a dry run nothing is started.
func (c *Client) StartBulk(ctx context.Context, req schedule.StartBulkRequest) (schedule.StartBulkReply, error) {
	identify(&req.RequestID)
	return doBulk[schedule.StartBulkReply](ctx, c, "start", req)
}

// DescribeBulk returns how far a bulk operation has come.
func (c *Client) DescribeBulk(ctx context.Context, jobID string) (schedule.BulkDescription, error) {
	return doBulk[schedule.BulkDescription](ctx, c, "describe", schedule.BulkRequest{JobID: jobID})
}

// CancelBulk ends a bulk operation; what it has done stays done. One that is over answers CodeFailedPrecondition, unless it
// was canceled.
func (c *Client) CancelBulk(ctx context.Context, jobID string) (schedule.BulkDescription, error) {
	return doBulk[schedule.BulkDescription](ctx, c, "cancel", schedule.BulkRequest{JobID: jobID})
}

// ListBulk returns one page of bulk operations, the newest first.
func (c *Client) ListBulk(ctx context.Context, req schedule.ListBulkRequest) (schedule.ListBulkReply, error) {
	return doBulk[schedule.ListBulkReply](ctx, c, "list", req)
}

// AllBulk goes through the bulk operations of the namespace, the newest first. An error is the last thing that comes.
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
