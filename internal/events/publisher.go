package events

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Publisher stores events. It is made by [NewPublisher] and safe for concurrent use.
type Publisher struct {
	bus   bus.Bus
	names subjects.Names
}

// NewPublisher returns a publisher that uses a bus.
func NewPublisher(to bus.Bus, names subjects.Names) *Publisher {
	return &Publisher{bus: to, names: names}
}

// Publish stores events, all at once, and returns when the stream has acknowledged all of them, or one is refused. Events
// need an ID. The trace of an event is its own; one without gets that of ctx.
func (p *Publisher) Publish(ctx context.Context, events ...schedule.Event) error {
	if len(events) == 0 {
		return nil
	}
	msgs := make([]*nats.Msg, len(events))
	for i := range events {
		msg, err := p.message(ctx, &events[i])
		if err != nil {
			return err
		}
		msgs[i] = msg
	}
	if err := p.bus.PublishAll(ctx, msgs); err != nil {
		return fmt.Errorf("events: publish: %w", err)
	}
	return nil
}

func (p *Publisher) message(ctx context.Context, event *schedule.Event) (*nats.Msg, error) {
	data, err := json.Marshal(event)
	if err != nil {
		return nil, fmt.Errorf("events: encode: %w", err)
	}
	msg := nats.NewMsg(p.names.Event(schedule.Key{Namespace: event.Namespace, ID: event.ScheduleID}, event.Kind))
	msg.Data = data
	msg.Header.Set(nats.MsgIdHdr, event.ID)
	telemetry.Inject(telemetry.WithTraceparent(ctx, event.Trace), msg.Header)
	return msg, nil
}
