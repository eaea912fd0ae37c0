package events

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// storeWait is how long the event stream may take to acknowledge an event. Without it, one lost acknowledgement would
// hold up its schedule for ever.
const storeWait = 5 * time.Second

// Publisher stores events. It is made by [NewPublisher] and safe for concurrent use.
type Publisher struct {
	js    jetstream.JetStream
	names subjects.Names
}

// NewPublisher returns a publisher that uses the connection of js. Close it when it is needed no more.
func NewPublisher(js jetstream.JetStream, names subjects.Names) (*Publisher, error) {
	// Its own context, since asynchronous publishing has a timeout for all of a context.
	own, err := jetstream.New(js.Conn(), jetstream.WithPublishAsyncTimeout(storeWait))
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	return &Publisher{js: own, names: names}, nil
}

// Close ends what the publisher does in the background. It must not be used after that.
func (p *Publisher) Close() { p.js.CleanupPublisher() }

// Publish stores events, all at once, and returns when the stream has acknowledged all of them, or one is refused. Events
// need an ID. The trace of an event is its own; one without gets that of ctx.
func (p *Publisher) Publish(ctx context.Context, events ...schedule.Event) error {
	acks := make([]jetstream.PubAckFuture, 0, len(events))
	for i := range events {
		ack, err := p.send(ctx, &events[i])
		if err != nil {
			return err
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return fmt.Errorf("events: publish: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (p *Publisher) send(ctx context.Context, event *schedule.Event) (jetstream.PubAckFuture, error) {
	data, err := json.Marshal(event)
	if err != nil {
		return nil, fmt.Errorf("events: encode: %w", err)
	}
	msg := nats.NewMsg(p.names.Event(schedule.Key{Namespace: event.Namespace, ID: event.ScheduleID}, event.Kind))
	msg.Data = data
	telemetry.Inject(telemetry.WithTraceparent(ctx, event.Trace), msg.Header)
	ack, err := p.js.PublishMsgAsync(msg, jetstream.WithMsgID(event.ID), jetstream.WithStallWait(storeWait))
	if err != nil {
		return nil, fmt.Errorf("events: publish: %w", err)
	}
	return ack, nil
}
