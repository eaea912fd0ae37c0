package frontend

import (
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// facts are what an edit depends on beside the definition. What it does not need is left zero.
type facts struct {
	// generator is the generator's record, as it was last written.
	generator wire.GeneratorState
	// times are those of the spec of the definition.
	times times
	// pending are the IDs of the triggers and backfills that have a record.
	pending []string
	// calendars are those that the spec to be put in place names.
	calendars map[string]wire.CalendarCopy
}

// edit is a change of a definition in the making. Its methods each make one change and say what happened; whoever began
// the edit writes the result, or nothing after an error. It is pure: same definition and facts, same result.
type edit struct {
	// next is the definition to write, events what it will have meant, requested what it will have asked for.
	next              wire.Definition
	events, requested []schedule.Event
	// reason is why the generator is woken.
	reason wire.Reason

	from  request.Origin
	facts facts
}

// beginEdit begins with a new version, without what is settled: every accepted request counts, also where it changes
// nothing else.
func beginEdit(current wire.Definition, from request.Origin, facts facts) *edit {
	e := &edit{next: current, reason: wire.ReasonUpdated, from: from, facts: facts}
	if facts.generator.Incarnation != current.Incarnation {
		e.facts.generator = wire.GeneratorState{} // that of an earlier schedule of the same ID
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

// appliedAs returns the version that a request has made already, if it is among the newest that have changed the
// definition.
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

// replace puts another schedule in place. What was due before now and is not in the buffer yet is dropped, and what is
// left of limited actions is counted from the new number.
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

// pause does not move the update time. Who pauses what is paused has the last word on why.
func (e *edit) pause(note schedule.Note) {
	e.next.Schedule.State.Paused = true
	e.notePaused()
	e.setNotes(note)
	e.reason = wire.ReasonPaused
	e.say(schedule.EventPaused, note.Note)
}

// unpause does not move the update time: that what was due during the pause remains undone is what ActiveSince says.
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

// noteUnpaused also forgets who paused the schedule: the next pause may be one of the invoker.
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

// openEvents returns the events of a definition that the generator may not have seen yet.
func openEvents(def *wire.Definition, generator *wire.GeneratorState) []wire.DefinitionEvent {
	return slices.DeleteFunc(slices.Clone(def.Events), func(e wire.DefinitionEvent) bool {
		return generator.Incarnation == def.Incarnation && e.Version <= generator.Version
	})
}

func (e *edit) say(kind schedule.EventKind, reason string) *schedule.Event {
	e.events = append(e.events, changeEvent(&e.next, kind, e.next.Version, reason, e.from))
	return &e.events[len(e.events)-1]
}
