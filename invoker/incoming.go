package invoker

import (
	"fmt"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// The reasons for which a message says nothing new.
const (
	ignoredIncarnation = "other_incarnation"
	ignoredRepeat      = "repeat"
	ignoredUnknown     = "unknown_request"
	ignoredQueue       = "other_task_queue"
)

// enqueue takes over a hand-off: the starts in it that no earlier hand-off of its source covered.
func (m *machine) enqueue(e *wire.Enqueue, trace string) {
	if e.Incarnation != m.definition.Incarnation {
		m.ignore(ignoredIncarnation)
		return
	}
	progress := m.state.Sources[e.Source]
	if contains(progress.Covered, e.Span) {
		m.repeat(e, progress)
		return
	}
	settled := settle(e, &progress, m.definition.CreateTime)
	waiting := wire.CountWaiting(m.state.Starts)
	for i := range e.Starts {
		start := e.Starts[i]
		if !isSettled(settled, start.Nominal) && !progress.Covers(start.Actual) && !m.knows(start.RequestID) {
			start.Trace = trace
			m.take(start, &progress, &waiting)
		}
	}
	m.giveUp(e, &progress, settled, trace)
	noteNewest(e, &progress)
	progress.Covered = cover(progress.Covered, e.Span)
	m.setProgress(e.Source, progress)
}

// repeat passes over a hand-off that brings nothing new, unless it is that it was the last one: a backfiller which has
// died after a batch may find, when it makes it again, that an updated spec gives no more times.
func (m *machine) repeat(e *wire.Enqueue, progress wire.SourceProgress) {
	if !e.Complete || progress.Complete || e.From.Before(progress.LastFrom) {
		m.ignore(ignoredRepeat)
		return
	}
	progress.Complete = true
	m.setProgress(e.Source, progress)
}

func (m *machine) setProgress(source string, progress wire.SourceProgress) {
	if m.state.Sources == nil {
		m.state.Sources = map[string]wire.SourceProgress{}
	}
	m.state.Sources[source] = progress
	m.out.Changed = true
}

// take adds a start to the buffer, unless nobody wants it any more. Automated ones need room.
func (m *machine) take(start wire.BufferedStart, progress *wire.SourceProgress, waiting *int) {
	start.Phase = schedule.PhasePending
	switch {
	case start.Skip:
		m.state.Counters.SkippedOnRequest++
		m.eventOf(schedule.EventSkipped, &start, "skipped on request")
	case progress.Withdrawn:
		m.drop(&start, reasonCanceled)
	case !start.Manual && *waiting >= BufferLimit:
		m.drop(&start, reasonBufferFull)
	default:
		m.add(start)
		*waiting++
	}
}

// Why actions are given up, as their events say; the metrics count some of them apart.
const (
	// reasonCanceled is for starts that a canceled backfill or trigger has asked for.
	reasonCanceled     = "the backfill was canceled"
	reasonPaused       = "the schedule is paused"
	reasonOutOfActions = "no remaining actions"
	reasonMissed       = "later than the catch-up window"
	reasonTooMany      = "more due at once than the buffer holds"
	reasonSuperseded   = "superseded: a newer one was due as well"
	// reasonStartFailed comes before what the last attempt has met.
	reasonStartFailed = "start failed too often: "
)

// reasonBufferFull is for automated starts that find no room.
var reasonBufferFull = fmt.Sprintf("%d starts are waiting already", BufferLimit)

// withdraw drops what waits of a canceled source. What is about to be started may have been already: it goes on.
func (m *machine) withdraw(source string) {
	progress, known := m.state.Sources[source]
	if !known || source == schedule.SourceAuto {
		return
	}
	for i := range m.state.Starts {
		s := &m.state.Starts[i]
		if s.Source == source && (s.Phase == schedule.PhasePending || s.Phase == schedule.PhaseDeferred) {
			m.drop(s, reasonCanceled)
		}
	}
	if !progress.Withdrawn {
		progress.Withdrawn = true
		m.setProgress(source, progress)
	}
}

// noteNewest notes what a hand-off had, unless it was overtaken.
func noteNewest(e *wire.Enqueue, progress *wire.SourceProgress) {
	if e.From.Before(progress.LastFrom) {
		return
	}
	progress.LastFrom, progress.LastMissed = e.From, e.Missed
	progress.LastSuperseded, progress.LastDropped = e.Superseded, e.Dropped
	progress.LastCount, progress.Complete = len(e.Starts), e.Complete
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
	if c.TaskQueue != "" && c.TaskQueue != start.TaskQueue {
		m.ignore(ignoredQueue) // a worker may speak for its own queue only, and that is what its permissions let it name
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
func (m *machine) close(start *wire.BufferedStart, c schedule.Completion) {
	start.Phase, start.Status, start.CodeTime = schedule.PhaseCompleted, c.Status, c.StartTime
	start.CloseTime = c.CloseTime
	start.RunAttempt, start.Worker, start.Outcome = c.Attempt, c.Worker, outcomeOf(&c)
	event := startEvent(schedule.EventCompleted, start, "")
	event.Status, event.CodeTime, event.CloseTime = c.Status, c.StartTime, c.CloseTime
	event.Attempt, event.Worker, event.Outcome = c.Attempt, c.Worker, start.Outcome
	if c.Failure != nil {
		event.Reason = start.Outcome.Failure.Message
	}
	m.event(event)
}

// outcomeOf is as much of what came of a run as records and events have room for: as many events as there are
// completions in a group go into one record.
func outcomeOf(c *schedule.Completion) schedule.Outcome {
	outcome := schedule.Outcome{ResultBytes: len(c.Result)}
	if len(c.Result) <= schedule.MaxOutcomeResultBytes {
		outcome.Result = c.Result
	}
	if c.Failure != nil {
		outcome.Failure = &schedule.Failure{
			Type: c.Failure.Type, Message: shorten(c.Failure.Message, schedule.MaxOutcomeMessageBytes),
		}
	}
	return outcome
}

// pauseOnFailure pauses the schedule if its policy says so, with a note that names the run and the reason.
func (m *machine) pauseOnFailure(start *wire.BufferedStart, c schedule.Completion) {
	failed := c.Status == schedule.StatusFailed || c.Status == schedule.StatusTimedOut
	if m.paused || !failed || !m.definition.Schedule.Policies.PauseOnFailure {
		return
	}
	why := ""
	if c.Failure != nil && c.Failure.Message != "" {
		why = ": " + c.Failure.Message
	}
	note := fmt.Sprintf("paused on failure: run %s of %s %s%s", start.RunID, start.WorkflowID, c.Status, why)
	d := m.definition
	m.paused, m.out.Pause = true, &schedule.Event{
		ID: wire.PausedEventID(d.Incarnation, d.Version+1), Time: m.now.UTC(),
		Namespace: d.Namespace, ScheduleID: d.ID, Kind: schedule.EventPaused,
		RequestID: start.RequestID, WorkflowID: start.WorkflowID, RunID: start.RunID, Source: start.Source,
		Reason: shorten(note, schedule.MaxNoteBytes), Trace: start.Trace,
	}
}
