package generator

import (
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// HandOffLimit is how many due actions one hand-off holds. Further actions that are due in the same range are dropped and counted. The
// limit is the size of the invoker's buffer (docs/semantics.md §6).
const HandOffLimit = 1000

// futureCount is how many future times describe shows.
const futureCount = 10

// Input is everything a decision depends on.
type Input struct {
	Definition *wire.Definition
	// Spec is the compiled Definition.Schedule.Spec.
	Spec *specproc.Spec
	// Zone names the time zone rules that Spec was compiled with. It is empty if the spec has no rules that may change.
	Zone wire.ZoneRules
	// State is the generator's record, or the zero value if there is none.
	State wire.GeneratorState
	// Remaining is how many automated actions are left, if the schedule limits them.
	Remaining int
	// These three matter only for an exhausted schedule. LastAction is the due time of the newest start. Taken is the time up to which the
	// invoker has taken over every hand-off; a hand-off that has overtaken an earlier one does not count yet. Busy says whether starts wait
	// or run, or backfills are in progress.
	LastAction, Taken time.Time
	Busy              bool
	// Told are versions of the definition whose events have been stored.
	Told []uint64
	// Freeze is the newest freeze of the namespace, whether it holds now or not, or nil if there never was one.
	Freeze *schedule.Freeze
	// IdleTime is how long an exhausted schedule stays open; 0 means forever.
	IdleTime time.Duration
	Now      time.Time
}

// Decision is what the generator does.
type Decision struct {
	// State is the new record; it need not be written unless Changed.
	State   wire.GeneratorState
	Changed bool
	// HandOff goes to the invoker before State is written. It is nil if nothing is due.
	HandOff *wire.Enqueue
	// WakeAt is when to look again, for the given reason. It is zero if nothing happens without a new message.
	WakeAt time.Time
	Reason wire.Reason
	// Close says that the schedule has been idle for long enough: its definition is to be deleted.
	Close bool
	// Requests are the triggers and backfills that came with the definition since the last decision. Their records are made before
	// State is written.
	Requests []wire.BackfillState
	// Events are the events of the changes of the definition since the last decision. They are stored before State is written.
	Events []schedule.Event
	// Updated says that this is the first decision about a changed version of a definition. The invoker must see the version as well.
	Updated bool
}

// Decide works out what is due for one schedule, and when to look again. It is a pure function of its input. The same input always gives
// the same hand-off, so the invoker recognises a repeat.
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
		state.Mark = now // times before now must not come again, even if the next update gives other times there
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
		// Write the record first: whoever finds no definition learns from it whose end to report.
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

// begin is the beginning of the range to process: the latest of the mark, the last update, the last unpause and the last change of
// calendars.
func (in *Input) begin(state wire.GeneratorState) time.Time {
	return latest(latest(state.Mark, in.replanned(&state)), latest(in.Definition.UpdateTime, in.Definition.ActiveSince))
}

// replanned returns the time up to which the old calendars decided, if the calendars have changed since the record was written; otherwise
// zero. Times up to it that only the new calendars give do not come. The mark does not move over a stretch without times, so the next time
// in the record tells. If that next time came before the change, times since then count as due by both calendars.
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
		return d.ReplanFrom // the record does not say what was due by the earlier version
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

// passHandedOver returns from, or a later time behind all times that were handed over already. A time was handed over if its nominal time
// is not newer than the newest nominal time handed over. Only an update that changes the jitter moves such times past the mark.
func (in *Input) passHandedOver(from, lastNominal time.Time) time.Time {
	seed := in.Definition.JitterSeed()
	next, ok := in.Spec.NextDue(from, seed)
	for ok && !next.Nominal.After(lastNominal) {
		from = next.Actual
		next, ok = in.Spec.Next(next.Nominal, seed)
	}
	return from
}

// outOfActions reports whether the limit of actions is used up. An action counts when it is executed, not when it is handed over: the
// overlap policy may drop it, which costs no action.
func (in *Input) outOfActions() bool {
	return in.Definition.Schedule.State.LimitedActions && in.Remaining <= 0
}

// idleDeadline is when an exhausted schedule closes: the idle time after its last sign of life. A hand-off is a sign of life, since the
// invoker may not have taken it over yet. While it has not, or while anything is in progress, the schedule is not idle.
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

// future lists the next times after a time for describe, without the times to skip. For a schedule with limited actions it lists as many
// times as are left if everything that is handed over now runs.
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

// toStart counts the starts of a hand-off that are not marked as skipped.
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

// skips reports whether a user has asked to skip a nominal time. The times to skip are sorted.
func skips(d *wire.Definition, nominal time.Time) bool {
	_, found := slices.BinarySearchFunc(d.Skips, nominal, time.Time.Compare)
	return found
}

// newEvents are the events of versions later than the given one. They may not be stored yet.
func (in *Input) newEvents(version uint64) []schedule.Event {
	var events []schedule.Event
	for i := range in.Definition.Events {
		if e := &in.Definition.Events[i]; e.Version > version && !slices.Contains(in.Told, e.Version) {
			events = append(events, e.Event)
		}
	}
	return events
}

// newRequests are the requests that came with versions later than the given one.
func newRequests(d *wire.Definition, version uint64) []wire.BackfillState {
	var requests []wire.BackfillState
	for i := range d.Requests {
		if r := &d.Requests[i]; r.Version > version && r.Incarnation == d.Incarnation {
			requests = append(requests, *r)
		}
	}
	return requests
}

// lastNominal is the newest nominal time that a range has dealt with.
func lastNominal(out specproc.RangeResult) time.Time {
	last := latest(out.Missed.Last, latest(out.Dropped.Last, out.Superseded.Last))
	if len(out.Times) > 0 {
		last = latest(last, out.Times[len(out.Times)-1].Nominal)
	}
	return last
}

// handOff makes the hand-off of a range's times, as the next link in the chain of hand-offs.
func handOff(d *wire.Definition, from time.Time, out specproc.RangeResult) *wire.Enqueue {
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

// changed reports whether the record says anything new. A mark that moved over a stretch without times does not count, since processing
// the stretch again gives nothing again.
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
