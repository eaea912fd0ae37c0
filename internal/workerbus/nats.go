package workerbus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
)

const (
	// pullExpiry and pullHeartbeat are for one request for messages. If a server is silent for two heartbeats, the pull has
	// failed.
	pullExpiry    = 30 * time.Second
	pullHeartbeat = 5 * time.Second
)

// connection is the Bus on NATS.
type connection struct {
	nc        *nats.Conn
	js        jetstream.JetStream
	apiPrefix string // ends with a dot
	publisher *bus.Publisher
}

// New returns a bus on a connection. The caller keeps the connection and closes it after the bus. The prefix begins the subjects
// of the JetStream API; empty means $JS.API. The error says what is wrong with the prefix.
func New(nc *nats.Conn, apiPrefix string) (Bus, error) {
	if apiPrefix == "" {
		apiPrefix = jetstream.DefaultAPIPrefix
	}
	apiPrefix = strings.TrimSuffix(apiPrefix, ".") + "."
	js, err := jetstream.NewWithAPIPrefix(nc, apiPrefix)
	if err != nil {
		return nil, err
	}
	return &connection{nc: nc, js: js, apiPrefix: apiPrefix, publisher: bus.NewPublisher(js)}, nil
}

func (c *connection) Subscribe(subject string, handle func(Message)) (unsubscribe func(), err error) {
	subscription, err := c.nc.Subscribe(subject, func(msg *nats.Msg) {
		m := Message{Subject: msg.Subject, Reply: msg.Reply, Data: msg.Data}
		if msg.Reply != "" {
			m.Respond = msg.Respond
		}
		handle(m)
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = subscription.Unsubscribe() }, nil // fails only on a closed connection
}

// Attach looks for the consumer before it creates it, because a worker may lack the permission to create. It leaves an existing
// consumer as it is, because an operator may have tuned it.
func (c *connection) Attach(ctx context.Context, stream string, config jetstream.ConsumerConfig) (Queue, error) {
	consumer, err := c.js.Consumer(ctx, stream, config.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = c.js.CreateConsumer(ctx, stream, config)
	}
	if err != nil {
		return nil, err
	}
	return queue{consumer}, nil
}

// Last does not use nats.go, which asks for the state of a stream before it reads from it. That state would show data of others.
func (c *connection) Last(ctx context.Context, stream, subject string) ([]byte, error) {
	reply, err := c.nc.RequestWithContext(ctx, c.apiPrefix+"DIRECT.GET."+stream+"."+subject, nil)
	if err != nil {
		return nil, err
	}
	if reply.Header.Get(jetstream.SequenceHeader) != "" {
		return reply.Data, nil // its other headers come from the client that stored the message
	}
	status := reply.Header.Get("Status")
	if status == "404" {
		return nil, jetstream.ErrMsgNotFound
	}
	return nil, fmt.Errorf("read %s: the answer holds no message: %s %s", subject, status, reply.Header.Get("Description"))
}

func (c *connection) Publish(ctx context.Context, msg *nats.Msg) error {
	_, err := c.publisher.Publish(ctx, msg)
	return err
}

func (c *connection) PublishAll(ctx context.Context, msgs []*nats.Msg) error {
	return c.publisher.PublishAll(ctx, msgs)
}

func (c *connection) Connected() bool    { return c.nc.IsConnected() }
func (c *connection) Closed() bool       { return c.nc.IsClosed() }
func (c *connection) Reconnects() uint64 { return c.nc.Stats().Reconnects }
func (c *connection) MaxPayload() int64  { return c.nc.MaxPayload() }

func (c *connection) Flush(limit time.Duration) { _ = c.nc.FlushTimeout(limit) }

func (c *connection) Close() { c.publisher.Close() }

// queue is the Queue on NATS.
type queue struct{ consumer jetstream.Consumer }

func (q queue) AckWait() time.Duration { return q.consumer.CachedInfo().Config.AckWait }

// Pull asks the server for no more than count messages, so that none waits here while another worker is free.
func (q queue) Pull(count int) (Deliveries, error) {
	messages, err := q.consumer.Messages(
		jetstream.PullMaxMessages(count), jetstream.PullThresholdMessages(1), jetstream.StopAfter(count),
		jetstream.PullExpiry(pullExpiry), jetstream.PullHeartbeat(pullHeartbeat),
		// A consumer that was deleted between two requests answers none. The caller must look for it again.
		jetstream.WithMessagesErrOnMissingHeartbeat(true),
	)
	if err != nil {
		return nil, err
	}
	return pulled{messages}, nil
}

type pulled struct{ jetstream.MessagesContext }

func (p pulled) Next(ctx context.Context) (jetstream.Msg, error) {
	return p.MessagesContext.Next(jetstream.NextContext(ctx))
}
