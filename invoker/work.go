package invoker

import (
	"cmp"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// RoundLimit is how many starts, and how many controls, are executed before the next look at what has come in. A batch of
// a backfill fits into one round, which takes some 40 ms; twice as many would be 10 % faster.
const RoundLimit = 128

// Work is what a state asks the pool to execute. All of it is idempotent.
type Work struct {
	Starts   []wire.BufferedStart
	Controls []wire.PendingControl
}

// WorkOf returns the next work of a state, at most RoundLimit of each: controls to deliver, and ready starts whose
// backoff is over. Automated starts go first, so that none waits for the hundreds a backfill may have made ready. A start
// that is to be terminated waits for that instead.
func WorkOf(state *wire.InvokerState, now time.Time) Work {
	work := Work{Controls: state.Controls[:min(len(state.Controls), RoundLimit)]}
	for _, manual := range []bool{false, true} {
		for i := range state.Starts {
			s := &state.Starts[i]
			if s.Manual == manual && executable(s, now) && len(work.Starts) < RoundLimit {
				work.Starts = append(work.Starts, *s)
			}
		}
	}
	return work
}

func executable(s *wire.BufferedStart, now time.Time) bool {
	return s.Phase == schedule.PhaseReady && s.Ending != schedule.ControlTerminate && !s.BackoffUntil.After(now)
}

// Empty reports whether there is nothing to do.
func (w Work) Empty() bool { return w.size() == 0 }

func (w Work) size() int { return len(w.Starts) + len(w.Controls) }

// RetryAt returns when a state has work again if nothing else happens; zero for never.
func RetryAt(state *wire.InvokerState, now time.Time) time.Time {
	var at time.Time
	earlier := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	for i := range state.Starts {
		switch s := &state.Starts[i]; {
		case s.Phase != schedule.PhaseReady:
		case s.BackoffUntil.After(now):
			earlier(s.BackoffUntil)
		default: // its completion is on its way
			earlier(now.Add(firstBackoff))
		}
	}
	if len(state.Controls) > 0 {
		earlier(now.Add(firstBackoff))
	}
	if until := delayedUntil(state); !until.IsZero() {
		earlier(until)
	}
	return at
}

// Result is how the execution of one start went.
type Result int

// The results of an execution.
const (
	// Accepted: the action stream has the run, from this or an earlier attempt.
	Accepted Result = iota
	// Refused: it will never take it, from nobody; Reason says why.
	Refused
	// TooLate: it has not taken it, and will not any more, since the deadline is over.
	TooLate
	// Failed: it may take it later; Reason says what went wrong.
	Failed
	// Over: the run has ended already and its completion is on its way.
	Over
)

// StartReport is what came of one start.
type StartReport struct {
	RequestID string
	Result    Result
	Reason    string
	At        time.Time
}

// givesUp reports whether the start is to be given up.
func (r *StartReport) givesUp() bool { return r.Result == Refused || r.Result == TooLate }

// Report is what came of the work of a state.
type Report struct {
	Starts    []StartReport
	Delivered []wire.PendingControl
}

func (r Report) size() int { return len(r.Starts) + len(r.Delivered) }

// executed records what came of one start.
func (m *machine) executed(r StartReport) {
	start := m.find(r.RequestID)
	if start == nil || start.Phase != schedule.PhaseReady {
		return
	}
	switch r.Result {
	case Accepted:
		start.StartTime = r.At.UTC()
		m.started(start)
		m.state.Outbox[len(m.state.Outbox)-1].Time = start.StartTime // a moment ago
	case Refused:
		m.drop(start, r.Reason)
	case TooLate:
		m.miss(start)
	case Failed:
		m.retry(start, r.Reason)
	}
}

// started records that a run has begun.
func (m *machine) started(start *wire.BufferedStart) {
	if start.StartTime.IsZero() {
		start.StartTime = m.now.UTC()
	}
	start.Phase, start.BackoffUntil = schedule.PhaseStarted, time.Time{}
	m.state.Counters.Actions++
	m.eventOf(schedule.EventStarted, start, "")
}

// retry plans the next attempt of a start, or gives it up.
func (m *machine) retry(start *wire.BufferedStart, reason string) {
	if start.Attempt >= MaxAttempts {
		// That the action stream has not taken it could not be made sure of. What is given up must not run.
		m.control(schedule.ControlTerminate, start)
		m.drop(start, reasonStartFailed+reason)
		return
	}
	start.BackoffUntil = m.now.Add(backoff(start.Attempt)).UTC()
	start.Attempt++
	m.eventOf(schedule.EventRetried, start, reason)
}

// delivered records that a control has reached its place. A terminated run is over for the schedule.
func (m *machine) delivered(c wire.PendingControl) {
	for i, pending := range m.state.Controls {
		if pending == c {
			m.state.Controls = append(m.state.Controls[:i:i], m.state.Controls[i+1:]...)
			m.out.Changed = true
			break
		}
	}
	start := m.find(c.RequestID)
	if c.Kind != schedule.ControlTerminate || start == nil || start.Phase == schedule.PhaseCompleted {
		return
	}
	if start.Phase == schedule.PhaseReady {
		m.started(start) // for all that is known: who made it ready may have published it, and died
	}
	m.close(start, schedule.Completion{
		RequestID: c.RequestID, Status: schedule.StatusTerminated, CloseTime: m.now.UTC(),
		Failure: &schedule.Failure{Type: "terminated", Message: cmp.Or(c.Reason, "terminated to make room for another start")},
	})
}
