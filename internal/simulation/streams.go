package simulation

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
)

var _ bus.Streams = (*node)(nil)

// Append implements bus.Streams.
func (n *node) Append(ctx context.Context, msg *nats.Msg) (uint64, error) {
	if msg.Size() > maxPayload {
		return 0, nats.ErrMaxPayload
	}
	copied := &nats.Msg{Subject: msg.Subject, Header: msg.Header, Data: msg.Data}
	return ask(ctx, n, whatPublish, msg.Subject, func(now time.Time) (uint64, error) {
		ack, err := n.world.server.Publish(now, copied)
		if err == nil {
			n.world.executions.journaled(copied, ack.Sequence, now)
		}
		return ack.Sequence, err
	})
}

// Latest implements bus.Streams. The leader answers.
func (n *node) Latest(ctx context.Context, stream, subject string) (bus.Message, error) {
	return n.Last(ctx, stream, subject)
}

// mostRead is how many messages one answer of the model has: few, so that there are often more.
const mostRead = 3

// Subject implements bus.Streams. The replica that answers may not have seen the newest messages.
func (n *node) Subject(ctx context.Context, stream, subject string, from uint64, limit int) ([]bus.Message, error) {
	return ask(ctx, n, whatGet, subject+" from "+strconv.FormatUint(from, 10), func(time.Time) (found []bus.Message, err error) {
		seen := n.world.seen(stream)
		all := n.world.server.OfSubject(stream, subject)
		if strings.Contains(subject, "*") {
			all = n.world.server.Messages(stream, subject)
		}
		for _, m := range all {
			if m.Sequence >= from && m.Sequence <= seen && len(found) < min(limit, mostRead) {
				found = append(found, bus.Message{Subject: m.Subject, Sequence: m.Sequence, Header: m.Header, Data: m.Data})
			}
		}
		return found, nil
	})
}

// At implements bus.Streams. The replica that answers may not have seen the newest messages.
func (n *node) At(ctx context.Context, stream string, sequence uint64) (bus.Message, error) {
	return ask(ctx, n, whatGet, stream+" at "+strconv.FormatUint(sequence, 10), func(time.Time) (bus.Message, error) {
		if sequence <= n.world.seen(stream) {
			for _, m := range n.world.server.Messages(stream, ">") {
				if m.Sequence == sequence {
					return bus.Message{Subject: m.Subject, Sequence: m.Sequence, Header: m.Header, Data: m.Data}, nil
				}
			}
		}
		return bus.Message{}, bus.ErrNone
	})
}

// Floor implements bus.Streams.
func (n *node) Floor(ctx context.Context, stream, consumer string) (uint64, error) {
	return streams{n}.Floor(ctx, stream, consumer)
}

// Counts implements bus.Streams.
func (n *node) Counts(ctx context.Context, stream, filter string) (map[string]uint64, error) {
	return ask(ctx, n, whatBacklog, stream+" "+filter, func(time.Time) (map[string]uint64, error) {
		counts := map[string]uint64{}
		for _, m := range n.world.server.Messages(stream, filter) {
			counts[m.Subject]++
		}
		return counts, nil
	})
}

// Consumer implements bus.Streams.
func (n *node) Consumer(ctx context.Context, stream string, config jetstream.ConsumerConfig) (bus.Fetcher, error) {
	err := n.do(ctx, "attach", stream+" "+config.Durable, func(time.Time) error {
		n.world.server.AddConsumer(stream, config)
		return nil
	})
	return fetcher{n, consumerName{stream, config.Durable}}, err
}

// fetcher fetches the messages of a consumer.
type fetcher struct {
	node     *node
	consumer consumerName
}

// Fetch implements bus.Fetcher.
func (f fetcher) Fetch(count int, wait time.Duration, each func(jetstream.Msg)) error {
	p := &pull{node: f.node, consumer: f.consumer, stopped: make(chan struct{}), left: count, bounded: true}
	f.node.note("pull "+f.consumer.name, func() {
		if !f.node.world.server.HasConsumer(f.consumer.stream, f.consumer.name) {
			p.end()
			return
		}
		f.node.begin(p)
	})
	defer p.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), max(wait, time.Millisecond)) //permit:context.Background the limit is wait
	defer cancel()
	for range count {
		msg, err := p.Next(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return nil
		case err != nil:
			return err
		}
		each(msg)
	}
	return nil
}
