package schedules

import (
	"fmt"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// times are the times of a schedule: its spec, and the seed of its jitter.
type times struct {
	spec *specproc.Spec
	seed string
}

// skipsToCome returns the times to skip that the generator has not dealt with. By the mark alone, a time that jitter has delayed
// would be settled too early.
func skipsToCome(def *wire.Definition, generator *wire.GeneratorState) []time.Time {
	if generator.Incarnation != def.Incarnation {
		return slices.Clone(def.Skips)
	}
	jitter := def.Schedule.Spec.Jitter.Std()
	return slices.DeleteFunc(slices.Clone(def.Skips), func(nominal time.Time) bool {
		return !nominal.After(generator.LastNominal) || !nominal.Add(jitter).After(generator.Mark)
	})
}

// skip asks the generator to pass over future times.
func (e *edit) skip(skip schedule.Skip) error {
	var added []time.Time
	if skip.Count > 0 {
		added = e.nextTimes(skip.Count)
		if len(added) == 0 {
			return schedule.Errorf(schedule.CodeFailedPrecondition, "the schedule has no time to come that could be skipped")
		}
	}
	for i, t := range skip.Times {
		if err := e.checkTime(t); err != nil {
			return schedule.Prefix(fmt.Sprintf("times[%d]", i), err)
		}
		if !contains(e.next.Skips, t) && !contains(added, t) {
			added = append(added, t.UTC())
		}
	}
	if total := len(e.next.Skips) + len(added); total > schedule.MaxSkips {
		return schedule.Errorf(schedule.CodeResourceExhausted,
			"%d times would be skipped, and at most %d are accepted: wait until some are over", total, schedule.MaxSkips)
	}
	e.next.Skips = append(slices.Clone(e.next.Skips), added...)
	slices.SortFunc(e.next.Skips, time.Time.Compare)
	e.saySpan(schedule.EventSkipRequested, added, skip.Note)
	return nil
}

// unskip withdraws skips: some of the times, or all.
func (e *edit) unskip(unskip schedule.Unskip) {
	var removed []time.Time
	e.next.Skips = slices.DeleteFunc(slices.Clone(e.next.Skips), func(t time.Time) bool {
		remove := len(unskip.Times) == 0 || contains(unskip.Times, t)
		if remove {
			removed = append(removed, t)
		}
		return remove
	})
	e.saySpan(schedule.EventUnskipped, removed, "")
}

// saySpan records an event about times. It records nothing if there are none, because an event without a count would stand for
// one.
func (e *edit) saySpan(kind schedule.EventKind, all []time.Time, reason string) {
	if len(all) == 0 {
		return
	}
	event := e.say(kind, reason)
	event.Count = len(all)
	event.First, event.Last = slices.MinFunc(all, time.Time.Compare), slices.MaxFunc(all, time.Time.Compare)
}

// settled is the time up to which the times of the spec have been dealt with, or will be before anybody can skip them. Actual
// times count.
func (e *edit) settled() time.Time {
	if e.facts.generator.Mark.After(e.from.Now) {
		return e.facts.generator.Mark
	}
	return e.from.Now
}

// nextTimes returns the next nominal times that are not skipped yet, at most count.
func (e *edit) nextTimes(count int) []time.Time {
	var next []time.Time
	spec, seed := e.facts.times.spec, e.facts.times.seed
	t, ok := spec.NextDue(e.settled(), seed)
	for ok && len(next) < count {
		if !contains(e.next.Skips, t.Nominal) && t.Nominal.After(e.facts.generator.LastNominal) {
			next = append(next, t.Nominal)
		}
		t, ok = spec.Next(t.Nominal, seed)
	}
	return next
}

// checkTime refuses anything that is not a future time of the spec.
func (e *edit) checkTime(nominal time.Time) error {
	spec, seed := e.facts.times.spec, e.facts.times.seed
	first, ok := spec.NextDue(e.settled(), seed)
	for ok && !first.Nominal.After(e.facts.generator.LastNominal) {
		first, ok = spec.Next(first.Nominal, seed)
	}
	text := nominal.UTC().Format(time.RFC3339Nano)
	switch {
	case !ok:
		return schedule.Invalid("", "%s is not a time to come: the spec has none any more", text)
	case nominal.Before(first.Nominal):
		return schedule.Invalid("", "%s is over, or no time of the spec: the nearest to come is %s", text, format(first.Nominal))
	}
	nearest := nearestTime(spec, seed, first.Nominal, nominal)
	if !nearest.Equal(nominal) {
		return schedule.Invalid("", "%s is not a time of the spec: the nearest is %s", text, format(nearest))
	}
	return nil
}

// nearestTime returns the last nominal time in [first, t]. first is a nominal time and not after t. It bisects the stretch before
// t.
func nearestTime(spec *specproc.Spec, seed string, first, t time.Time) time.Time {
	before, upTo := first, t
	for upTo.Sub(before) > time.Second {
		middle := before.Add(upTo.Sub(before) / 2)
		if next, ok := spec.Next(middle, seed); ok && !next.Nominal.After(t) {
			before = next.Nominal
		} else {
			upTo = middle
		}
	}
	if after, ok := spec.Next(before, seed); ok && after.Nominal.Sub(t).Abs() < t.Sub(before) {
		return after.Nominal
	}
	return before
}

func format(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func contains(times []time.Time, t time.Time) bool { return slices.ContainsFunc(times, t.Equal) }
