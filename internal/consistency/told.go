package consistency

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// mostTold limits how many events are read to find the first one about an automated action. A backfill may have as many actions
// before it.
const mostTold = 1000

// untold reports whether the event history of a schedule is complete, and has no automated action that was due up to a time. The
// invoker stores events of every action. It stores the events of the first action before the events of any record that is begun
// anew.
func (r *reader) untold(ctx context.Context, d *wire.Definition, until time.Time) (bool, error) {
	created, err := r.nextEvent(ctx, d, r.names.Event(d.Key(), schedule.EventCreated), 1, func(*schedule.Event) bool { return true })
	if err != nil || created.sequence == 0 {
		return false, err // the events after the creation may have expired together with it
	}
	first, err := r.nextEvent(ctx, d, r.names.Event(d.Key(), "*"), created.sequence, func(e *schedule.Event) bool {
		return e.Source == schedule.SourceAuto
	})
	switch {
	case err != nil:
		return false, err
	case first.sequence == 0:
		return first.end, nil
	case first.event.Actual.IsZero():
		return first.event.First.After(until) || dueAfter(d, first.event.First, until), nil
	}
	return first.event.Actual.After(until), nil
}

// dueAfter reports whether the action of a nominal time was due after another time. Events of dropped actions have only nominal
// times, and jitter makes the action due later. It returns false if the spec has been replaced since the creation, or does not
// know the nominal time.
func dueAfter(d *wire.Definition, nominal, after time.Time) bool {
	if d.UpdateTime.After(d.CreateTime) {
		return false
	}
	spec, err := specproc.CompileWith(d.Schedule.Spec, d.NamedCalendars())
	if err != nil {
		return false
	}
	at, found := spec.Next(nominal.Add(-time.Second), d.JitterSeed())
	return found && at.Nominal.Equal(nominal) && at.Actual.After(after)
}

// told is a stored event.
type told struct {
	event schedule.Event
	// sequence is 0 if there is no such event. Then end is set if the search has reached the end of the history.
	sequence uint64
	end      bool
}

// nextEvent returns the first event of a schedule for which chosen is true, on a subject and from a sequence on.
func (r *reader) nextEvent(
	ctx context.Context, d *wire.Definition, subject string, from uint64, chosen func(*schedule.Event) bool,
) (told, error) {
	for range mostTold {
		stored, err := r.streams.Next(ctx, r.names.EventStream(), subject, from)
		if errors.Is(err, bus.ErrNone) {
			return told{end: true}, nil
		}
		if err != nil {
			return told{}, err
		}
		var event schedule.Event
		if json.Unmarshal(stored.Data, &event) == nil && event.IsOf(d.Incarnation) && chosen(&event) {
			return told{event: event, sequence: stored.Sequence}, nil
		}
		from = stored.Sequence + 1
	}
	return told{}, nil
}
