package specproc

import (
	"sort"
	"time"
)

// ClockChange is a moment at which the clocks of a zone go forward or back.
type ClockChange struct {
	// At is the first instant with the new offset, in UTC.
	At time.Time
	// Before and After are the offsets from UTC, east of Greenwich positive.
	Before, After time.Duration
}

// ClockChanges returns the clock changes of a zone in from < t ≤ to, in order. from and to are whole seconds. It compares the
// offsets every 24 hours, so it misses two changes within 24 hours that cancel each other out.
func ClockChanges(loc *time.Location, from, to time.Time) []ClockChange {
	var changes []ClockChange
	for t, end := from.Unix(), to.Unix(); t < end; t += daySeconds {
		before, until := offsetAt(loc, t), min(t+daySeconds, end)
		if offsetAt(loc, until) == before {
			continue
		}
		into := sort.Search(int(until-t), func(i int) bool { return offsetAt(loc, t+int64(i)) != before })
		at := t + int64(into)
		changes = append(changes, ClockChange{
			At: time.Unix(at, 0).UTC(), Before: seconds(before), After: seconds(offsetAt(loc, at)),
		})
	}
	return changes
}

// Skips reports whether the clocks go forward.
func (c ClockChange) Skips() bool { return c.After > c.Before }

// Span returns the wall times that the change skips or repeats, as if they were times in UTC: from ≤ t < until.
func (c ClockChange) Span() (from, until time.Time) {
	return c.At.Add(min(c.Before, c.After)), c.At.Add(max(c.Before, c.After))
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
