package generator

import (
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// HandOffLimit is how many due actions one hand-off holds; what else is due in the same range is dropped and counted.
// It is the size of the invoker's buffer (docs/semantics.md §6).
const HandOffLimit = 1000

// futureCount is how many future times describe shows.
const futureCount = 10

// Input is everything a decision depends on.
type Input struct {
	Definition *wire.Definition
	// Spec is the compiled Definition.Schedule.Spec.
	Spec *specproc.Spec
	// Zone says by which rules of its zone Spec was compiled; empty where there are none that may change.
	Zone wire.ZoneRules
	// State is the generator's record; the zero value when there is none.
	State wire.GeneratorState
	// Remaining is how many automated actions are left, if the schedule limits them.
	Remaining int
	// LastAction is the newest start's due time. Taken is up to when the invoker has taken over every hand-off: one that
	// came before an earlier one does not count yet. Busy is whether starts wait or run, or backfills are in progress. All
	// three matter to an exhausted schedule alone.
	LastAction, Taken time.Time
	Busy              bool
	// Told are versions of the definition whose events have been stored.
	Told []uint64
	// Freeze is the newest of the namespace, whether it holds now or not; nil if there was none.
	Freeze *schedule.Freeze
	// IdleTime is how long an exhausted schedule stays open; 0 means for ever.
	IdleTime time.Duration
	Now      time.Time
}

// Decision is what the generator does.
type Decision struct {
	// State is the new record; it need not be written unless Changed.
	State   wire.GeneratorState
	Changed bool
	// HandOff goes to the invoker before State is written; nil when nothing is due.
	HandOff *wire.Enqueue
	// WakeAt is when to look again, for the reason given; zero for not before something happens.
	WakeAt time.Time
	Reason wire.Reason
	// Close says that the schedule has been idle for long enough and its definition goes.
	Close bool
	// Requests are the triggers and backfills that the definition has brought since the last decision. They become records
	// before State is written.
	Requests []wire.BackfillState
	// Events tell of what the definition has brought since the last decision. They are stored before State is written.
	Events []schedule.Event
	// Updated says that this is the first decision about the version of a definition, other than a new one: the invoker
	// has to see it as well.
	Updated bool
}

// Decide works out what is due for one schedule, and when to look again. It is a pure function of its input; the same
// input always gives the same hand-off, so that a repeat is recognised.
func Decide(in Input) Decision {
	d := in.Definition
	state := in.State
	fresh := state.Incarnation != d.Incarnation
	if fresh {
		state = wire.GeneratorState{Incarnation: d.Incarnation, Mark: d.CreateTime, HandedOff: d.CreateTime}
	}
	begin, back := in.rezone(&state, in.begin(state))
	from := begin
	if !back {
		from = in.passHandedOver(begin, state.LastNominal)
	}
	out, frozen := in.process(from)

	decision := Decision{
		HandOff:  handOff(d, state.HandedOff, out),
		Requests: newRequests(d, state.Version), Events: in.newEvents(state.Version),
		Updated: !fresh && d.Version > state.Version,
	}
	state.Mark, state.Version = out.Mark, d.Version
	if now := latest(begin, in.Now); out.Mark.After(now) {
		state.Mark = now // behind it lie times that are not to come again; the next update may give others before those
	}
	if decision.HandOff != nil {
		if frozen {
			decision.HandOff.DropReason = in.Freeze.DropReason()
		}
		state.HandedOff = out.Mark
		state.LastNominal = latest(state.LastNominal, lastNominal(out))
	}
	state.Next, state.Future, state.IdleDeadline = time.Time{}, nil, time.Time{}
	switch {
	case d.Schedule.State.Paused:
	case out.Next.IsZero() || in.outOfActions():
		state.IdleDeadline = in.idleDeadline(state.HandedOff)
		decision.WakeAt, decision.Reason = state.IdleDeadline, wire.ReasonIdle
		// The record says whose end is to be told of by whoever finds no definition, so it is written first.
		settled := !fresh && decision.HandOff == nil && len(decision.Requests) == 0 && len(decision.Events) == 0
		decision.Close = settled && due(state.IdleDeadline, in.Now)
	default:
		state.Next, state.Future = out.Next, in.future(latest(out.Mark, in.Now), decision.HandOff)
		decision.WakeAt, decision.Reason = state.Next, wire.ReasonDue
	}
	in.noteZone(&state)
	decision.State = state
	if event := in.rezoned(&decision); event != nil {
		decision.Events = append(decision.Events, *event)
	}
	decision.Changed = fresh || decision.HandOff != nil || changed(&in.State, &state)
	return decision
}

// begin is where the range to process begins: at the mark, or at the last update or unpause where that is later, or where other
// calendars have come.
func (in *Input) begin(state wire.GeneratorState) time.Time {
	return latest(latest(state.Mark, in.replanned(&state)), latest(in.Definition.UpdateTime, in.Definition.ActiveSince))
}

// replanned returns up to when the calendars before have left out whatever those of now may give; zero where they have not changed since
// the record was written. The mark does not move over a stretch without times, so the record says it by the next time it knows of. If that
// has come before the change, what has come since is taken to be due by both.
func (in *Input) replanned(state *wire.GeneratorState) time.Time {
	d := in.Definition
	if state.Version >= d.CalendarsVersion {
		return time.Time{}
	}
	version, since := d.CalendarsVersion, d.ReplanTime
	// Calendars may have changed more than once since.
	if first := slices.IndexFunc(d.Events, func(e wire.DefinitionEvent) bool {
		return e.Version > state.Version && e.Event.Kind == schedule.EventReplanned
	}); first >= 0 {
		version, since = d.Events[first].Version, d.Events[first].Event.Time
	}
	if state.Version+1 < version {
		return d.ReplanFrom // the record does not say what was due by the version before
	}
	if !state.Next.IsZero() && state.Next.Before(since) {
		return state.Next.Add(-1)
	}
	return since
}

// timeRange is a range to process.
func (in *Input) timeRange(from, to time.Time) specproc.Range {
	d := in.Definition
	return specproc.Range{
		From: from, To: to,
		Paused:       d.Schedule.State.Paused,
		OutOfActions: in.outOfActions(),
		UpdateTime:   d.UpdateTime, CatchupWindow: d.Schedule.Policies.Catchup(), CatchupMode: d.Schedule.Policies.CatchupMode,
		Limit: HandOffLimit, Seed: d.JitterSeed(),
	}
}

// passHandedOver returns from, or what lies behind the times after it whose nominal time is not newer than the newest one
// handed over. Only an update that changes the jitter makes such times: it moves what has been handed over past the mark.
func (in *Input) passHandedOver(from, lastNominal time.Time) time.Time {
	seed := in.Definition.JitterSeed()
	next, ok := in.Spec.NextDue(from, seed)
	for ok && !next.Nominal.After(lastNominal) {
		from = next.Actual
		next, ok = in.Spec.Next(next.Nominal, seed)
	}
	return from
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

// future lists the next times after one for describe, but those to skip. Of a limited schedule it lists as many as there
// will be if all that is handed over now runs.
func (in *Input) future(after time.Time, handOff *wire.Enqueue) []time.Time {
	count := futureCount
	if in.Definition.Schedule.State.LimitedActions {
		count = min(count, max(in.Remaining-toStart(handOff), 0))
	}
	var times []time.Time
	seed := in.Definition.JitterSeed()
	next, ok := in.Spec.NextDue(after, seed)
	for ok && len(times) < count {
		if !skips(in.Definition, next.Nominal) {
			times = append(times, next.Actual)
		}
		next, ok = in.Spec.Next(next.Nominal, seed)
	}
	return times
}

// toStart counts the starts of a hand-off that are not to be skipped.
func toStart(handOff *wire.Enqueue) int {
	count := 0
	if handOff != nil {
		for i := range handOff.Starts {
			if !handOff.Starts[i].Skip {
				count++
			}
		}
	}
	return count
}

// skips reports whether somebody has asked to skip a nominal time. The times to skip are in order.
func skips(d *wire.Definition, nominal time.Time) bool {
	_, found := slices.BinarySearchFunc(d.Skips, nominal, time.Time.Compare)
	return found
}

// newEvents are those that came with a version later than the given one, and may not be stored yet.
func (in *Input) newEvents(version uint64) []schedule.Event {
	var events []schedule.Event
	for i := range in.Definition.Events {
		if e := &in.Definition.Events[i]; e.Version > version && !slices.Contains(in.Told, e.Version) {
			events = append(events, e.Event)
		}
	}
	return events
}

// newRequests are those that came with a version later than the given one.
func newRequests(d *wire.Definition, version uint64) []wire.BackfillState {
	var requests []wire.BackfillState
	for i := range d.Requests {
		if r := &d.Requests[i]; r.Version > version && r.Incarnation == d.Incarnation {
			requests = append(requests, *r)
		}
	}
	return requests
}

// lastNominal is the newest nominal time that a range has settled.
func lastNominal(out specproc.Outcome) time.Time {
	last := latest(out.Missed.Last, latest(out.Dropped.Last, out.Superseded.Last))
	if len(out.Times) > 0 {
		last = latest(last, out.Times[len(out.Times)-1].Nominal)
	}
	return last
}

// handOff packs what a range gave for the invoker, as the next link of the chain of hand-offs.
func handOff(d *wire.Definition, from time.Time, out specproc.Outcome) *wire.Enqueue {
	if isEmpty(&out) {
		return nil
	}
	e := &wire.Enqueue{
		Incarnation: d.Incarnation, Version: d.Version, Source: schedule.SourceAuto,
		Span:   wire.Span{From: from, To: out.Mark},
		Missed: out.Missed.Count, Dropped: out.Dropped.Count, Superseded: out.Superseded.Count,
		MissedSpan: spanOf(out.Missed), DroppedSpan: spanOf(out.Dropped), SupersededSpan: spanOf(out.Superseded),
		Starts: make([]wire.BufferedStart, len(out.Times)),
	}
	for i, t := range out.Times {
		e.Starts[i] = wire.NewStart(d, schedule.SourceAuto, t.Nominal, t.Actual)
		e.Starts[i].Skip = skips(d, t.Nominal)
	}
	return e
}

func spanOf(t specproc.Tally) wire.Span { return wire.Span{From: t.First, To: t.Last} }

// changed reports whether the record says anything new. A mark that moved over a stretch without times does not count:
// processing the stretch again gives nothing again.
func changed(old, state *wire.GeneratorState) bool {
	return old.Version != state.Version || old.ZoneRules != state.ZoneRules ||
		!old.Next.Equal(state.Next) || !old.IdleDeadline.Equal(state.IdleDeadline)
}

func due(t, now time.Time) bool { return !t.IsZero() && !t.After(now) }

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
