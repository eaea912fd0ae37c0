package invoker

import (
	"cmp"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// RoundLimit is how many starts, and how many controls, are executed before the invoker looks at new messages. A batch of a backfill fits
// into one round, which takes about 40 ms. Twice the number would be only 10 % faster.
const RoundLimit = 128

// Work is what a state asks the pool to execute. All of it is idempotent.
type Work struct {
	Starts   []wire.BufferedStart
	Controls []wire.PendingControl
}

// WorkOf returns the next work of a state: controls to deliver, and ready starts whose backoff is over, at most RoundLimit of each.
// Automated starts go first, so that none waits for the hundreds of a backfill. A start that is to be terminated is not started.
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

// Result is the result of the execution of one start.
type Result int

// The results of an execution.
const (
	// Accepted: the action stream has the run, from this or an earlier attempt.
	Accepted Result = iota
	// Refused: the action stream will never accept the run, from any process; Reason says why.
	Refused
	// TooLate: the action stream has not accepted the run and never will, because the deadline is over.
	TooLate
	// Failed: the action stream may accept it later; Reason says what went wrong.
	Failed
	// Unreachable: like Failed, but nobody could be asked. It is tried again for as long as the deadline of the start allows.
	Unreachable
	// Over: the run has already ended, and its completion is on its way.
	Over
)

// StartReport is the result of one start.
type StartReport struct {
	RequestID string
	Result    Result
	Reason    string
	At        time.Time
}

// givesUp reports whether the report gives the start up.
func (r *StartReport) givesUp() bool { return r.Result == Refused || r.Result == TooLate }

// Report is the result of a state's work.
type Report struct {
	Starts    []StartReport
	Delivered []wire.PendingControl
}

func (r Report) size() int { return len(r.Starts) + len(r.Delivered) }

// executed records the result of one start.
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
	case Unreachable:
		start.Attempt = min(start.Attempt, MaxAttempts-1)
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

// retry plans the next attempt of a start, or gives the start up.
func (m *machine) retry(start *wire.BufferedStart, reason string) {
	if start.Attempt >= MaxAttempts {
		// Nobody could make sure that the action stream has not accepted it. A start that is given up must not run.
		m.control(schedule.ControlTerminate, start)
		m.drop(start, reasonStartFailed+reason)
		return
	}
	start.BackoffUntil = m.now.Add(backoff(start.Attempt)).UTC()
	start.Attempt++
	m.eventOf(schedule.EventRetried, start, reason)
}

// delivered records that a control has been delivered. A terminated run is over for the schedule.
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
		m.started(start) // it may have: the process that made it ready may have published it and died
	}
	m.close(start, schedule.Completion{
		RequestID: c.RequestID, Status: schedule.StatusTerminated, CloseTime: m.now.UTC(),
		Failure: &schedule.Failure{Type: "terminated", Message: cmp.Or(c.Reason, "terminated to make room for another start")},
	})
}
