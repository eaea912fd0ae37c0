package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Count returns how many schedules there are whose ID begins with prefix.
func (c *Client) Count(ctx context.Context, prefix string) (int, error) {
	reply, err := do[schedule.CountReply](ctx, c, "count", repeatable, schedule.CountRequest{Prefix: prefix})
	return reply.Count, err
}

// MatchingTimes returns the times a schedule gives in a range, whatever has become of them.
func (c *Client) MatchingTimes(ctx context.Context, req schedule.MatchingTimesRequest) (schedule.TimesReply, error) {
	return do[schedule.TimesReply](ctx, c, "matchingTimes", repeatable, req)
}

// Preview returns when a spec that is not stored would be due.
func (c *Client) Preview(ctx context.Context, req schedule.PreviewRequest) (schedule.TimesReply, error) {
	return do[schedule.TimesReply](ctx, c, "preview", repeatable, req)
}

// History returns one page of events, each once. See [Client.Events].
func (c *Client) History(ctx context.Context, req schedule.HistoryRequest) (schedule.HistoryReply, error) {
	return do[schedule.HistoryReply](ctx, c, "history", repeatable, req)
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
	return do[schedule.RunsReply](ctx, c, "runs", repeatable, req)
}

// Run returns one run of a schedule with what happened to it. It is named by its run ID, workflow ID or request ID.
func (c *Client) Run(ctx context.Context, id, run string) (schedule.RunReply, error) {
	return do[schedule.RunReply](ctx, c, "run", repeatable, schedule.RunRequest{ID: id, Run: run})
}

// watchBuffer is how many events may wait for a reader of Watch before NATS drops some.
const watchBuffer = 65536

// Watch returns the events of a schedule, or with an empty ID of the whole namespace, as they happen, beginning once it
// has returned. It ends with ctx, and before with an error if the reader is too slow or the connection is closed. The
// sequence can be gone through once. What happens while NATS is away does not come: see Events for all there is.
func (c *Client) Watch(ctx context.Context, id string) (iter.Seq2[schedule.Event, error], error) {
	messages := make(chan *nats.Msg, watchBuffer)
	sub, err := c.conn.ChanSubscribe(c.names.Events(schedule.Key{Namespace: c.namespace, ID: id}), messages)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	if err := c.conn.FlushWithContext(ctx); err != nil {
		_ = sub.Unsubscribe()
		return nil, c.explain(ctx, err)
	}
	statuses := sub.StatusChanged(nats.SubscriptionSlowConsumer, nats.SubscriptionClosed)
	return func(yield func(schedule.Event, error) bool) {
		defer func() { _ = sub.Unsubscribe() }()
		seen := newRecent(watchBuffer)
		for {
			select {
			case <-ctx.Done():
				return
			case status := <-statuses:
				yield(schedule.Event{}, schedule.Errorf(schedule.CodeUnavailable, "the watch has ended: %s", status))
				return
			case message := <-messages:
				var event schedule.Event
				if json.Unmarshal(message.Data, &event) != nil || seen.add(event.ID) {
					continue // not an event, or a repeat
				}
				if !yield(event, nil) {
					return
				}
			}
		}
	}, nil
}

// recent remembers the last so many texts.
type recent struct {
	known map[string]bool
	order []string
	next  int
}

func newRecent(size int) *recent {
	return &recent{known: make(map[string]bool), order: make([]string, size)}
}

// add remembers a text, and reports whether it was known.
func (r *recent) add(text string) bool {
	if r.known[text] {
		return true
	}
	delete(r.known, r.order[r.next])
	r.known[text], r.order[r.next] = true, text
	r.next = (r.next + 1) % len(r.order)
	return false
}
