package client

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/schedule"
)

// watchBuffer is how many events may wait for a reader of Watch before NATS drops some. It is also how many event IDs are remembered.
const watchBuffer = 1 << 16

// Watch returns the live events of a schedule, or of the whole namespace if the ID is empty. It hears events from before it returns. The
// sequence ends with ctx. It ends earlier, with an error, if its reader is too slow or the connection is closed. It can be iterated once.
// Events that happen while the connection is down are missing; [Client.Events] has all events.
func (c *Client) Watch(ctx context.Context, id string) (iter.Seq2[schedule.Event, error], error) {
	messages := make(chan *nats.Msg, watchBuffer)
	sub, err := c.conn.ChanSubscribe(c.names.Events(schedule.Key{Namespace: c.namespace, ID: id}), messages)
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	slow, closed := sub.StatusChanged(nats.SubscriptionSlowConsumer), c.conn.StatusChanged(nats.CLOSED)
	release := func() {
		_ = sub.Unsubscribe() // fails if the connection is closed; then the subscription is gone as well
		c.conn.RemoveStatusListener(closed)
	}
	if err := c.flush(ctx); err != nil {
		release()
		return nil, err
	}
	keep := context.AfterFunc(ctx, release) // for the case that nobody reads
	return func(yield func(schedule.Event, error) bool) {
		defer release()
		defer keep()
		watch(ctx, messages, slow, closed, yield)
	}, nil
}

// flush waits until the server has received what was sent.
func (c *Client) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return c.explain(ctx, err) // nats.go may flush even with an ended context if the server is quick
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if err := c.conn.FlushWithContext(ctx); err != nil {
		return c.explain(ctx, err)
	}
	return nil
}

// watch yields events until the context, the subscription or the reader ends.
func watch(
	ctx context.Context, messages <-chan *nats.Msg, slow <-chan nats.SubStatus, closed <-chan nats.Status,
	yield func(schedule.Event, error) bool,
) {
	seen := recent{known: map[string]struct{}{}}
	for {
		select {
		case <-ctx.Done():
			return
		case _, lost := <-slow:
			if ctx.Err() == nil {
				yield(schedule.Event{}, watchEnded(lost))
			}
			return
		case <-closed:
			if ctx.Err() == nil {
				yield(schedule.Event{}, watchEnded(false))
			}
			return
		case message := <-messages:
			var event schedule.Event
			if json.Unmarshal(message.Data, &event) != nil || !seen.add(event.ID) {
				continue // not an event of this version, or a repeat
			}
			if !yield(event, nil) {
				return
			}
		}
	}
}

func watchEnded(lost bool) error {
	if lost {
		return schedule.Errorf(schedule.CodeUnavailable,
			"the watch has ended: events came faster than they were read, and some are lost to it")
	}
	return schedule.Errorf(schedule.CodeUnavailable, "the watch has ended: the connection is closed")
}

// recent remembers the IDs of the newest events, to drop repeats.
type recent struct {
	known map[string]struct{}
	ring  []string
	next  int
}

// add remembers an ID and reports whether it was new. An empty ID is always new.
func (r *recent) add(id string) bool {
	if id == "" {
		return true
	}
	if _, known := r.known[id]; known {
		return false
	}
	r.known[id] = struct{}{}
	if len(r.ring) < watchBuffer {
		r.ring = append(r.ring, id)
		return true
	}
	delete(r.known, r.ring[r.next])
	r.ring[r.next] = id
	r.next = (r.next + 1) % watchBuffer
	return true
}
