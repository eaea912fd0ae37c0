package invoker

import (
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// settle applies the overlap policies until nothing changes: a chosen start that turns out to be too late makes room for
// the next.
func (m *machine) settle() {
	m.expireRetries()
	for m.resolve() {
	}
}

// resolve makes one pass and reports whether another may choose more.
func (m *machine) resolve() bool {
	var waiting []*schedule.BufferedStart
	overlap := Overlap{Limit: max(m.definition.Schedule.Policies.ConcurrencyLimit, 1)}
	for i := range m.state.Starts {
		s := &m.state.Starts[i]
		switch s.Phase {
		case schedule.PhasePending, schedule.PhaseDeferred:
			waiting = append(waiting, s)
			overlap.Policies = append(overlap.Policies, m.policy(s))
		case schedule.PhaseReady, schedule.PhaseStarted:
			overlap.Running++
		}
	}
	if len(waiting) == 0 {
		return false
	}
	r := Resolve(overlap)
	each := func(indices []int, do func(*schedule.BufferedStart)) {
		for _, i := range indices {
			do(waiting[i])
		}
	}
	each(r.Kept, m.deferStart)
	each(r.Skipped, func(s *schedule.BufferedStart) { m.skip(s, "overlap policy "+string(m.policy(s))) })
	each(r.Replaced, func(s *schedule.BufferedStart) { m.skip(s, "a later start of the same moment ends others") })
	each(r.Blocked, func(s *schedule.BufferedStart) { m.skip(s, "a cancel or terminate would end it at once") })
	m.end(schedule.ControlTerminate, r.Terminate)
	m.end(schedule.ControlCancel, r.Cancel)
	dropped := false
	ready := func(s *schedule.BufferedStart) { dropped = !m.ready(s) || dropped }
	each(r.Beside, ready)
	each(r.Chosen, ready)
	return dropped
}

func (m *machine) policy(s *schedule.BufferedStart) schedule.OverlapPolicy {
	return s.Overlap.Or(m.definition.Schedule.Policies.Overlap).Or(schedule.OverlapSkip)
}

func (m *machine) deferStart(s *schedule.BufferedStart) {
	if s.Phase == schedule.PhasePending {
		s.Phase = schedule.PhaseDeferred
		m.eventOf(schedule.EventDeferred, s, "waits for a run to end, overlap policy "+string(m.policy(s)))
	}
}

func (m *machine) skip(s *schedule.BufferedStart, reason string) {
	m.state.Counters.OverlapSkipped++
	m.eventOf(schedule.EventSkipped, s, reason)
	remove(s)
}

// drop gives up a start that was chosen.
func (m *machine) drop(s *schedule.BufferedStart, reason string) {
	m.state.Counters.BufferDropped++
	m.eventOf(schedule.EventDropped, s, reason)
	remove(s)
}

func (m *machine) miss(s *schedule.BufferedStart) {
	m.state.Counters.MissedCatchup++
	event := startEvent(schedule.EventMissed, s, "later than the catch-up window")
	event.Count = 1
	m.event(event)
	remove(s)
}

// ready marks a chosen start as one to execute, unless it may not: then it is dropped and false returned. The deadline
// is checked first, so that a missed start takes no remaining action.
func (m *machine) ready(s *schedule.BufferedStart) bool {
	limited := m.definition.Schedule.State.LimitedActions && !s.Manual
	switch {
	case m.late(s):
		m.miss(s)
		return false
	case m.paused && !s.Manual:
		m.drop(s, "the schedule is paused")
		return false
	case limited && m.state.RemainingActions(m.definition) == 0:
		m.drop(s, "no remaining actions")
		return false
	case limited:
		m.state.LimitUsed++
	}
	s.Phase, s.Attempt = schedule.PhaseReady, 1
	s.RunID, s.TaskQueue = schedule.RunID(s.RequestID), m.definition.Schedule.Action.TaskQueue
	m.out.Changed = true
	return true
}

// late reports whether an automated start is past its deadline.
func (m *machine) late(s *schedule.BufferedStart) bool {
	window := max(m.definition.Schedule.Policies.Catchup(), minDeadline)
	return !s.Manual && m.now.Sub(s.Actual) > window
}

// expireRetries gives up ready starts whose next attempt would be too late.
func (m *machine) expireRetries() {
	for i := range m.state.Starts {
		if s := &m.state.Starts[i]; s.Phase == schedule.PhaseReady && s.Attempt > 1 && m.late(s) {
			m.miss(s)
		}
	}
}

// end asks the oldest runs to end, unless they have been asked already.
func (m *machine) end(kind schedule.ControlKind, count int) {
	for i := range m.state.Starts {
		s := &m.state.Starts[i]
		if count == 0 {
			return
		}
		if s.Phase != schedule.PhaseStarted && s.Phase != schedule.PhaseReady {
			continue
		}
		count--
		if s.Ending == kind || s.Ending == schedule.ControlTerminate {
			continue
		}
		s.Ending = kind
		m.control(kind, s)
		m.eventOf(schedule.EventCancelRequested, s, string(kind)+", to make room for another start")
	}
}

func (m *machine) control(kind schedule.ControlKind, s *schedule.BufferedStart) {
	m.state.Controls = append(m.state.Controls, schedule.PendingControl{
		Kind: kind, RequestID: s.RequestID, WorkflowID: s.WorkflowID, RunID: s.RunID, TaskQueue: s.TaskQueue,
	})
	m.out.Changed = true
}

// backoff is the wait after a failed attempt: 1 s doubling to 60 s.
func backoff(attempt int) time.Duration {
	return min(firstBackoff<<min(attempt-1, 10), lastBackoff)
}
