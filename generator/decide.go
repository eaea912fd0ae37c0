package generator

import (
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// HandOffLimit is how many due actions one hand-off holds; what else is due in the same range is dropped and counted.
// It is the size of the invoker's buffer (SEMANTICS §6).
const HandOffLimit = 1000

// futureCount is how many future times describe shows.
const futureCount = 10

// Input is everything a decision depends on.
type Input struct {
	Definition *schedule.Definition
	// Spec is the compiled Definition.Schedule.Spec.
	Spec *specproc.Spec
	// State is the generator's record; the zero value when there is none.
	State schedule.GeneratorState
	// Remaining is how many automated actions are left, if the schedule limits them.
	Remaining int
	// LastAction is the newest start's due time and Taken how far the invoker has taken over what was handed to it. Busy
	// is whether starts wait or run, or backfills are in progress. All three matter to an exhausted schedule alone.
	LastAction, Taken time.Time
	Busy              bool
	// IdleTime is how long an exhausted schedule stays open; 0 means for ever.
	IdleTime time.Duration
	Now      time.Time
}

// Decision is what the generator does.
type Decision struct {
	// State is the new record; it need not be written unless Changed.
	State   schedule.GeneratorState
	Changed bool
	// HandOff goes to the invoker before State is written; nil when nothing is due.
	HandOff *schedule.Enqueue
	// WakeAt is when to look again, for the reason given; zero for not before something happens.
	WakeAt time.Time
	Reason schedule.Reason
	// Close says that the schedule has been idle for long enough and its definition goes.
	Close bool
}

// Decide works out what is due for one schedule, and when to look again. It is a pure function of its input; the same
// input always gives the same hand-off, so that a repeat is recognised.
func Decide(in Input) Decision {
	d := in.Definition
	state := in.State
	fresh := state.Incarnation != d.Incarnation
	if fresh {
		state = schedule.GeneratorState{Incarnation: d.Incarnation, Mark: d.CreateTime, HandedOff: d.CreateTime}
	}
	out := in.Spec.ProcessTimeRange(in.timeRange(state.Mark))

	decision := Decision{HandOff: handOff(d, state.HandedOff, out)}
	state.Mark, state.Version = out.Mark, d.Version
	if decision.HandOff != nil {
		state.HandedOff = out.Mark
	}
	state.Next, state.Future, state.IdleDeadline = time.Time{}, nil, time.Time{}
	switch {
	case d.Schedule.State.Paused:
	case out.Next.IsZero() || in.outOfActions():
		state.IdleDeadline = in.idleDeadline(state.HandedOff)
		decision.WakeAt, decision.Reason = state.IdleDeadline, schedule.ReasonIdle
		decision.Close = decision.HandOff == nil && due(state.IdleDeadline, in.Now)
	default:
		state.Next, state.Future = out.Next, in.future(state.Mark, decision.HandOff)
		decision.WakeAt, decision.Reason = state.Next, schedule.ReasonDue
	}
	decision.State = state
	decision.Changed = fresh || decision.HandOff != nil || changed(&in.State, &state)
	return decision
}

// timeRange is what there is to process: from the mark, or from the last update or unpause where that is later, to now.
// A clock behind the mark gives an empty range.
func (in *Input) timeRange(mark time.Time) specproc.Range {
	d := in.Definition
	from := latest(mark, latest(d.UpdateTime, d.ActiveSince))
	return specproc.Range{
		From: from, To: latest(from, in.Now),
		Paused:       d.Schedule.State.Paused,
		OutOfActions: in.outOfActions(),
		UpdateTime:   d.UpdateTime, CatchupWindow: d.Schedule.Policies.Catchup(), CatchupMode: d.Schedule.Policies.CatchupMode,
		Limit: HandOffLimit, Seed: d.JitterSeed(),
	}
}

// outOfActions reports whether the limit is used up. What is handed over does not count before it is executed: its
// overlap policy may drop it, which costs no action.
func (in *Input) outOfActions() bool {
	return in.Definition.Schedule.State.LimitedActions && in.Remaining <= 0
}

// idleDeadline is when an exhausted schedule closes: the idle time after its last sign of life. A hand-off is one, since
// the invoker may not have got to it yet; and as long as it has not, or something is going on, the schedule is not idle.
func (in *Input) idleDeadline(handedOff time.Time) time.Time {
	if in.IdleTime <= 0 {
		return time.Time{}
	}
	d := in.Definition
	last := latest(latest(d.CreateTime, d.UpdateTime), latest(d.ActiveSince, in.LastAction))
	last = latest(last, handedOff)
	if in.Busy || handedOff.After(latest(d.CreateTime, in.Taken)) {
		last = latest(last, in.Now)
	}
	return last.Add(in.IdleTime)
}

// future lists the next times for describe, from the mark or now, whichever is later. Of a limited schedule it lists as
// many as there will be if all that is handed over now runs.
func (in *Input) future(mark time.Time, handOff *schedule.Enqueue) []time.Time {
	count := futureCount
	if in.Definition.Schedule.State.LimitedActions {
		remaining := in.Remaining
		if handOff != nil {
			remaining -= len(handOff.Starts)
		}
		count = min(count, max(remaining, 0))
	}
	var times []time.Time
	seed := in.Definition.JitterSeed()
	next, ok := in.Spec.NextDue(latest(mark, in.Now), seed)
	for ok && len(times) < count {
		times = append(times, next.Actual)
		next, ok = in.Spec.Next(next.Nominal, seed)
	}
	return times
}

// handOff packs what a range gave for the invoker, as the next link of the chain of hand-offs.
func handOff(d *schedule.Definition, from time.Time, out specproc.Outcome) *schedule.Enqueue {
	if len(out.Times) == 0 && out.Missed.Count == 0 && out.Dropped.Count == 0 {
		return nil
	}
	e := &schedule.Enqueue{
		Incarnation: d.Incarnation, Version: d.Version, Source: schedule.SourceAuto,
		Span:   schedule.Span{From: from, To: out.Mark},
		Missed: int(out.Missed.Count), Dropped: int(out.Dropped.Count), Superseded: out.Superseded.Count,
		Starts: make([]schedule.BufferedStart, len(out.Times)),
	}
	for i, t := range out.Times {
		e.Starts[i] = schedule.NewStart(d, schedule.SourceAuto, t.Nominal, t.Actual)
	}
	return e
}

// changed reports whether the record says anything new. A mark that moved over a stretch without times does not count:
// processing the stretch again gives nothing again.
func changed(old, state *schedule.GeneratorState) bool {
	return old.Version != state.Version || !old.Next.Equal(state.Next) || !old.IdleDeadline.Equal(state.IdleDeadline)
}

func due(t, now time.Time) bool { return !t.IsZero() && !t.After(now) }

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
