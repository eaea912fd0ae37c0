package generator

import (
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// process finds the times from a time up to now. If the clock is behind that time, there are none. If a freeze begins or ends in the
// range, it processes only up to the first stretch that has any times, so that all actions of a hand-off were frozen, or none. The next
// decision goes on behind that stretch at once, since its time is over.
func (in *Input) process(from time.Time) (out specproc.RangeResult, frozen bool) {
	to := latest(from, in.Now)
	for {
		r := in.timeRange(from, to)
		r.To, r.Frozen = stretch(in.Freeze, from, to)
		out = in.Spec.ProcessTimeRange(r)
		if !r.To.Before(to) || !isEmpty(&out) {
			return out, r.Frozen
		}
		from = r.To
	}
}

// stretch returns the end of the first part of a range that lies completely in a freeze or completely outside. The range excludes from, and
// includes to.
func stretch(freeze *schedule.Freeze, from, to time.Time) (until time.Time, frozen bool) {
	if freeze == nil {
		return to, false
	}
	before := freeze.From.Add(-1) // the last moment that is not frozen
	if from.Before(before) {
		return earliest(to, before), false
	}
	if freeze.Until.IsZero() {
		return to, true
	}
	if last := freeze.Until.Add(-1); from.Before(last) {
		return earliest(to, last), true
	}
	return to, false
}

// isEmpty reports whether a range has nothing to hand over.
func isEmpty(out *specproc.RangeResult) bool {
	return len(out.Times) == 0 && out.Missed.Count == 0 && out.Dropped.Count == 0 && out.Superseded.Count == 0
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
