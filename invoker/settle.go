package invoker

import (
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// settle applies the overlap policies until nothing changes. A start that turns out not to be allowed to execute makes room for the next.
func (m *machine) settle() {
	for m.resolve() {
	}
	m.noteAsk()
}

// resolve makes one pass and reports whether another is needed.
func (m *machine) resolve() bool {
	waiting, overlap := m.contenders()
	if len(waiting) == 0 {
		return false
	}
	r := Resolve(overlap)
	if m.dropUnfit(waiting, &r) {
		return true
	}
	each := func(indices []int, do func(*wire.BufferedStart)) {
		for _, i := range indices {
			do(waiting[i])
		}
	}
	each(r.Kept, m.deferStart)
	each(r.Skipped, func(s *wire.BufferedStart) { m.skip(s, "overlap policy "+string(m.policy(s))) })
	each(r.Replaced, func(s *wire.BufferedStart) { m.skip(s, "a later start of the same moment ends others") })
	each(r.Blocked, func(s *wire.BufferedStart) { m.skip(s, "a cancel or terminate would end it at once") })
	m.end(r.Terminate, r.Cancel)
	if m.bounds.Room != nil {
		m.admit(pick(waiting, r.Beside, r.Chosen))
		return false
	}
	each(r.Beside, m.ready)
	each(r.Chosen, m.ready)
	return false
}

// pick returns the starts at the given indices.
func pick(starts []*wire.BufferedStart, indices ...[]int) []*wire.BufferedStart {
	var picked []*wire.BufferedStart
	for _, i := range slices.Concat(indices...) {
		picked = append(picked, starts[i])
	}
	return picked
}

// contenders returns the waiting starts, in buffer order, and the input of the overlap policies for them.
func (m *machine) contenders() ([]*wire.BufferedStart, Overlap) {
	var waiting []*wire.BufferedStart
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
	return waiting, overlap
}

// dropUnfit gives up starts that would start now, or end others, but may not execute. These are starts that are too late, and automated
// starts while the schedule is paused, its namespace is frozen or no actions are left. They must not take the place of another start, so
// the policies are applied again without them. The deadline is checked first, so that a missed start uses no action.
func (m *machine) dropUnfit(waiting []*wire.BufferedStart, r *Resolution) bool {
	acting := slices.Concat(r.Beside, r.Chosen)
	for _, i := range r.Kept {
		if endsOthers(m.policy(waiting[i])) {
			acting = append(acting, i)
		}
	}
	slices.Sort(acting)
	left, dropped := m.state.RemainingActions(m.definition), false
	for _, i := range acting {
		switch s := waiting[i]; {
		case isLate(m.definition, s, m.now):
			m.miss(s)
		case m.paused && !s.Manual:
			m.drop(s, reasonPaused)
		case m.isFrozen(s):
			m.drop(s, m.bounds.Freeze.DropReason())
		case m.limited(s) && left == 0:
			m.drop(s, reasonOutOfActions)
		default:
			if m.limited(s) {
				left--
			}
			continue
		}
		dropped = true
	}
	return dropped
}

func (m *machine) policy(s *wire.BufferedStart) schedule.OverlapPolicy {
	return s.Overlap.Or(m.definition.Schedule.Policies.Overlap).Or(schedule.OverlapSkip)
}

func (m *machine) deferStart(s *wire.BufferedStart) {
	if s.Phase == schedule.PhasePending {
		s.Phase = schedule.PhaseDeferred
		s.Delay = nil
		event := startEvent(schedule.EventDeferred, s, "waits for a run to end, overlap policy "+string(m.policy(s)))
		event.Overlap = m.policy(s)
		m.event(event)
	}
}

// skip gives up a start because of its overlap policy.
func (m *machine) skip(s *wire.BufferedStart, reason string) {
	m.state.Counters.OverlapSkipped++
	event := startEvent(schedule.EventSkipped, s, reason)
	event.Overlap = m.policy(s)
	m.event(event)
	remove(s)
}

// drop gives up a start for a reason other than its overlap policy or its deadline.
func (m *machine) drop(s *wire.BufferedStart, reason string) {
	m.state.Counters.BufferDropped++
	m.eventOf(schedule.EventDropped, s, reason)
	remove(s)
}

func (m *machine) miss(s *wire.BufferedStart) {
	m.state.Counters.MissedCatchup++
	event := startEvent(schedule.EventMissed, s, reasonMissed)
	event.Count = 1
	m.event(event)
	remove(s)
}

// ready marks a chosen start as ready to execute.
func (m *machine) ready(s *wire.BufferedStart) {
	if m.limited(s) {
		m.state.LimitUsed++
	}
	s.Phase, s.Attempt, s.Delay = schedule.PhaseReady, 1, nil
	action := &m.definition.Schedule.Action
	s.RunID, s.TaskQueue, s.ActionKind = wire.RunID(s.RequestID), action.TaskQueue, ""
	if action.Kind.IsWorkflow() {
		s.ActionKind = action.Kind
	}
	m.out.Changed = true
}

// limited reports whether a start uses one of the remaining actions.
func (m *machine) limited(s *wire.BufferedStart) bool {
	return m.definition.Schedule.State.LimitedActions && !s.Manual
}

// isLate reports whether an automated start is past its deadline.
func isLate(d *wire.Definition, s *wire.BufferedStart, now time.Time) bool {
	window := max(d.Schedule.Policies.Catchup(), minDeadline)
	return !s.Manual && now.Sub(s.Actual) > window
}

// end asks the oldest runs to end: it terminates some, then cancels others.
func (m *machine) end(terminate, cancel int) {
	for i := range m.state.Starts {
		s := &m.state.Starts[i]
		switch {
		case s.Phase != schedule.PhaseStarted && s.Phase != schedule.PhaseReady:
		case terminate > 0:
			terminate--
			m.ask(schedule.ControlTerminate, schedule.OverlapTerminateOther, schedule.EventTerminated, s)
		case cancel > 0:
			cancel--
			m.ask(schedule.ControlCancel, schedule.OverlapCancelOther, schedule.EventCancelRequested, s)
		default:
			return
		}
	}
}

// ask asks a run to end, because of the policy of another start, unless it has been asked already.
func (m *machine) ask(
	kind schedule.ControlKind, policy schedule.OverlapPolicy, happened schedule.EventKind, s *wire.BufferedStart,
) {
	if s.Ending == kind || s.Ending == schedule.ControlTerminate {
		return
	}
	s.Ending = kind
	m.control(kind, s)
	event := startEvent(happened, s, "to make room for another start")
	event.Overlap = policy
	m.event(event)
}

func (m *machine) control(kind schedule.ControlKind, s *wire.BufferedStart) {
	m.state.Controls = append(m.state.Controls, *controlOf(s, kind))
	m.out.Changed = true
}

// controlOf returns a control for the run of a start.
func controlOf(s *wire.BufferedStart, kind schedule.ControlKind) *wire.PendingControl {
	return &wire.PendingControl{
		Kind: kind, RequestID: s.RequestID, WorkflowID: s.WorkflowID, RunID: s.RunID, TaskQueue: s.TaskQueue, ActionKind: s.ActionKind,
	}
}

// backoff is the wait after a failed attempt: 1 s doubling to 60 s.
func backoff(attempt int) time.Duration {
	return min(firstBackoff<<min(attempt-1, 10), lastBackoff)
}
