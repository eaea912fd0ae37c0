package backfiller

import (
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// The share of the invoker's buffer that backfills may use (SEMANTICS §6).
const (
	bufferShare    = 500
	reservedSlots  = 50
	firstBackoff   = time.Second
	longestBackoff = time.Minute
)

// Input is everything a decision depends on.
type Input struct {
	Definition *schedule.Definition
	// Spec is the compiled Definition.Schedule.Spec.
	Spec  *specproc.Spec
	State schedule.BackfillState
	// Waiting counts the starts in the invoker's buffer, Backfills the requests that share the room, this one included.
	Waiting   int
	Backfills int
	// Taken is how far the invoker has taken over what was handed to it; zero for nothing yet.
	Taken time.Time
	Now   time.Time
}

// Decision is what the backfiller does about one request.
type Decision struct {
	// State is the new record; it need not be written unless Changed.
	State   schedule.BackfillState
	Changed bool
	// HandOff goes to the invoker before State is written; nil when there is no room or nothing left.
	HandOff *schedule.Enqueue
	// WakeAt is when to look again if the invoker does not say so earlier.
	WakeAt time.Time
	// Finished says that the invoker has everything: the record goes.
	Finished bool
}

// Decide works out the next step of one request. It is a pure function of its input.
func Decide(in Input) Decision {
	state := in.State
	if !state.Mark.IsZero() && in.Taken.Before(state.Mark) {
		return in.wait(state) // the last batch is still on its way
	}
	if state.Done {
		return Decision{State: state, Finished: true}
	}
	if state.Trigger != nil {
		return in.trigger(state)
	}
	return in.batch(state)
}

// trigger hands over the one start of a trigger, whatever room there is.
func (in *Input) trigger(state schedule.BackfillState) Decision {
	at := state.RequestTime
	start := schedule.NewStart(in.Definition, state.ID, at, at)
	start.Overlap = state.Trigger.Overlap
	state.Done = true
	return in.handOver(state, []schedule.BufferedStart{start}, schedule.Span{From: at.Add(-1), To: at})
}

// batch hands over the next times of a range, as far as there is room.
func (in *Input) batch(state schedule.BackfillState) Decision {
	from := state.Mark
	if from.IsZero() {
		from = state.Range.Start.Add(-1) // the start is inclusive
	}
	room := max(0, bufferShare-in.Waiting-reservedSlots) / max(in.Backfills, 1)
	if room == 0 {
		return in.noRoom(state, from)
	}
	out := in.Spec.ProcessTimeRange(specproc.Range{
		From: from, To: state.Range.End, Manual: true, Limit: room, Seed: in.Definition.JitterSeed(),
	})
	starts := make([]schedule.BufferedStart, len(out.Times))
	for i, t := range out.Times {
		starts[i] = schedule.NewStart(in.Definition, state.ID, t.Nominal, t.Actual)
		starts[i].Overlap = state.Range.Overlap
	}
	state.Done = !out.Truncated
	if len(starts) == 0 {
		state.Mark = out.Mark
		return Decision{State: state, Changed: true, Finished: true}
	}
	return in.handOver(state, starts, schedule.Span{From: from, To: out.Mark})
}

// noRoom waits for the invoker's buffer to drain. The invoker wakes the requests it knows of; one it has had nothing of
// yet makes itself known by handing over an empty range.
func (in *Input) noRoom(state schedule.BackfillState, from time.Time) Decision {
	if state.Mark.IsZero() {
		return in.handOver(state, nil, schedule.Span{From: from, To: from})
	}
	state.Attempt++
	d := in.wait(state)
	d.Changed = true
	return d
}

func (in *Input) handOver(state schedule.BackfillState, starts []schedule.BufferedStart, span schedule.Span) Decision {
	state.Mark, state.Attempt = span.To, 0
	state.Handed += len(starts)
	d := in.wait(state)
	d.Changed = true
	d.HandOff = &schedule.Enqueue{
		Incarnation: in.Definition.Incarnation, Version: in.Definition.Version, Source: state.ID, Span: span, Starts: starts,
	}
	return d
}

// wait looks again after a backoff of 1 s doubling to 60 s, unless the invoker wakes it.
func (in *Input) wait(state schedule.BackfillState) Decision {
	backoff := min(firstBackoff<<min(state.Attempt, 10), longestBackoff)
	return Decision{State: state, WakeAt: in.Now.Add(backoff)}
}
