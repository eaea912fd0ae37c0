package invoker

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// published is how far this process has published the outbox of a schedule.
type published struct {
	incarnation string
	// revision is the revision of the record, sequence the number of its last published event.
	revision uint64
	sequence uint64
}

// takeLeftOver handles the events of a record that another process wrote, or this one before a crash. Events that may not have been
// published stay in the outbox. They move to the next record; if there will be none, they are published now. Publishing them first would
// delay the transition, and processes that work on the same schedule would keep overtaking each other.
func (s *session) takeLeftOver(ctx context.Context) error {
	outbox := s.record.Value.Outbox
	if len(outbox) == 0 {
		return nil
	}
	if done, ok := s.published.Get(s.key); ok {
		outbox = slices.DeleteFunc(outbox, func(e schedule.Event) bool {
			incarnation, number := splitEventID(e.ID)
			return done.revision == s.record.Revision || incarnation == done.incarnation && number <= done.sequence
		})
	}
	events, err := s.unpublished(ctx, outbox)
	if err != nil {
		return err
	}
	s.record.Value.Outbox = events
	if s.record.Value.Incarnation != s.definition.Value.Incarnation {
		return s.publishOutbox(ctx) // a deleted incarnation has no next record
	}
	return nil
}

// publishOutbox publishes the events of the record and waits for their acknowledgements.
func (s *session) publishOutbox(ctx context.Context) error {
	state := &s.record.Value
	if len(state.Outbox) > 0 {
		if err := s.events.Publish(ctx, state.Outbox...); err != nil {
			return err
		}
	}
	s.published.Add(s.key, published{
		incarnation: state.Incarnation, revision: s.record.Revision, sequence: state.EventSequence,
	})
	state.Outbox = nil
	return nil
}

// unpublished returns the events of a left-over outbox that may not be in the event stream.
//
//  1. Recent events count as unpublished: the stream itself recognizes a repeat by the message ID.
//  2. Older events have usually been published by another process. The stream knows the last event of each kind; that one is published.
//  3. This proves nothing about the events before it: if events are published at once, any of them may be lost. They are stored again, and
//     readers drop repeats.
func (p *Pool) unpublished(ctx context.Context, outbox []schedule.Event) ([]schedule.Event, error) {
	var events []schedule.Event
	last := map[schedule.EventKind]string{}
	for _, event := range outbox {
		if p.config.Now().Sub(event.Time) < subjects.DuplicateWindow/2 {
			events = append(events, event)
			continue
		}
		id, known := last[event.Kind]
		if !known {
			var err error
			if id, err = p.lastPublished(ctx, &event); err != nil {
				return nil, err
			}
			last[event.Kind] = id
		}
		if event.ID != id {
			events = append(events, event)
		}
	}
	return events, nil
}

// lastPublished returns the ID of the last event of the same schedule and kind in the stream; empty if there is none.
func (p *Pool) lastPublished(ctx context.Context, event *schedule.Event) (string, error) {
	subject := p.config.Names.Event(schedule.Key{Namespace: event.Namespace, ID: event.ScheduleID}, event.Kind)
	last, err := p.config.Bus.Last(ctx, p.config.Names.EventStream(), subject)
	if errors.Is(err, bus.ErrNone) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return last.Header.Get(jetstream.MsgIDHeader), nil
}

// eventID returns the ID of the event with this number of an incarnation.
func eventID(incarnation string, number uint64) string {
	return incarnation + "-" + strconv.FormatUint(number, 10)
}

// splitEventID reverses eventID. An ID of another form has the number 0.
func splitEventID(id string) (incarnation string, number uint64) {
	cut := max(strings.LastIndexByte(id, '-'), 0)
	number, _ = strconv.ParseUint(id[min(cut+1, len(id)):], 10, 64)
	return id[:cut], number
}
