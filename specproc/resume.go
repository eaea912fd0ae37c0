package specproc

import "time"

// Resumed returns a spec with the same times except the following. It has no times of calendars and cron expressions that name
// hours up to clock, and no times of other sources up to others. Before the later of both it also has no times that without
// reports. A zero time leaves out nothing, and so does a nil without.
//
// It is for a schedule whose zone got other rules. Sources that name hours follow the wall clock, so that each of their times
// comes once. Sources that are due every so many minutes continue at their pace.
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

// resumedNominal returns the first time after the given one, within the stretch in which Resumed leaves out times. If there is
// none, it returns never, and from is where the search continues.
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
