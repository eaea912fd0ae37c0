package client

import (
	"context"
	"iter"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Count returns the number of schedules whose ID begins with prefix.
func (c *Client) Count(ctx context.Context, prefix string) (int, error) {
	reply, err := do[schedule.CountReply](ctx, c, "count", schedule.CountRequest{Prefix: prefix})
	return reply.Count, err
}

// CountMatching returns the number of schedules that a request selects, for example by a query (docs/search.md). See [Client.Count].
func (c *Client) CountMatching(ctx context.Context, req schedule.CountRequest) (schedule.CountReply, error) {
	return do[schedule.CountReply](ctx, c, "count", req)
}

// MatchingTimes returns the times that a schedule gives in a range, regardless of what became of them.
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

// Events iterates over the events that a request selects. It reads a page at a time. An error ends the iteration.
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
