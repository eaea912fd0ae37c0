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
//
// If NATS does not let the user hear these events, Watch fails where the [Config] has Refusals, and hears nothing otherwise.
func (c *Client) Watch(ctx context.Context, id string) (iter.Seq2[schedule.Event, error], error) {
	return c.hear(ctx, id, c.refusals)
}

// hear is Watch, which fails for lack of a permission if there are refusals.
func (c *Client) hear(ctx context.Context, id string, refusals *Refusals) (iter.Seq2[schedule.Event, error], error) {
	w := watching{messages: make(chan *nats.Msg, watchBuffer), refused: make(chan error, 1)}
	subject := c.names.Events(schedule.Key{Namespace: c.namespace, ID: id})
	forget, err := refusals.await(c.conn, subject, w.refuse)
	if err != nil {
		return nil, err
	}
	sub, err := c.conn.ChanSubscribe(subject, w.messages)
	if err != nil {
		forget()
		return nil, c.explain(ctx, err)
	}
	w.slow, w.closed = sub.StatusChanged(nats.SubscriptionSlowConsumer), c.conn.StatusChanged(nats.CLOSED)
	release := func() {
		forget()
		_ = sub.Unsubscribe() // fails if the connection is closed; then the subscription is gone as well
		c.conn.RemoveStatusListener(w.closed)
	}
	if err = c.flush(ctx); err == nil && refusals != nil {
		err = refusalIn(c.conn.LastError(), "Subscription", subject) // NATS refuses before it answers the flush
	}
	if err != nil {
		release()
		return nil, err
	}
	keep := context.AfterFunc(ctx, release) // for the case that nobody reads
	return func(yield func(schedule.Event, error) bool) {
		defer release()
		defer keep()
		w.watch(ctx, yield)
	}, nil
}

// watching is what a watch hears of its subscription.
type watching struct {
	messages chan *nats.Msg
	refused  chan error
	slow     <-chan nats.SubStatus
	closed   chan nats.Status
}

// refuse ends the watch with an error. Only the first one counts.
func (w *watching) refuse(err error) {
	select {
	case w.refused <- err:
	default:
	}
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
func (w *watching) watch(ctx context.Context, yield func(schedule.Event, error) bool) {
	seen := recent{known: map[string]struct{}{}}
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-w.refused:
			yield(schedule.Event{}, err)
			return
		case _, lost := <-w.slow:
			if ctx.Err() == nil {
				yield(schedule.Event{}, watchEnded(lost))
			}
			return
		case <-w.closed:
			if ctx.Err() == nil {
				yield(schedule.Event{}, watchEnded(false))
			}
			return
		case message := <-w.messages:
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
