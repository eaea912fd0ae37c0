package calendar

import (
	"sort"
	"time"

	"github.com/carillon-scheduler/carillon/specproc"
)

// Days says how often something is due on each day. The key is a date such as "2026-03-29". Days on which nothing is due are absent.
type Days map[string]int

// Total is the sum over all days.
func (d Days) Total() int {
	total := 0
	for _, n := range d {
		total += n
	}
	return total
}

// Count counts the nominal times of a spec by the days of a zone, from first up to the day before last. Only the dates of first and last
// count. The spec must have no jitter: each time counts on its nominal day.
func Count(spec *specproc.Spec, loc *time.Location, first, last time.Time) Days {
	days := Days{}
	from, to := first.Format(time.DateOnly), last.Format(time.DateOnly)
	// Every zone is within a day of UTC.
	next, ok := spec.Next(first.AddDate(0, 0, -2), "")
	for ok {
		date := next.Nominal.In(loc).Format(time.DateOnly)
		if date >= to {
			break
		}
		until := endOfStretch(loc, next.Nominal)
		if date >= from {
			days[date] += between(spec, next.Nominal, until)
		}
		next, ok = spec.Next(until.Add(-1), "")
	}
	return days
}

// endOfStretch returns the first instant after t that is on another day or has another offset from UTC. t is a whole second.
func endOfStretch(loc *time.Location, t time.Time) time.Time {
	_, offset := t.In(loc).Zone()
	midnight := t.Add(time.Duration(offset)*time.Second).Truncate(24*time.Hour).AddDate(0, 0, 1)
	end := midnight.Add(-time.Duration(offset) * time.Second)
	sameOffset := func(at time.Time) bool { _, o := at.In(loc).Zone(); return o == offset }
	seconds := int(end.Sub(t) / time.Second)
	return t.Add(time.Duration(sort.Search(seconds, func(i int) bool {
		return !sameOffset(t.Add(time.Duration(i) * time.Second))
	})) * time.Second)
}

// between counts the times with from ≤ t < until.
func between(spec *specproc.Spec, from, until time.Time) int {
	// With an empty catch-up window, everything before the end counts as missed. Missed times are counted all at once, and not listed.
	out := spec.ProcessTimeRange(specproc.Range{From: from.Add(-1), To: until.Add(-1)})
	return out.Missed.Count + out.Dropped.Count
}
