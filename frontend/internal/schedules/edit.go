package schedules

import (
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// facts are what an edit depends on in addition to the definition. A fact that it does not need is zero.
type facts struct {
	// generator is the last written record of the generator.
	generator wire.GeneratorState
	// times are the times of the definition's spec.
	times times
	// pending are the IDs of the triggers and backfills that have a record.
	pending []string
	// calendars are the calendars that the new spec names.
	calendars map[string]wire.CalendarCopy
}

// edit is a change of a definition in progress. Each of its methods makes one change and records what happened. Whoever began the
// edit writes the result, or nothing after an error. It is pure: the same definition and facts give the same result.
type edit struct {
	// next is the definition to write. events say what it changes, requested what it asks to be started.
	next              wire.Definition
	events, requested []schedule.Event
	// reason is why the generator is woken.
	reason wire.Reason

	from  request.Origin
	facts facts
}

// beginEdit begins with a new version and leaves out what is settled. Every accepted request makes a version, even if it changes
// nothing else.
func beginEdit(current wire.Definition, from request.Origin, facts facts) *edit {
	e := &edit{next: current, reason: wire.ReasonUpdated, from: from, facts: facts}
	if facts.generator.Incarnation != current.Incarnation {
		e.facts.generator = wire.GeneratorState{} // of an earlier schedule with the same ID
	}
	e.next.Version++
	e.next.Skips = skipsToCome(&current, &e.facts.generator)
	e.next.Requests = openRequests(&current, &e.facts.generator)
	e.next.Events = openEvents(&current, &e.facts.generator)
	if from.RequestID != "" {
		applied := append(slices.Clone(current.Applied), wire.AppliedRequest{
			RequestID: from.RequestID, Version: e.next.Version,
		})
		e.next.Applied = applied[max(0, len(applied)-wire.MaxApplied):]
	}
	return e
}

// appliedAs returns the version that a request has already made, if it is among the newest requests that changed the definition.
func appliedAs(def *wire.Definition, requestID string) (version uint64, ok bool) {
	if requestID == "" {
		return 0, false
	}
	for _, applied := range def.Applied {
		if applied.RequestID == requestID {
			return applied.Version, true
		}
	}
	return 0, false
}

// replace puts another schedule in place. What was due before now and is not in the buffer yet is dropped. The actions left under
// a limit are counted from the new number.
func (e *edit) replace(s schedule.Schedule) {
	paused := e.next.Schedule.State.Paused
	e.next.Schedule, e.next.UpdateTime, e.next.LimitVersion = s, e.from.Now, e.next.Version
	e.next.Calendars = e.facts.calendars
	switch {
	case s.State.Paused && !paused:
		e.notePaused()
	case !s.State.Paused && paused:
		e.noteUnpaused()
	}
	e.say(schedule.EventUpdated, "")
}

// pause does not change the update time. Pausing again replaces the note.
func (e *edit) pause(note schedule.Note) {
	e.next.Schedule.State.Paused = true
	e.notePaused()
	e.setNotes(note)
	e.reason = wire.ReasonPaused
	e.say(schedule.EventPaused, note.Note)
}

// unpause does not change the update time. ActiveSince says that what was due during the pause remains undone.
func (e *edit) unpause(note schedule.Note) {
	if e.next.Schedule.State.Paused {
		e.noteUnpaused()
	}
	e.next.Schedule.State.Paused = false
	e.setNotes(note)
	e.reason = wire.ReasonUnpaused
	e.say(schedule.EventUnpaused, note.Note)
}

func (e *edit) notePaused() { e.next.PausedBy, e.next.PauseTime = e.from.Identity, e.from.Now }

// noteUnpaused also forgets who paused the schedule: the invoker may be the next to pause it.
func (e *edit) noteUnpaused() {
	e.next.ActiveSince = e.from.Now
	e.next.PausedBy, e.next.PauseTime = "", time.Time{}
}

func (e *edit) setNotes(note schedule.Note) {
	if note.Note != "" {
		e.next.Schedule.State.Notes = note.Note
	}
}

// end makes the events part of the definition.
func (e *edit) end() {
	for _, event := range e.events {
		e.next.Events = append(e.next.Events, wire.DefinitionEvent{Version: e.next.Version, Event: event})
	}
}

// openEvents returns those events of a definition that the generator may not have seen yet.
func openEvents(def *wire.Definition, generator *wire.GeneratorState) []wire.DefinitionEvent {
	return slices.DeleteFunc(slices.Clone(def.Events), func(e wire.DefinitionEvent) bool {
		return generator.Incarnation == def.Incarnation && e.Version <= generator.Version
	})
}

func (e *edit) say(kind schedule.EventKind, reason string) *schedule.Event {
	e.events = append(e.events, changeEvent(&e.next, kind, e.next.Version, reason, e.from))
	return &e.events[len(e.events)-1]
}
