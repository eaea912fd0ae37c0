package simulation

import (
	"errors"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// checkCalendars checks the final state of the calendars: they contain what callers have asked for, and the schedules that name
// them follow them.
func (w *world) checkCalendars(find func(kind, id, format string, args ...any)) {
	for _, r := range w.replies {
		switch r.verb {
		case calendarCreate, calendarUpdate, calendarDelete:
			w.checkCalendarRequest(r, find)
		}
	}
	for i := range w.plan.Schedules {
		w.checkCopies(w.plan.scheduleID(i), find)
	}
}

// checkCalendarRequest: what was answered has been done, and what was refused could not be done.
func (w *world) checkCalendarRequest(r *request, find func(kind, id, format string, args ...any)) {
	requestID, _ := r.body["requestId"].(string)
	versions := w.books.calendars[r.id]
	made := slices.IndexFunc(versions, func(v calendarVersion) bool { return v.by(requestID) })
	var refusal *schedule.Error
	switch {
	case r.err != nil && r.verb == calendarDelete && schedule.CodeOf(r.err) == schedule.CodeFailedPrecondition:
		if errors.As(r.err, &refusal) && refusal.Field != "conflictToken" && !w.wasUsed(r.id, r.from, r.to) {
			find("calendar", r.id, "%s was refused, and no schedule used it: %v", requestID, r.err)
		}
	case r.err != nil && errors.As(r.err, &refusal) && refusal.Field == "conflictToken":
		if w.calendarThroughout(r.id, r.from, r.to, func(c *calendarRecord) bool { return c.Version == r.token }) {
			find("calendar", r.id, "%s was refused, and its token was right: %v", requestID, r.err)
		}
	case r.err != nil:
	case r.verb == calendarDelete:
		if !slices.ContainsFunc(versions, func(v calendarVersion) bool { return v.gone() && !v.at.After(r.to) }) {
			find("calendar", r.id, "%s was answered, and it was never deleted", requestID)
		}
	case made < 0:
		find("calendar", r.id, "%s was answered, and no version knows of it", requestID)
	default:
		asked := scheduledOut(r)
		held := &versions[made].record
		if !slices.Equal(held.Dates, asked.Dates) || !slices.EqualFunc(held.Windows, asked.Windows, sameWindow) {
			find("calendar", r.id, "%s asked for %v and led to %v, %v", requestID, asked, held.Dates, held.Windows)
		}
		if r.token > 0 && (made == 0 || !slices.ContainsFunc(versions[:made], func(v calendarVersion) bool { return v.record.Version == r.token })) {
			find("calendar", r.id, "%s of version %d was carried out on another", requestID, r.token)
		}
	}
}

// scheduledOut is the content that a request asks for.
func scheduledOut(r *request) (asked schedule.NamedCalendar) {
	mustDecode(mustEncode(map[string]any{"dates": r.body["dates"], "windows": r.body["windows"]}), &asked)
	return asked
}

func sameWindow(a, b schedule.Blackout) bool { return a.From.Equal(b.From) && a.To.Equal(b.To) }

// calendarThroughout reports whether something is true of a calendar from one time to another.
func (w *world) calendarThroughout(name string, from, to time.Time, is func(*calendarRecord) bool) bool {
	versions := w.books.calendars[name]
	for i := len(versions) - 1; i >= 0; i-- {
		v := &versions[i]
		if v.at.After(to) {
			continue
		}
		if v.gone() || !is(&v.record) {
			return false
		}
		if !v.at.After(from) {
			return true
		}
	}
	return false
}

// wasUsed reports whether a schedule named a calendar at some moment between two times, as seen by a replica that may lag.
func (w *world) wasUsed(name string, from, to time.Time) bool {
	if w.plan.Stale > 0 {
		from = w.trace.begin
	}
	for i := range w.plan.Schedules {
		versions := w.books.versions[w.plan.scheduleID(i)]
		for j := range versions {
			v := &versions[j]
			replaced := j < len(versions)-1 && versions[j+1].at.Before(from)
			if uses(&v.definition, name) && !v.at.After(to) && !replaced {
				return true
			}
		}
	}
	return false
}

// checkCopies: each version of a definition has a copy of exactly the calendars that it names, with what each contained at some
// earlier time. In the end it has the newest copies.
func (w *world) checkCopies(id string, find func(kind, id, format string, args ...any)) {
	for i := range w.books.versions[id] {
		v := &w.books.versions[id][i]
		names := v.definition.Schedule.Spec.ExcludeCalendarsNamed
		if len(v.definition.Calendars) != len(names) {
			find("calendar", id, "version %d names %v, and has %d", v.definition.Version, names, len(v.definition.Calendars))
		}
		for _, name := range names {
			if has := v.definition.Calendars[name]; !w.wasHeld(sibling(id, name), &has, v.at) {
				find("calendar", id, "version %d has of %s what that never held: %+v", v.definition.Version, name, has)
			}
		}
	}
	key := keyOf(id)
	d, ok := record(w, key, kv.Definition(key))
	for _, name := range d.Schedule.Spec.ExcludeCalendarsNamed {
		newest, there := w.calendar(sibling(id, name))
		if ok && there && newest.Edition != d.Calendars[name].Edition {
			find("calendar", id, "it goes by version %d of %s, the newest is %d", d.Calendars[name].Version, name, newest.Version)
		}
	}
	w.replannedInTime(id, find)
}

// wasHeld reports whether a calendar had the content of a definition's copy at some moment before a time.
func (w *world) wasHeld(name string, has *wire.CalendarCopy, at time.Time) bool {
	return slices.ContainsFunc(w.books.calendars[name], func(v calendarVersion) bool {
		c := &v.record
		return !v.at.After(at) && c.Edition == has.Edition && c.Incarnation == has.Incarnation && c.Version == has.Version &&
			slices.Equal(c.Dates, has.Dates) && slices.EqualFunc(c.Windows, has.Windows, sameWindow)
	})
}

// replannedInTime: where nothing goes wrong, a schedule that has used a calendar for a while follows a change of it at once.
func (w *world) replannedInTime(id string, find func(kind, id, format string, args ...any)) {
	if !w.plan.isUndisturbed() {
		return
	}
	for _, name := range w.plan.calendarNames() {
		versions := w.books.calendars[name]
		for i := range versions {
			v := &versions[i]
			by := v.at.Add(promptly)
			if v.gone() || i < len(versions)-1 && !versions[i+1].at.After(by) {
				continue
			}
			d := w.versionAt(id, by)
			if d != nil && uses(d, name) && d.Calendars[keyOf(name).ID].Edition != v.record.Edition && d.Version == w.versionAtOrZero(id, v.at.Add(-promptly)) {
				find("late", id, "%s changed at %s, and a second later it goes by version %d", name, v.at.Sub(w.trace.begin), d.Calendars[keyOf(name).ID].Version)
			}
		}
	}
}

// versionAt is the definition that was stored at a time; nil if there was none.
func (w *world) versionAt(id string, at time.Time) (d *wire.Definition) {
	for i := range w.books.versions[id] {
		if v := &w.books.versions[id][i]; !v.at.After(at) {
			d = &v.definition
		}
	}
	if d != nil && d.Incarnation == "" {
		return nil
	}
	return d
}

func (w *world) versionAtOrZero(id string, at time.Time) uint64 {
	if d := w.versionAt(id, at); d != nil {
		return d.Version
	}
	return 0
}

// mayLack reports whether a calendar that a request names may have been absent.
func (w *world) mayLack(r *request) bool {
	spec, _ := r.body["spec"].(map[string]any)
	names, _ := spec["excludeCalendarsNamed"].([]any)
	return slices.ContainsFunc(names, func(name any) bool {
		return !w.calendarThroughout(sibling(r.id, name.(string)), r.from, r.to, func(*calendarRecord) bool { return true })
	})
}

// hindsight: an action that a calendar left out when it was to come does not come when the calendar changes. The newest
// calendar counts where no generator had recorded a look at the version that left the action out, or where none had come as far
// as an earlier action.
func (c *checker) hindsight() {
	margin := 2*c.plan.Skew + time.Second
	for i := range c.events {
		e := &c.events[i]
		if e.Source == schedule.SourceAuto && slices.Contains(fates, e.Kind) && !isSpan(e) && c.wasLeftOut(e, margin) {
			c.find("hindsight", "%s was %s, and left out when it was to come", e.Nominal.Format(time.RFC3339), e.Kind)
		}
	}
}

// wasLeftOut reports whether no version that was in force when an action was to come contains it.
func (c *checker) wasLeftOut(e *schedule.Event, margin time.Duration) bool {
	known := false
	versions := c.books.versions[c.id]
	for i := range versions {
		v := &versions[i]
		d := &v.definition
		// A change that is made late counts from when it was asked for.
		asked := maxTime(maxTime(d.CreateTime, d.ReplanTime), maxTime(d.UpdateTime, d.ActiveSince))
		replaced := i < len(versions)-1 && versions[i+1].at.Before(e.Actual.Add(-margin))
		if d.Incarnation != c.definition.Incarnation || minTime(asked, v.at).After(e.Actual.Add(margin)) || replaced {
			continue
		}
		mark := v.markBy(e.Time.Add(-margin))
		if isDue(d, e.Nominal) || mark.IsZero() || len(timesOf(d, mark.Add(-longestJitter), e.Actual)) > 0 {
			return false
		}
		known = true
	}
	return known
}
