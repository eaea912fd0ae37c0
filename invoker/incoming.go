package invoker

import (
	"fmt"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// The reasons why a message is ignored.
const (
	ignoredIncarnation = "other_incarnation"
	ignoredRepeat      = "repeat"
	ignoredUnknown     = "unknown_request"
	ignoredQueue       = "other_task_queue"
)

// enqueue takes over the starts of a hand-off that no earlier hand-off of its source covered.
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

// repeat handles a hand-off without new starts. It ignores it unless it says that it is the last one. For example, a backfiller dies after
// a batch and makes it again, and an updated spec then has no more times.
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

// take adds a start to the buffer, unless it is no longer wanted. Automated starts need room.
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

// Why actions are given up, as their events say. The metrics count some of the reasons separately.
const (
	// reasonCanceled is for starts of a canceled backfill or trigger.
	reasonCanceled     = "the backfill was canceled"
	reasonPaused       = "the schedule is paused"
	reasonOutOfActions = "no remaining actions"
	reasonMissed       = "later than the catch-up window"
	reasonTooMany      = "more due at once than the buffer holds"
	reasonSuperseded   = "superseded: a newer one was due as well"
	// reasonStartFailed is followed by the error of the last attempt.
	reasonStartFailed = "start failed too often: "
)

// reasonBufferFull is for automated starts without room in the buffer.
var reasonBufferFull = fmt.Sprintf("%d starts are waiting already", BufferLimit)

// withdraw drops the waiting starts of a canceled source. Ready starts continue, because they may have been started already.
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

// noteNewest records the contents of a hand-off, unless a later one has overtaken it.
func noteNewest(e *wire.Enqueue, progress *wire.SourceProgress) {
	if e.From.Before(progress.LastFrom) {
		return
	}
	progress.LastFrom, progress.LastMissed = e.From, e.Missed
	progress.LastSuperseded, progress.LastDropped = e.Superseded, e.Dropped
	progress.LastCount, progress.Complete = len(e.Starts), e.Complete
}

// finish forgets a source that will hand over nothing more.
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
		m.ignore(ignoredQueue) // a worker may speak only for its own queue; its permissions limit the queue in the subject
		return
	}
	if c.CloseTime.IsZero() || c.CloseTime.After(m.now) {
		// Runs are compared by this time. A worker whose clock is ahead must not hide the runs that follow.
		c.CloseTime = m.now.UTC()
	}
	if start.Phase == schedule.PhaseReady {
		// It ran before its start could be recorded.
		start.StartTime = c.StartTime
		m.started(start)
	}
	m.close(start, c)
	m.out.Ended = append(m.out.Ended, c)
	if c.Status == schedule.StatusTimedOut && !start.ActionKind.IsWorkflow() {
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

// outcomeOf cuts the outcome of a run to the size that records and events allow. One record must hold the events of all completions in a
// group.
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
