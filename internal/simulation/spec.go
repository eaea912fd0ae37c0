package simulation

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// timesOf are the times that the spec of a definition gives between two times, the first exclusive. It tests each second
// separately, and shares no code with the product. It supports no more of specs than the simulation draws.
func timesOf(d *wire.Definition, after, to time.Time) []time.Time {
	var times []time.Time
	for at := after.Truncate(time.Second); !at.After(minTime(to, d.Schedule.Spec.EndTime)); at = at.Add(time.Second) {
		if at.After(after) && isDue(d, at) {
			times = append(times, at)
		}
	}
	return times
}

// isDue reports whether the spec of a definition gives a time of whole seconds.
func isDue(d *wire.Definition, at time.Time) bool {
	spec := &d.Schedule.Spec
	if at.Before(spec.StartTime) || at.After(spec.EndTime) || excludedByName(d, at) ||
		slices.ContainsFunc(spec.Blackouts, func(b schedule.Blackout) bool { return !at.Before(b.From) && at.Before(b.To) }) {
		return false
	}
	interval := func(i schedule.Interval) bool {
		return (at.Unix()-int64(i.Phase.Std()/time.Second))%int64(i.Every.Std()/time.Second) == 0
	}
	return slices.ContainsFunc(spec.Intervals, interval) ||
		slices.ContainsFunc(spec.Calendars, func(c schedule.Calendar) bool { return at.Second()%stepOf(string(c.Second)) == 0 }) ||
		slices.ContainsFunc(spec.Cron, func(text string) bool { return at.Second()%stepOf(strings.Fields(text)[0]) == 0 }) ||
		slices.ContainsFunc(spec.At, at.Equal)
}

// stepOf reads a field such as */7: the only form that is drawn.
func stepOf(field string) int {
	step, err := strconv.Atoi(strings.TrimPrefix(field, "*/"))
	if err != nil {
		panic("simulation: a field that is not read here: " + field)
	}
	return step
}
