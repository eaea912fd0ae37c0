package specproc

import "slices"

// nextRaw returns the first raw time after the given one, even if it is excluded or after the end of the spec. It returns never
// after the horizon.
func (s *Spec) nextRaw(after int64) int64 {
	if after >= s.zone.horizon {
		return never
	}
	limit := s.zone.horizon + 1
	best := limit
	clock, others := after, after
	if s.hasResumed {
		clock, others = max(after, s.clockAfter), max(after, s.othersAfter)
	}
	for i := range s.calendars {
		from := others
		if s.calendars[i].namesHours() {
			from = clock
		}
		best = min(best, s.calendars[i].next(s.zone, from, best))
	}
	for _, i := range s.intervals {
		best = min(best, i.next(others))
	}
	best = min(best, s.nextAt(others))
	if best == limit {
		return never
	}
	return best
}

// nextAt returns the first one-off time after the given one, or never.
func (s *Spec) nextAt(after int64) int64 {
	if len(s.at) == 0 {
		return never
	}
	if i, _ := slices.BinarySearch(s.at, after+1); i < len(s.at) {
		return s.at[i]
	}
	return never
}

// nextNominal returns the first time of the spec after the given one, or never. The time is not excluded and lies within the
// bounds of the spec.
func (s *Spec) nextNominal(after int64) int64 {
	after = max(after, s.start-1)
	if s.hasResumed {
		var t int64
		if t, after = s.resumedNominal(after); t != never {
			return t
		}
	}
	var dead deadDays
	for {
		t := s.nextRaw(after)
		if t > s.end {
			return never
		}
		if !s.hasExcludes || t == never {
			return t
		}
		p := s.zone.piece(t)
		if s.hasHidden {
			if until := s.hidden.until(&p, t); until > t {
				after = until - 1
				continue
			}
		}
		if !s.excludedByClock(&p, t) {
			return t
		}
		if t := s.nextIn(&p, t, &dead); t != never {
			if t > s.end {
				return never
			}
			return t
		}
		after = p.until - 1
		if dead.searched++; !dead.patient() {
			after = dead.skip(s, after)
		}
	}
}

// excludedIn reports whether t, which lies in p, is excluded in any way.
func (s *Spec) excludedIn(p *piece, t int64) bool {
	return s.hasHidden && s.hidden.until(p, t) > t || s.excludedByClock(p, t)
}

// excludedByClock reports whether an exclude calendar matches t, which lies in p.
func (s *Spec) excludedByClock(p *piece, t int64) bool {
	clock := p.clock(t)
	for i := range s.excludes {
		if c := &s.excludes[i]; c.matchesClock(clock) && c.matchesDay(p.day) {
			return true
		}
	}
	return false
}

// nextIn returns the first time in p that is after t, or never. t is the first raw time in p that the search has come to, and it
// is excluded. dead remembers the kinds of days that need no search.
func (s *Spec) nextIn(p *piece, t int64, dead *deadDays) int64 {
	if !dead.patient() && dead.known(s, p) || dead.patient() && s.excludesWholeDay(p.day) {
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
	if _, earlier := set.next(0); !earlier && !dead.patient() {
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

// precision is how precisely a daySet holds the times of a day.
type precision int

const (
	// exactly the times of that day.
	exactly precision = iota
	// onSuchDays also the times of all other days of the same kind, and more: see deadDays. It ignores changes of the clock,
	// excluded dates and blackouts.
	onSuchDays
	// onAnyDay is onSuchDays as if every calendar matched the day. Only the excludes that match the day count.
	onAnyDay
)

// fill adds the times of the day of p to set, as if the whole day had the offset of p.
func (s *Spec) fill(set *daySet, p *piece, which precision) {
	for i := range s.calendars {
		if which == onAnyDay || s.calendars[i].matchesDay(p.day) {
			set.add(&s.calendars[i])
		}
	}
	if which == exactly {
		s.adjust(set, p)
	}
	begin := p.at(0)
	for _, i := range s.intervals {
		first := i.next(begin-1) - begin
		if which == exactly {
			set.addEvery(first, i.every)
		} else {
			set.addEvery(first%i.stride, i.stride)
		}
	}
	for _, t := range s.at {
		if t >= begin && t < begin+daySeconds {
			set.addSecond(p.clock(t))
		}
	}
	if len(s.excludes) > 0 {
		s.removeExcludes(set, p)
	}
	if which == exactly && s.hasHidden {
		s.hidden.erase(set, p)
	}
}

func (s *Spec) removeExcludes(set *daySet, p *piece) {
	var few [8]*calendar
	matching := few[:0]
	for i := range s.excludes {
		if s.excludes[i].matchesDay(p.day) {
			matching = append(matching, &s.excludes[i])
		}
	}
	if len(matching) > 0 {
		set.remove(matching)
	}
}

// adjust applies changes of the clock to the calendar times of a day in set.
func (s *Spec) adjust(set *daySet, p *piece) {
	begin := p.at(0)
	end := begin + daySeconds
	if seg := p.segment; seg.from > begin || seg.to < end {
		set.clip(int(min(max(seg.from, begin), end)-begin), int(min(max(seg.to, begin), end)-begin))
	}
	if !p.afterGap() {
		return
	}
	for i := range s.calendars {
		if s.calendars[i].matchesGap(p.segment) {
			set.addSecond(p.clock(p.from))
			return
		}
	}
}
