package generator

import (
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// maxShift is the largest difference between two editions of the time zone data that the next time alone can show.
const maxShift = 3 * time.Hour

// rezone prepares a decision if the record was made with other time zone rules than today's. Times that name hours follow the clock on the
// wall, and each of them comes once:
//
//   - If the new rules make them later, times that have come already do not come again.
//   - If the new rules make them earlier, times that have not come yet still come.
//
// All other times are instants, which do not change. The argument begin is where the range would begin without a change; rezone returns
// where it begins now. The result back says that this is earlier, and that the handed-over times are left out already.
func (in *Input) rezone(state *wire.GeneratorState, begin time.Time) (from time.Time, back bool) {
	d := in.Definition
	if state.Version != d.Version && d.UpdateTime.After(state.Mark) {
		state.Passed = time.Time{} // another spec, perhaps in another zone, which begins with the update
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

// hasOtherZone reports whether the record was made with other rules for the zone of the spec.
func (in *Input) hasOtherZone(state *wire.GeneratorState) bool {
	return state.Incarnation == in.Definition.Incarnation && in.Zone.Rules != "" && state.ZoneRules != in.Zone.Rules
}

// shift returns where a range begins under the new rules.
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

// later is how much later the clock on the wall shows the mark's time under the new rules than under the rules of the record. A record of
// an earlier release does not name its rules; then the next time in the record tells.
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

// back moves the beginning of a range to an earlier time, only for times that name hours: under the new rules, the clock on the wall was
// behind at the beginning. It does not go back behind a change of the definition, or the beginning or end of a freeze.
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
		// The old rules had a time at the same instant, and an instant has one run.
		old := nominal.Add(later)
		same, ok := spec.Next(old.Add(-time.Second), seed)
		return !nominal.After(last) && ok && same.Nominal.Equal(old)
	})
	return from
}

// noteZone notes in a record with which rules it was made.
func (in *Input) noteZone(state *wire.GeneratorState) {
	state.ZoneData, state.ZoneRules, state.ZoneOffset = "", "", 0
	if in.Zone.Rules != "" {
		state.ZoneData, state.ZoneRules = in.Zone.Data, in.Zone.Rules
		state.ZoneOffset = int(in.Spec.Offset(state.Mark) / time.Second)
	}
}

// rezoned returns the event that new rules of the zone have changed the next times, or nil if they have not.
func (in *Input) rezoned(decision *Decision) *schedule.Event {
	before, after, d := &in.State, &decision.State, in.Definition
	if !in.hasOtherZone(before) || before.Version != d.Version {
		return nil // a change of the definition has an event of its own
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
