package schedules

import (
	"context"
	"strconv"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// changeEvent describes a change that made this version of a definition. Its ID is the same for every attempt to store it.
func changeEvent(
	def *wire.Definition, kind schedule.EventKind, version uint64, reason string, from request.Origin,
) schedule.Event {
	event := newEvent(def, kind, strconv.FormatUint(version, 10), from)
	event.Reason = reason
	return event
}

// newEvent names an event by what distinguishes it from others of its kind.
func newEvent(def *wire.Definition, kind schedule.EventKind, name string, from request.Origin) schedule.Event {
	return schedule.Event{
		ID:   def.Incarnation + "-" + string(kind) + "-" + name,
		Time: from.Now, Namespace: def.Namespace, ScheduleID: def.ID, Kind: kind,
		RequestID: from.RequestID, Identity: from.Identity, Trace: from.Trace,
	}
}

func deletedEvent(def *wire.Definition, from request.Origin) schedule.Event {
	event := newEvent(def, schedule.EventDeleted, "", from)
	event.ID = wire.DeletedEventID(def.Incarnation)
	return event
}

// tellAgain stores an event of a request that may be a repeat. In that case it may have happened long ago and be stored already.
func (s *Service) tellAgain(event schedule.Event, repeated bool) effect {
	if !repeated {
		return s.tell(event)
	}
	return func(ctx context.Context) error { return s.events.EnsureOne(ctx, &event) }
}

// tell stores events in the event history. Events of long ago come from a repeat, so the history may have them already.
func (s *Service) tell(events ...schedule.Event) effect {
	return func(ctx context.Context) error { return s.events.Ensure(ctx, s.now(), events...) }
}
