package invoker

import (
	"fmt"

	"github.com/carillon-scheduler/carillon/schedule"
)

// The reasons for which a message says nothing new.
const (
	ignoredIncarnation = "other_incarnation"
	ignoredRepeat      = "repeat"
	ignoredUnknown     = "unknown_request"
)

// maxReason bounds the reason in an event: as many events as there are completions in a group go into one record.
const maxReason = 512

// enqueue takes over a hand-off: the starts in it that no earlier hand-off of its source covered.
func (m *machine) enqueue(e *schedule.Enqueue, trace string) {
	if e.Incarnation != m.definition.Incarnation {
		m.ignore(ignoredIncarnation)
		return
	}
	progress := m.state.Sources[e.Source]
	if contains(progress.Covered, e.Span) {
		m.ignore(ignoredRepeat)
		return
	}
	for i := range e.Starts {
		start := e.Starts[i]
		if !covers(progress.Covered, start.Actual) && m.find(start.RequestID) == nil {
			start.Trace = trace
			m.buffer(start)
		}
	}
	m.countUnstarted(e, &progress)
	progress.Covered = cover(progress.Covered, e.Span)
	if m.state.Sources == nil {
		m.state.Sources = map[string]schedule.SourceProgress{}
	}
	m.state.Sources[e.Source] = progress
	m.out.Changed = true
}

// buffer adds a start to the buffer. Automated ones need room.
func (m *machine) buffer(start schedule.BufferedStart) {
	start.Phase = schedule.PhasePending
	if !start.Manual && m.waiting() >= BufferLimit {
		m.state.Counters.BufferDropped++
		m.eventOf(schedule.EventDropped, &start, fmt.Sprintf("%d starts are waiting already", BufferLimit))
		return
	}
	m.state.Starts = append(m.state.Starts, start)
	m.eventOf(schedule.EventBuffered, &start, "")
}

// countUnstarted counts what the source gave up. A hand-off that repeats the newest one with a later end repeats its
// counts as well; one that was overtaken leaves those of the newest alone.
func (m *machine) countUnstarted(e *schedule.Enqueue, progress *schedule.SourceProgress) {
	missed, superseded, dropped := e.Missed, e.Superseded, e.Dropped
	if e.From.Equal(progress.LastFrom) {
		missed = max(missed-progress.LastMissed, 0)
		superseded = max(superseded-progress.LastSuperseded, 0)
		dropped = max(dropped-progress.LastDropped, 0)
	}
	if !e.From.Before(progress.LastFrom) {
		progress.LastFrom, progress.LastMissed = e.From, e.Missed
		progress.LastSuperseded, progress.LastDropped = e.Superseded, e.Dropped
	}
	m.giveUp(schedule.EventMissed, missed, &m.state.Counters.MissedCatchup, "later than the catch-up window")
	m.giveUp(schedule.EventMissed, superseded, &m.state.Counters.MissedCatchup, "superseded: a newer one was due as well")
	m.giveUp(schedule.EventDropped, dropped, &m.state.Counters.BufferDropped, "more due at once than the buffer holds")
}

// giveUp counts due actions that will not be started, and tells of them in one event.
func (m *machine) giveUp(kind schedule.EventKind, count int, counter *int64, reason string) {
	if count > 0 {
		*counter += int64(count)
		m.event(schedule.Event{Kind: kind, Count: count, Reason: reason})
	}
}

// finish forgets a source that will hand over no more.
func (m *machine) finish(source string) {
	if _, known := m.state.Sources[source]; known && source != schedule.SourceAuto {
		delete(m.state.Sources, source)
		m.out.Changed = true
	}
}

// complete applies a completion: the start is over, the schedule may pause.
func (m *machine) complete(c schedule.Completion) {
	start := m.find(c.RequestID)
	if start == nil || start.Phase != schedule.PhaseStarted && start.Phase != schedule.PhaseReady {
		m.ignore(ignoredUnknown)
		return
	}
	if c.CloseTime.IsZero() || c.CloseTime.After(m.now) {
		// Runs are compared by it: a worker whose clock is ahead must not hide the runs that follow.
		c.CloseTime = m.now.UTC()
	}
	if start.Phase == schedule.PhaseReady {
		// It ran before its start could be recorded.
		start.StartTime = c.StartTime
		m.started(start)
	}
	m.close(start, c)
	m.out.Ended = append(m.out.Ended, c)
	if c.Status == schedule.StatusTimedOut {
		m.control(schedule.ControlTerminate, start)
	}
	m.pauseOnFailure(start, c)
}

// close marks a start as completed.
func (m *machine) close(start *schedule.BufferedStart, c schedule.Completion) {
	start.Phase, start.Status, start.CodeTime = schedule.PhaseCompleted, c.Status, c.StartTime
	start.CloseTime = c.CloseTime
	event := startEvent(schedule.EventCompleted, start, "")
	event.Status, event.CodeTime, event.CloseTime = c.Status, c.StartTime, c.CloseTime
	event.Attempt, event.Worker = c.Attempt, c.Worker
	if c.Failure != nil {
		event.Reason = shorten(c.Failure.Message, maxReason)
	}
	m.event(event)
}

// pauseOnFailure pauses the schedule if its policy says so, with a note that names the run and the reason.
func (m *machine) pauseOnFailure(start *schedule.BufferedStart, c schedule.Completion) {
	failed := c.Status == schedule.StatusFailed || c.Status == schedule.StatusTimedOut
	if !failed || !m.definition.Schedule.Policies.PauseOnFailure {
		return
	}
	why := ""
	if c.Failure != nil && c.Failure.Message != "" {
		why = ": " + c.Failure.Message
	}
	note := fmt.Sprintf("paused on failure: run %s of %s %s%s", start.RunID, start.WorkflowID, c.Status, why)
	note = shorten(note, schedule.MaxNoteBytes)
	switch {
	case !m.paused:
		m.paused, m.out.PauseNote = true, note
	case m.definition.Schedule.State.Notes != note:
		return
	}
	// Where the note is there already, an attempt that was cut short has paused the schedule and lost the event.
	m.event(schedule.Event{Kind: schedule.EventPaused, RequestID: start.RequestID, Reason: note})
}
