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
	// revision is that of the record, sequence the number of its last event.
	revision uint64
	sequence uint64
}

// takeLeftOver sorts out the events of a record that another process wrote, or this one before a crash: those that may
// not have been published stay in the outbox. They are carried over into the next record, or published where there is
// none. To publish them first would hold up the transition, and processes that are at work on the same schedule would go
// on overtaking each other.
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
		return s.publishOutbox(ctx) // there is no next record of an incarnation that is gone
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

// unpublished returns the events of a left-over outbox that may not be in the event stream. What happened a moment ago
// the stream itself tells from a repeat, by the message ID. What is older has been published as a rule, by another
// process: the stream knows the last event of each kind. That one proves nothing for those before it, since of events that
// were published at once any may be lost; they are stored again, and readers drop repeats.
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

// lastPublished is the ID of the last event in the stream of the same schedule and kind, empty if there is none.
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

// eventID names the event of that number of an incarnation.
func eventID(incarnation string, number uint64) string {
	return incarnation + "-" + strconv.FormatUint(number, 10)
}

// splitEventID reverses eventID. The number of an ID of another form is 0.
func splitEventID(id string) (incarnation string, number uint64) {
	cut := max(strings.LastIndexByte(id, '-'), 0)
	number, _ = strconv.ParseUint(id[min(cut+1, len(id)):], 10, 64)
	return id[:cut], number
}
