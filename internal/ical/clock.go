package ical

import "time"

// at returns the instant of a time on the wall, which is given as if it were UTC (RFC 5545, 3.3.5): the first of two where the
// clock shows it twice, and where it leaves it out, what the offset before the gap makes of it.
func at(wall time.Time, zone *time.Location) time.Time {
	const day = 24 * time.Hour // no zone is as far from UTC, and none changes its clock twice within two of them
	before, after := offset(wall.Add(-day), zone), offset(wall.Add(day), zone)
	first, second := wall.Add(-before), wall.Add(-after)
	if offset(first, zone) != before && offset(second, zone) == after {
		return second.In(zone)
	}
	return first.In(zone)
}

// offset is that of a zone at an instant.
func offset(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// wallOf is the inverse: what the clock shows, as if it were UTC.
func wallOf(t time.Time) time.Time { return t.UTC().Add(offset(t, t.Location())) }
