package bus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// pullBatch is how many messages at most wait in the client.
	pullBatch = 256
	// pullHeartbeat is how often NATS says that a pull is still alive.
	pullHeartbeat = 5 * time.Second
	// askAgain is how long Next waits before it makes sure that nats.go has asked for messages.
	askAgain = 100 * time.Millisecond
)

// NATS is the bus of a connection to NATS.
type NATS struct {
	js        jetstream.JetStream
	publisher *Publisher
	reader    *Reader
	streams   sync.Map // of jetstream.Stream, by name
	singles   sync.Map // of *Single, by name of the stream
}

var _ Bus = (*NATS)(nil)

// New returns the bus of a connection. The caller must close it.
func New(js jetstream.JetStream) *NATS {
	return &NATS{js: js, publisher: NewPublisher(js), reader: NewReader(js)}
}

// Or returns b if it is set, else a new bus for js.
func Or(b Bus, js jetstream.JetStream) Bus {
	if b != nil {
		return b
	}
	return New(js)
}

// Publish implements [Bus].
func (b *NATS) Publish(ctx context.Context, msg *nats.Msg) error {
	_, err := b.PublishOnce(ctx, msg)
	return err
}

// PublishOnce implements [Bus].
func (b *NATS) PublishOnce(ctx context.Context, msg *nats.Msg) (repeated bool, err error) {
	sequence, repeated, err := b.publisher.PublishOnce(ctx, msg)
	if err == nil {
		b.anchor(msg.Subject, sequence)
	}
	return repeated, err
}

// PublishAll implements [Bus].
func (b *NATS) PublishAll(ctx context.Context, msgs []*nats.Msg) error {
	return b.publisher.PublishAll(ctx, msgs)
}

// Last implements [Bus].
func (b *NATS) Last(ctx context.Context, stream, subject string) (Message, error) {
	return LeaderLast(ctx, b.js, stream, subject)
}

// Next implements [Bus].
func (b *NATS) Next(ctx context.Context, stream, subject string, from uint64) (Message, error) {
	return LeaderNext(ctx, b.js, stream, subject, from)
}

// Remove implements [Bus].
func (b *NATS) Remove(ctx context.Context, stream string, sequence uint64) error {
	ctx, cancel := ForAnswer(ctx)
	defer cancel()
	s, err := b.handle(ctx, stream)
	if err != nil {
		return err
	}
	err = s.DeleteMsg(ctx, sequence)
	if !errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return err
	}
	// The server gives the reason only in the text of the error.
	now, gone := b.js.Stream(ctx, stream)
	if gone != nil {
		return gone
	}
	if _, missing := now.GetMsg(ctx, sequence); errors.Is(missing, jetstream.ErrMsgNotFound) {
		return nil
	}
	return err
}

// handle returns the handle of a stream for purges and removals, which need only the stream's name. It asks NATS once for each stream.
func (b *NATS) handle(ctx context.Context, name string) (jetstream.Stream, error) {
	if known, ok := b.streams.Load(name); ok {
		return known.(jetstream.Stream), nil
	}
	s, err := b.js.Stream(ctx, name)
	if err == nil {
		b.streams.Store(name, s)
	}
	return s, err
}

// Purge implements [Bus].
func (b *NATS) Purge(ctx context.Context, stream, subject string) error {
	ctx, cancel := ForAnswer(ctx)
	defer cancel()
	s, err := b.handle(ctx, stream)
	if err != nil {
		return err
	}
	return s.Purge(ctx, jetstream.WithPurgeSubject(subject))
}

// Backlog implements [Bus].
func (b *NATS) Backlog(ctx context.Context, stream, consumer string) (int, error) {
	ctx, cancel := ForAnswer(ctx)
	defer cancel()
	c, err := b.js.Consumer(ctx, stream, consumer) // asks the leader of the consumer
	if err != nil {
		return 0, err
	}
	info := c.CachedInfo()
	return int(info.NumPending) + info.NumAckPending, nil
}

// Delivered implements [Bus].
func (b *NATS) Delivered(ctx context.Context, stream, consumer string) (uint64, error) {
	ctx, cancel := ForAnswer(ctx)
	defer cancel()
	c, err := b.js.Consumer(ctx, stream, consumer) // asks the leader of the consumer
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return c.CachedInfo().Delivered.Stream, nil
}

// Subjects implements [Bus].
func (b *NATS) Subjects(ctx context.Context, stream, filter string) (int, error) {
	return LeaderSubjects(ctx, b.js, stream, filter)
}

// Pull implements [Bus].
func (b *NATS) Pull(ctx context.Context, stream string, consumer jetstream.ConsumerConfig) (Deliveries, error) {
	ctx, cancel := ForAnswer(ctx)
	defer cancel()
	// Do not update an existing consumer: an operator may have tuned it.
	c, err := b.js.Consumer(ctx, stream, consumer.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		c, err = b.js.CreateConsumer(ctx, stream, consumer)
	}
	if err != nil {
		return nil, err
	}
	messages, err := c.Messages(jetstream.PullMaxMessages(pullBatch), jetstream.PullHeartbeat(pullHeartbeat))
	if err != nil {
		return nil, err
	}
	return pulled{messages, b}, nil
}

// pulled is a jetstream.MessagesContext whose Next takes a context.
type pulled struct {
	jetstream.MessagesContext
	bus *NATS
}

// Next implements [Deliveries]. It calls Next of nats.go again if no message has come for a moment. The reason is a race in nats.go:
//
//  1. nats.go asks for more messages when a call begins and when a message arrives, but not while an earlier request is being sent.
//  2. In a burst, that sending may take until all the messages of the earlier request have arrived.
//  3. The call then waits for messages that nobody has asked for, until two heartbeats are missing.
func (p pulled) Next(ctx context.Context) (jetstream.Msg, error) {
	msg, err := p.MessagesContext.Next(jetstream.NextMaxWait(askAgain))
	if errors.Is(err, nats.ErrTimeout) {
		msg, err = p.MessagesContext.Next(jetstream.NextContext(ctx))
	}
	if err == nil && subjects.IsCallback(msg.Subject()) {
		p.bus.anchorBehind(msg)
	}
	return msg, err
}

// Connected implements [Bus].
func (b *NATS) Connected() bool { return b.js.Conn().IsConnected() }

// Closed implements [Bus].
func (b *NATS) Closed() bool { return b.js.Conn().IsClosed() }

// MaxPayload implements [Bus].
func (b *NATS) MaxPayload() int64 { return b.js.Conn().MaxPayload() }

// Flush implements [Bus].
func (b *NATS) Flush(ctx context.Context) error { return b.js.Conn().FlushWithContext(ctx) }

// Close implements [Bus].
func (b *NATS) Close() { b.publisher.Close() }
