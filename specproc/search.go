package specproc

import "slices"

// nextRaw returns the first raw time after the given one, no matter whether it is excluded or past the end of the spec;
// never after the horizon.
func (s *Spec) nextRaw(after int64) int64 {
	if after >= s.zone.horizon {
		return never
	}
	limit := s.zone.horizon + 1
	best := limit
	for i := range s.calendars {
		best = min(best, s.calendars[i].next(s.zone, after, best))
	}
	for _, i := range s.intervals {
		best = min(best, i.next(after))
	}
	if i, _ := slices.BinarySearch(s.at, after+1); i < len(s.at) {
		best = min(best, s.at[i])
	}
	if best == limit {
		return never
	}
	return best
}

// nextNominal returns the first time of the spec after the given one: not excluded, and within its bounds; or never.
func (s *Spec) nextNominal(after int64) int64 {
	after = max(after, s.start-1)
	var dead deadDays
	for {
		t := s.nextRaw(after)
		if t > s.end {
			return never
		}
		if len(s.excludes) == 0 || t == never {
			return t
		}
		p := s.zone.piece(t)
		if !s.excludedIn(&p, t) {
			return t
		}
		if t := s.nextIn(&p, t, &dead); t != never {
			if t > s.end {
				return never
			}
			return t
		}
		after = p.until - 1
	}
}

// excludedIn says whether an exclude matches t, which lies in p.
func (s *Spec) excludedIn(p *piece, t int64) bool {
	clock := p.clock(t)
	for i := range s.excludes {
		if c := &s.excludes[i]; c.matchesClock(clock) && c.matchesDay(p.day) {
			return true
		}
	}
	return false
}

// nextIn returns the first time in p that is not before t, or never. dead remembers the days that need no look.
func (s *Spec) nextIn(p *piece, t int64, dead *deadDays) int64 {
	if s.excludesWholeDay(p.day) || dead.known(s, p) {
		return never
	}
	var set daySet
	s.fill(&set, p, exactly)
	if clock, ok := set.next(p.clock(t)); ok {
		// The set holds the whole local day, of which p may be only a part.
		if found := p.at(clock); found < p.until {
			return found
		}
		return never
	}
	if _, earlier := set.next(0); !earlier {
		dead.learn(s, p)
	}
	return never
}

func (s *Spec) excludesWholeDay(day int64) bool {
	for i := range s.excludes {
		if s.excludes[i].wholeDay && s.excludes[i].matchesDay(day) {
			return true
		}
	}
	return false
}

// precision says what daySets hold of intervals.
type precision bool

const (
	// exactly the times of that day.
	exactly precision = false
	// onSuchDays the times of all days of one kind; see deadDays.
	onSuchDays precision = true
)

// fill puts the times of the day of p into set, as if the whole day had the offset of p.
func (s *Spec) fill(set *daySet, p *piece, which precision) {
	for i := range s.calendars {
		if s.calendars[i].matchesDay(p.day) {
			set.add(&s.calendars[i])
		}
	}
	begin := p.at(0)
	for _, i := range s.intervals {
		first := i.next(begin-1) - begin
		if which == onSuchDays {
			set.addEvery(first%i.stride, i.stride)
		} else {
			set.addEvery(first, i.every)
		}
	}
	for _, t := range s.at {
		if t >= begin && t < begin+daySeconds {
			set.addSecond(p.clock(t))
		}
	}
	for i := range s.excludes {
		if s.excludes[i].matchesDay(p.day) {
			set.remove(&s.excludes[i])
		}
	}
}
