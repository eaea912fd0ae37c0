package specproc

import "time"

// Resumed returns a spec with the same times, but those up to an instant: times of calendars and cron expressions that name
// hours up to clock, all others up to others, and before the later of both those that without reports. The zero time leaves none
// out, nor does nil. It is for a schedule whose zone has got other rules: what names hours goes by the clock on the wall, so that
// each of its times comes once; what comes every so many minutes goes on at its pace.
func (s *Spec) Resumed(clock, others time.Time, without func(nominal time.Time) bool) *Spec {
	resumed := *s
	if !clock.IsZero() {
		resumed.clockAfter = unixSeconds(clock)
	}
	if !others.IsZero() {
		resumed.othersAfter = unixSeconds(others)
	}
	resumed.hasResumed, resumed.without = true, without
	return &resumed
}

// Offset returns how far the clock of the zone of the spec is ahead of UTC at an instant.
func (s *Spec) Offset(at time.Time) time.Duration {
	t := unixSeconds(at)
	return time.Duration(s.zone.segments[s.zone.index(t)].offset) * time.Second
}

// namesHours reports whether a calendar leaves out some hours of a day.
func (c *calendar) namesHours() bool { return c.hours != allHours }

// resumedNominal returns the first time after the given one and up to where nothing is left out any more; and where the
// search is to go on if there is none.
func (s *Spec) resumedNominal(after int64) (t, from int64) {
	end := max(s.clockAfter, s.othersAfter)
	for after < end {
		t := s.nextRaw(after)
		if t > min(end, s.end) {
			return never, end
		}
		p, known := s.zone.piece(t), s.without != nil && s.without(time.Unix(t, 0).UTC())
		if !known && !s.excludedIn(&p, t) {
			return t, after
		}
		after = t
	}
	return never, after
}
