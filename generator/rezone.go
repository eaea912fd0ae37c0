package generator

import (
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// maxShift is how far apart two editions of the time zone data may be about one zone, to be recognised by the next time alone.
const maxShift = 3 * time.Hour

// rezone prepares a decision for what other rules of the zone mean, if the record was made by other ones than those of now.
// Times that name hours are those of a clock on the wall: each of them comes once. Where the new rules have them later, those that have
// come already do not come again; where they have them earlier, those that nobody has had yet still come. All else goes by
// instants, and nothing changes for it. begin is where the range to process begins otherwise; rezone returns where it does.
// back says that this is earlier, and that what has been handed over is left out already.
func (in *Input) rezone(state *wire.GeneratorState, begin time.Time) (from time.Time, back bool) {
	d := in.Definition
	if state.Version != d.Version && d.UpdateTime.After(state.Mark) {
		state.Passed = time.Time{} // another spec, perhaps in another zone: it begins with the update
		return begin, false
	}
	if from = begin; in.hasOtherZone(state) {
		from = in.shift(state, begin)
	}
	if from.Before(begin) {
		return from, true
	}
	if !state.Passed.After(from) {
		state.Passed = time.Time{}
	}
	if !state.Passed.IsZero() {
		in.Spec = in.Spec.Resumed(state.Passed, time.Time{}, nil)
	}
	return from, false
}

// hasOtherZone reports whether the record was made by other rules of the zone of the spec.
func (in *Input) hasOtherZone(state *wire.GeneratorState) bool {
	return state.Incarnation == in.Definition.Incarnation && in.Zone.Rules != "" && state.ZoneRules != in.Zone.Rules
}

// shift returns where a range begins by the new rules.
func (in *Input) shift(state *wire.GeneratorState, begin time.Time) time.Time {
	later := in.later(state)
	switch {
	case later > 0 && !state.LastNominal.IsZero():
		state.Passed = latest(state.Passed, state.LastNominal.Add(later))
	case later < 0:
		state.Passed = time.Time{}
		return in.back(state, begin, later)
	}
	return begin
}

// later is how much later a clock on the wall shows the time of the mark by the new rules than by those of the record. A record
// of an earlier release does not say by what it was made: then the next time that it gives tells.
func (in *Input) later(state *wire.GeneratorState) time.Duration {
	if state.ZoneRules != "" {
		return time.Duration(state.ZoneOffset)*time.Second - in.Spec.Offset(state.Mark)
	}
	if state.Next.IsZero() || in.Definition.Schedule.Spec.Jitter != 0 {
		return 0
	}
	least := maxShift + 1
	seed := in.Definition.JitterSeed()
	next, ok := in.Spec.Next(state.Next.Add(-maxShift-time.Second), seed)
	for ok && next.Nominal.Sub(state.Next) <= maxShift {
		if by := next.Nominal.Sub(state.Next); by.Abs() < least.Abs() {
			least = by
		}
		next, ok = in.Spec.Next(next.Nominal, seed)
	}
	if least > maxShift {
		return 0
	}
	return least
}

// back begins a range earlier, for the times that name hours alone: by the new rules, the clock on the wall had shown less at the
// beginning. It does not go back behind a change of the definition, or the beginning or end of a freeze.
func (in *Input) back(state *wire.GeneratorState, begin time.Time, later time.Duration) time.Time {
	d := in.Definition
	from := latest(latest(begin.Add(later), latest(d.CreateTime, in.replanned(state))), latest(d.UpdateTime, d.ActiveSince))
	until, _ := stretch(in.Freeze, from, begin)
	if !from.Before(begin) || until.Before(begin) || in.Now.Before(begin) {
		return begin
	}
	clock, others := from, begin
	if d.Schedule.Spec.Jitter != 0 { // a time is due some time after its nominal time
		clock, others = state.LastNominal.Add(later), state.LastNominal
	}
	spec, last, seed := in.Spec, state.LastNominal, d.JitterSeed()
	in.Spec = spec.Resumed(clock, others, func(nominal time.Time) bool {
		// An instant has one run: this is one at which the old rules gave a time as well.
		old := nominal.Add(later)
		same, ok := spec.Next(old.Add(-time.Second), seed)
		return !nominal.After(last) && ok && same.Nominal.Equal(old)
	})
	return from
}

// noteZone says in a record by what rules it was made.
func (in *Input) noteZone(state *wire.GeneratorState) {
	state.ZoneData, state.ZoneRules, state.ZoneOffset = "", "", 0
	if in.Zone.Rules != "" {
		state.ZoneData, state.ZoneRules = in.Zone.Data, in.Zone.Rules
		state.ZoneOffset = int(in.Spec.Offset(state.Mark) / time.Second)
	}
}

// rezoned is the event that other rules of the zone have changed the times to come; nil if they have not.
func (in *Input) rezoned(decision *Decision) *schedule.Event {
	before, after, d := &in.State, &decision.State, in.Definition
	if !in.hasOtherZone(before) || before.Version != d.Version {
		return nil // a change of the definition tells of itself
	}
	next := after.Future
	if decision.HandOff != nil && len(decision.HandOff.Starts) > 0 {
		next = append([]time.Time{decision.HandOff.Starts[0].Actual}, next...)
	}
	for i := range min(len(before.Future), len(next)) {
		if was, is := before.Future[i], next[i]; !was.Equal(is) {
			return in.rezonedEvent(was, is)
		}
	}
	return nil
}

func (in *Input) rezonedEvent(was, is time.Time) *schedule.Event {
	d, data := in.Definition, in.State.ZoneData
	if data == "" {
		data = "that of an earlier release"
	}
	return &schedule.Event{
		ID:   fmt.Sprintf("%s-zone-%s-%s-%d", d.Incarnation, in.State.ZoneRules, in.Zone.Rules, is.Unix()),
		Time: in.Now.UTC(), Namespace: d.Namespace, ScheduleID: d.ID, Kind: schedule.EventReplanned,
		Reason: fmt.Sprintf("time zone data: %s → %s; due at %s, no longer at %s", data, in.Zone.Data,
			is.UTC().Format(time.RFC3339), was.UTC().Format(time.RFC3339)),
	}
}
