package client

import (
	"context"
	"iter"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Count returns how many schedules there are whose ID begins with prefix.
func (c *Client) Count(ctx context.Context, prefix string) (int, error) {
	reply, err := do[schedule.CountReply](ctx, c, "count", schedule.CountRequest{Prefix: prefix})
	return reply.Count, err
}

// MatchingTimes returns the times a schedule gives in a range, whatever has become of them.
func (c *Client) MatchingTimes(ctx context.Context, req schedule.MatchingTimesRequest) (schedule.TimesReply, error) {
	return do[schedule.TimesReply](ctx, c, "matchingTimes", req)
}

// Preview returns when a spec that is not stored would be due.
func (c *Client) Preview(ctx context.Context, req schedule.PreviewRequest) (schedule.TimesReply, error) {
	return do[schedule.TimesReply](ctx, c, "preview", req)
}

// History returns one page of events, each once. See [Client.Events].
func (c *Client) History(ctx context.Context, req schedule.HistoryRequest) (schedule.HistoryReply, error) {
	return do[schedule.HistoryReply](ctx, c, "history", req)
}

// Events goes through the events that a request asks for, a page at a time. An error is the last thing that comes.
func (c *Client) Events(ctx context.Context, req schedule.HistoryRequest) iter.Seq2[schedule.Event, error] {
	return func(yield func(schedule.Event, error) bool) {
		for {
			page, err := c.History(ctx, req)
			if err != nil {
				yield(schedule.Event{}, err)
				return
			}
			for _, event := range page.Events {
				if !yield(event, nil) {
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

// Runs returns the newest runs of a schedule or of the namespace, the newest first.
func (c *Client) Runs(ctx context.Context, req schedule.RunsRequest) (schedule.RunsReply, error) {
	return do[schedule.RunsReply](ctx, c, "runs", req)
}

// Run returns one run of a schedule with what happened to it. It is named by its run ID, workflow ID or request ID.
func (c *Client) Run(ctx context.Context, id, run string) (schedule.RunReply, error) {
	return do[schedule.RunReply](ctx, c, "run", schedule.RunRequest{ID: id, Run: run})
}
