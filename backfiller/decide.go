package backfiller

import (
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// The waits before a request is looked at again, unless the invoker wakes it earlier.
const (
	firstBackoff   = time.Second
	longestBackoff = time.Minute
)

// Input is everything a decision depends on.
type Input struct {
	Definition *wire.Definition
	// Spec is the compiled Definition.Schedule.Spec.
	Spec  *specproc.Spec
	State wire.BackfillState
	// Invoker is the invoker's record; the zero value if there is none of this incarnation.
	Invoker wire.InvokerState
	// Noted is the version of the definition up to which the generator has noted that it made the records of the requests in it; zero for a
	// request that did not come with a definition.
	Noted uint64
	Now   time.Time
}

// Decision is what the backfiller does about one request.
type Decision struct {
	// State is the new record; it need not be written unless Changed.
	State   wire.BackfillState
	Changed bool
	// HandOff goes to the invoker before State is written; nil if there is no room or nothing left.
	HandOff *wire.Enqueue
	// WakeInvoker says that the invoker does not know yet that the request is canceled.
	WakeInvoker bool
	// WakeAt is when to look again if the invoker does not say so earlier.
	WakeAt time.Time
	// Finished says that the request is over: the record is removed once the events are stored.
	Finished bool
	// WakeGenerator says that the generator must learn of the end, because the schedule may be one that closes when it has been idle.
	WakeGenerator bool
	// Events are the event of the request, when it is looked at for the first time, and the event of its end.
	Events []schedule.Event
}

// Decide decides the next step of one request. It is a pure function of its input.
//
// A request is over when everything has been handed over and none of its starts waits any more. Until then it counts as pending and shows
// its progress.
func Decide(in Input) Decision {
	d := in.next()
	if in.State.Mark.IsZero() {
		// The frontend stores it too, but may die before that.
		d.Events = append([]schedule.Event{in.State.Requested(in.Definition.Key())}, d.Events...)
		// The event of a trigger that the frontend has handed over comes only once, however long its start waits.
		d.Changed = d.Changed || !d.Finished && !d.State.Mark.IsZero()
	}
	return d
}

func (in *Input) next() Decision {
	state := in.State
	if state.Trigger != nil && state.Mark.IsZero() && in.Invoker.HandedOver(state.ID, state.RequestTime) {
		state = state.Triggered() // by the frontend
	}
	switch {
	case state.Canceled:
		return in.cancel(state)
	case in.onItsWay(state):
		return in.wait(state)
	case state.Done && in.waiting() > 0:
		return in.rest(state)
	case state.Done:
		return in.finish(state, schedule.EventBackfillCompleted)
	case state.Trigger != nil:
		return in.trigger(state)
	case state.Mark.IsZero():
		return in.announce(state)
	}
	return in.batch(state)
}

// known reports whether the invoker has received something of the request.
func (in *Input) known() bool {
	_, known := in.Invoker.Sources[in.State.ID]
	return known
}

// onItsWay reports whether the invoker has not taken over the last batch yet.
func (in *Input) onItsWay(state wire.BackfillState) bool {
	return !state.Mark.IsZero() && !in.Invoker.HandedOver(state.ID, state.Mark)
}

// waiting counts the starts of the request that wait in the buffer.
func (in *Input) waiting() int {
	count := 0
	for i := range in.Invoker.Starts {
		if s := &in.Invoker.Starts[i]; s.Source == in.State.ID && s.Waiting() {
			count++
		}
	}
	return count
}

// sharing counts the requests that share the room for backfills, including this one.
func (in *Input) sharing() int {
	count := 0
	for source, progress := range in.Invoker.Sources {
		if source != schedule.SourceAuto && source != in.State.ID && !progress.Complete && !progress.Withdrawn {
			count++
		}
	}
	return count + 1
}

// cancel waits until the invoker has dropped the waiting starts and will drop late ones.
func (in *Input) cancel(state wire.BackfillState) Decision {
	switch {
	case !in.known() && state.Mark.IsZero() && state.Trigger != nil:
		// The frontend may have handed it over, or be about to. Only the invoker can say that it will not run.
		return in.trigger(state)
	case !in.known() && state.Mark.IsZero():
		return in.finish(state, schedule.EventBackfillCanceled) // it has never handed over anything
	case !in.Invoker.Sources[state.ID].Withdrawn:
		d := in.wait(state)
		d.WakeInvoker = true
		return d
	case in.onItsWay(state):
		return in.wait(state)
	case in.waiting() > 0:
		return in.rest(state)
	}
	return in.finish(state, schedule.EventBackfillCanceled)
}

// trigger hands over the one start of a trigger, regardless of the room. The frontend has already done so unless it died.
func (in *Input) trigger(state wire.BackfillState) Decision {
	d := in.wait(state.Triggered())
	d.Changed, d.HandOff = true, state.TriggerHandOff(in.Definition)
	return d
}

// announce makes a range known to the invoker before anything of it is handed over. The room is shared among the backfills that the invoker
// knows; otherwise, each of a hundred simultaneous backfills would take all of it.
func (in *Input) announce(state wire.BackfillState) Decision {
	before := state.Range.Start.Add(-1) // the start is inclusive
	in.count(&state, before)
	if state.Total == 0 {
		return in.finish(state, schedule.EventBackfillCompleted)
	}
	return in.handOver(state, nil, wire.Span{From: before, To: before})
}

// batch hands over the next times of a range, as far as there is room.
func (in *Input) batch(state wire.BackfillState) Decision {
	from := in.passHandedOver(&state)
	in.count(&state, from)
	room := wire.BackfillRoom(&in.Invoker, in.sharing())
	if room == 0 {
		return in.later(state)
	}
	out := in.Spec.ProcessTimeRange(specproc.Range{
		From: from, To: state.Range.End, Manual: true, Limit: room, Seed: in.Definition.JitterSeed(),
	})
	starts := make([]wire.BufferedStart, len(out.Times))
	for i, t := range out.Times {
		starts[i] = wire.NewStart(in.Definition, state.ID, t.Nominal, t.Actual)
		starts[i].Overlap, starts[i].Identity = state.Range.Overlap, state.Identity
	}
	state.Done = !out.Truncated
	return in.handOver(state, starts, wire.Span{From: state.Mark, To: out.Mark})
}

// passHandedOver returns the mark, or a later position: it passes over times after the mark whose nominal time is not after the mark. Only
// an update that changes the jitter makes such times: it moves times past the mark that have been handed over. Nothing is left out. Jitter
// never reaches the next nominal time, so all times with a nominal time up to the mark came before it.
func (in *Input) passHandedOver(state *wire.BackfillState) time.Time {
	from, seed := state.Mark, in.Definition.JitterSeed()
	if state.Handed == 0 {
		return from // the mark is the start of the range, and not a time of the spec
	}
	next, ok := in.Spec.NextDue(from, seed)
	for ok && !next.Nominal.After(state.Mark) && !next.Actual.After(state.Range.End) {
		from = next.Actual
		next, ok = in.Spec.Next(next.Nominal, seed)
	}
	return from
}

// count counts the times of the range, anew after each change of the definition.
func (in *Input) count(state *wire.BackfillState, from time.Time) {
	if state.TotalVersion == in.Definition.Version {
		return
	}
	left := in.Spec.Count(from, state.Range.End, in.Definition.JitterSeed())
	state.Total, state.TotalVersion = min(state.Handed+left, wire.MaxBackfillTotal), in.Definition.Version
}

// later looks again, each time after a slightly longer wait. It waits for the invoker's buffer to drain, or for the generator.
func (in *Input) later(state wire.BackfillState) Decision {
	state.Attempt++
	d := in.wait(state)
	d.Changed = true
	return d
}

func (in *Input) handOver(state wire.BackfillState, starts []wire.BufferedStart, span wire.Span) Decision {
	state.Mark, state.Attempt = span.To, 0
	state.Handed += len(starts)
	d := in.wait(state)
	d.Changed = true
	d.HandOff = &wire.Enqueue{
		Incarnation: in.Definition.Incarnation, Version: in.Definition.Version, Source: state.ID, Span: span, Starts: starts,
		Complete: state.Done,
	}
	return d
}

// wait looks again after a backoff of 1 s doubling to 60 s, unless the invoker wakes it.
func (in *Input) wait(state wire.BackfillState) Decision {
	backoff := min(firstBackoff<<min(state.Attempt, 10), longestBackoff)
	return Decision{State: state, WakeAt: in.Now.Add(backoff)}
}

// rest waits for the invoker, which reports when none of the starts waits any more.
func (in *Input) rest(state wire.BackfillState) Decision {
	return Decision{State: state, WakeAt: in.Now.Add(longestBackoff)}
}

// finish ends a request. A trigger that was not canceled ends with its start, which has its own events. The generator must learn of the end
// if the schedule may close, because it closes some time after its last sign of life.
//
// If the request came with a definition, its record stays until the generator has noted that it made it. Otherwise, a generator that died
// before the note would make the record again, if no other generator takes over until the trace of the record is gone too.
func (in *Input) finish(state wire.BackfillState, kind schedule.EventKind) Decision {
	if state.Version > in.Noted {
		return in.later(state)
	}
	d := Decision{State: state, Finished: true, WakeGenerator: in.Spec.MayClose(in.Definition, in.Now)}
	if state.Trigger != nil && kind == schedule.EventBackfillCompleted {
		return d
	}
	event := schedule.Event{
		ID: state.Incarnation + "-" + string(kind) + "-" + state.ID, Time: in.Now.UTC(),
		Namespace: in.Definition.Namespace, ScheduleID: in.Definition.ID, Kind: kind,
		Count: state.Handed, Source: state.ID, Identity: state.Identity, Trace: state.Trace,
	}
	if state.Canceled {
		event.Identity, event.RequestID = state.CanceledBy, state.CancelRequestID
	}
	if state.Range != nil {
		event.First, event.Last = state.Range.Start, state.Range.End
	}
	d.Events = []schedule.Event{event}
	return d
}
