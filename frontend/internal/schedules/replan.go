package schedules

import (
	"context"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/calendars"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// replan makes a new version of a definition that uses the newest version of a calendar, unless it does already.
func (s *Service) replan(ctx context.Context, key schedule.Key, newest *calendars.Calendar) (changed bool, err error) {
	from := s.origin(ctx, "")
	var done *edit
	err = s.replace(ctx, key, func(record kv.Record[wire.Definition]) (func(context.Context) error, error) {
		done = nil
		if !calendars.IsBehind(&record.Value, newest) {
			return nil, nil
		}
		next, err := s.decide(ctx, &change{needsTimes: true, edit: func(e *edit) error {
			e.replan(newest)
			return nil
		}}, record.Value, from)
		if err != nil {
			return nil, err
		}
		done = next
		return func(ctx context.Context) error {
			_, err := kv.Put(ctx, s.store, kv.Definition(key), &next.next, record.Revision)
			return err
		}, nil
	})
	if err != nil || done == nil {
		return false, err
	}
	s.afterChange(ctx, done)
	return true, nil
}

// replan puts the newest version of a calendar in place of an older one. It does not change the update time: what was due by the
// older one and is not in the buffer yet stays due if it is also due by the newer one.
func (e *edit) replan(newest *calendars.Calendar) {
	copies := map[string]wire.CalendarCopy{newest.Name: newest.Copy()}
	for name, other := range e.next.Calendars {
		if name != newest.Name && slices.Contains(e.next.Schedule.Spec.ExcludeCalendarsNamed, name) {
			copies[name] = other
		}
	}
	e.next.ReplanFrom = e.replanFrom()
	e.next.Calendars, e.next.CalendarsVersion, e.next.ReplanTime = copies, e.next.Version, e.from.Now
	e.say(schedule.EventReplanned, "calendar "+newest.Name)
}

// replanFrom returns the time from which the times of the newer calendar count, based on what was due before: see
// [wire.Definition].
func (e *edit) replanFrom() time.Time {
	d, generator := &e.next, &e.facts.generator
	from := []time.Time{generator.Mark, d.CreateTime, d.UpdateTime, d.ActiveSince}
	if generator.Version < d.CalendarsVersion {
		from = append(from, d.ReplanFrom)
	}
	due, ok := e.facts.times.spec.NextDue(slices.MaxFunc(from, time.Time.Compare), e.facts.times.seed)
	if !ok || !due.Actual.Before(e.from.Now) {
		return e.from.Now
	}
	return due.Actual.Add(-1)
}
