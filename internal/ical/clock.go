package ical

import "time"

// at returns the instant of a wall time, which is given as if it were UTC (RFC 5545, 3.3.5). If the clock shows the wall time
// twice, it is the first instant. If the clock leaves it out, the offset before the gap applies.
func at(wall time.Time, zone *time.Location) time.Time {
	const day = 24 * time.Hour // no zone is as far from UTC, and none changes its clock twice within two of them
	before, after := offset(wall.Add(-day), zone), offset(wall.Add(day), zone)
	first, second := wall.Add(-before), wall.Add(-after)
	if offset(first, zone) != before && offset(second, zone) == after {
		return second.In(zone)
	}
	return first.In(zone)
}

// offset returns the offset of a zone at an instant.
func offset(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// wallOf is the inverse of at: the time on the clock, as if it were UTC.
func wallOf(t time.Time) time.Time { return t.UTC().Add(offset(t, t.Location())) }
