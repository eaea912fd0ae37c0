package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Publisher stores events. It is made by [NewPublisher] and safe for concurrent use.
type Publisher struct {
	bus        bus.Bus
	names      subjects.Names
	namespaces namespaces.Source
}

// NewPublisher returns a publisher that uses a bus. The namespaces say which of them keep their events for a shorter time than the stream;
// nil means that none does.
func NewPublisher(to bus.Bus, names subjects.Names, of namespaces.Source) *Publisher {
	if of == nil {
		of = namespaces.Fixed(nil)
	}
	return &Publisher{bus: to, names: names, namespaces: of}
}

// Publish stores events, all at once. It returns when the stream has acknowledged all of them or refused one. Events need an ID. An event
// without a trace gets the trace of ctx.
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

// Ensure stores events that another process may already have stored, at the events' times or later. It stores all at once and each only
// once, however long ago that was. For each kind and schedule, it knows only the last event.
func (p *Publisher) Ensure(ctx context.Context, now time.Time, events ...schedule.Event) error {
	return p.ensure(ctx, now, func(e *schedule.Event) time.Time { return e.Time }, events)
}

// EnsureSince is Ensure for events that may have been stored at any time since, whatever times they have now.
func (p *Publisher) EnsureSince(ctx context.Context, now, since time.Time, events ...schedule.Event) error {
	return p.ensure(ctx, now, func(*schedule.Event) time.Time { return since }, events)
}

func (p *Publisher) ensure(ctx context.Context, now time.Time, since func(*schedule.Event) time.Time, events []schedule.Event) error {
	missing := make([]schedule.Event, 0, len(events))
	for i := range events {
		if now.Sub(since(&events[i])) > subjects.DuplicateWindow/2 { // by then the stream may have forgotten the ID
			stored, err := p.isLast(ctx, &events[i])
			if err != nil {
				return err
			}
			if stored {
				continue
			}
		}
		missing = append(missing, events[i])
	}
	return p.Publish(ctx, missing...)
}

// EnsureOne stores an event that another process may have stored at any time before, unless it is the last stored event of its kind and
// schedule.
func (p *Publisher) EnsureOne(ctx context.Context, event *schedule.Event) error {
	stored, err := p.isLast(ctx, event)
	if err != nil || stored {
		return err
	}
	return p.Publish(ctx, *event)
}

// IsStored reports whether an event is stored, even if later events of its kind and schedule followed. Unless it is the last one, IsStored
// reads all of them.
func (p *Publisher) IsStored(ctx context.Context, event *schedule.Event) (bool, error) {
	if last, err := p.isLast(ctx, event); last || err != nil {
		return last, err
	}
	subject := p.names.Event(schedule.Key{Namespace: event.Namespace, ID: event.ScheduleID}, event.Kind)
	for from := uint64(1); ; {
		stored, err := p.bus.Next(ctx, p.names.EventStream(), subject, from)
		if errors.Is(err, bus.ErrNone) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if stored.Header.Get(nats.MsgIdHdr) == event.ID {
			return true, nil
		}
		from = stored.Sequence + 1
	}
}

// isLast reports whether an event is the last one of its kind and schedule.
func (p *Publisher) isLast(ctx context.Context, event *schedule.Event) (bool, error) {
	key := schedule.Key{Namespace: event.Namespace, ID: event.ScheduleID}
	last, err := p.bus.Last(ctx, p.names.EventStream(), p.names.Event(key, event.Kind))
	if errors.Is(err, bus.ErrNone) {
		return false, nil
	}
	return err == nil && last.Header.Get(nats.MsgIdHdr) == event.ID, err
}

// IsLastOf reports whether the last event of a kind and schedule was stored for a request.
func (p *Publisher) IsLastOf(ctx context.Context, key schedule.Key, kind schedule.EventKind, requestID string) (bool, error) {
	last, err := p.bus.Last(ctx, p.names.EventStream(), p.names.Event(key, kind))
	if errors.Is(err, bus.ErrNone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var event schedule.Event
	if err := json.Unmarshal(last.Data, &event); err != nil {
		return false, fmt.Errorf("decode the last event of %s: %w", key, err)
	}
	return event.RequestID == requestID, nil
}

func (p *Publisher) message(ctx context.Context, event *schedule.Event) (*nats.Msg, error) {
	data, err := encode(event)
	if err != nil {
		return nil, fmt.Errorf("events: encode: %w", err)
	}
	msg := nats.NewMsg(p.names.Event(schedule.Key{Namespace: event.Namespace, ID: event.ScheduleID}, event.Kind))
	msg.Data = data
	msg.Header.Set(nats.MsgIdHdr, event.ID)
	if ttl := p.ttl(event.Namespace); ttl > 0 {
		msg.Header.Set(jetstream.MsgTTLHeader, strconv.FormatInt(int64(ttl/time.Second), 10))
	}
	telemetry.InjectTraceparent(ctx, event.Trace, msg.Header)
	return msg, nil
}

// ttl returns how long the stream keeps the events of a namespace; 0 means as long as the stream keeps all others. The server counts whole
// seconds.
func (p *Publisher) ttl(namespace string) time.Duration {
	record, _ := p.namespaces.Get(namespace)
	keep := record.Limits.EventRetention.Std()
	if keep >= subjects.EventAge {
		return 0
	}
	return keep
}
