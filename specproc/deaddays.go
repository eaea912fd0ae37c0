package specproc

import "encoding/binary"

// deadDays remembers kinds of days on which everything is excluded, so that a search through decades of such days is quick.
//
// Two days are of one kind if the same clock fields of calendars and excludes are due on them, they begin at the same offset from
// UTC, and neither has a one-off time. Then every interval has the same phase, modulo its stride, when they begin, because a
// stride divides the length of a day. A kind is dead if the excludes leave nothing of all times that are due on any day of the
// kind. If the excludes leave nothing of all calendars together, the kind is dead whichever calendars are due. The search tries
// that first, since there are fewer such kinds.
//
// The zero value is empty; one value belongs to one search.
type deadDays struct {
	// searched counts the days on which the search found nothing.
	searched int
	kinds    map[string]bool // true if dead
	key      []byte

	sources, excludes []clockGroup
	year, month       int // of clockGroup.days
}

// clockGroup is a set of calendars with the same clock fields.
type clockGroup struct {
	dates []dateFields // each once
	days  uint64       // days of the month on which one of them is due, as bits 1 to 31
}

const (
	// patience is how many days to search before it pays to remember their kinds.
	patience = 8
	// maxKinds limits what one search remembers. There are seldom more than a few kinds.
	maxKinds = 4096
)

// patient reports that it does not pay yet to remember kinds.
func (d *deadDays) patient() bool { return d.searched < patience }

// learn finds out whether the day of p is of a dead kind.
func (d *deadDays) learn(s *Spec, p *piece) {
	begin := p.at(0)
	if s.nextAt(begin-1) < begin+daySeconds || len(d.kinds) >= maxKinds {
		return
	}
	if d.kinds == nil {
		d.kinds = make(map[string]bool)
		d.sources, d.excludes = groups(s.calendars), groups(s.overlapping())
	}
	d.setDay(p.day)
	if !d.learnKind(s, p, onAnyDay) {
		d.learnKind(s, p, onSuchDays)
	}
}

// learnKind reports whether the kind of the day of p is dead, and remembers that.
func (d *deadDays) learnKind(s *Spec, p *piece, which precision) bool {
	key := string(d.kindOf(p.day, p.offset, which))
	dead, done := d.kinds[key]
	if !done {
		var set daySet
		s.fill(&set, p, which)
		_, alive := set.next(0)
		dead = !alive
		d.kinds[key] = dead
	}
	return dead
}

// known reports whether the day of p is of a kind that is remembered as dead.
func (d *deadDays) known(s *Spec, p *piece) bool {
	begin := p.at(0)
	return len(d.kinds) > 0 && s.nextAt(begin-1) >= begin+daySeconds && d.isDead(p.day, p.offset)
}

// isDead is known for a day that has no one-off times.
func (d *deadDays) isDead(day, offset int64) bool {
	d.setDay(day)
	return d.kinds[string(d.kindOf(day, offset, onAnyDay))] || d.kinds[string(d.kindOf(day, offset, onSuchDays))]
}

// skip passes over days that are known to be dead. It returns an instant, not before after, such that all days from after up to
// it are dead. after is the end of a day without times, or of a part of one.
func (d *deadDays) skip(s *Spec, after int64) int64 {
	if len(d.kinds) == 0 || after >= s.end {
		return after
	}
	p := s.zone.piece(after + 1)
	if p.afterGap() || p.from != p.at(0) {
		return after
	}
	for until := min(p.segment.until, s.nextAt(after), s.end); after+daySeconds < until; p.day++ {
		if !d.isDead(p.day, p.offset) {
			break
		}
		after += daySeconds
	}
	return after
}

// kindOf encodes the kind of a day. The caller has called setDay for that day.
func (d *deadDays) kindOf(day, offset int64, which precision) []byte {
	_, _, dayOfMonth := civil(day)
	d.key = binary.AppendVarint(append(d.key[:0], byte(which)), offset)
	d.key = appendDue(d.key, d.excludes, dayOfMonth)
	if which != onAnyDay {
		d.key = appendDue(d.key, d.sources, dayOfMonth)
	}
	return d.key
}

// appendDue appends a bit for each group: whether the group is due on a day.
func appendDue(key []byte, groups []clockGroup, dayOfMonth int) []byte {
	for ; len(groups) > 0; groups = groups[min(8, len(groups)):] {
		var due byte
		for i := range min(8, len(groups)) {
			due |= byte(groups[i].days>>dayOfMonth&1) << i
		}
		key = append(key, due)
	}
	return key
}

// setDay computes clockGroup.days for the month of a day.
func (d *deadDays) setDay(day int64) {
	year, month, dayOfMonth := civil(day)
	if year == d.year && month == d.month {
		return
	}
	d.year, d.month = year, month
	first, length := day-int64(dayOfMonth-1), monthLength(year, month)
	for _, groups := range [][]clockGroup{d.sources, d.excludes} {
		for i := range groups {
			g := &groups[i]
			g.days = 0
			for n := range g.dates {
				g.days |= g.dates[n].daysOf(year, month, length, first)
			}
		}
	}
}

// groups groups calendars by their clock fields.
func groups(calendars []calendar) []clockGroup {
	var all []clockGroup
	position := make(map[clockFields]int)
	type pair struct {
		group int
		date  dateFields
	}
	seen := make(map[pair]bool)
	for i := range calendars {
		c := &calendars[i]
		n, known := position[c.clockFields]
		if !known {
			n = len(all)
			position[c.clockFields] = n
			all = append(all, clockGroup{})
		}
		if p := (pair{n, c.dateFields}); !seen[p] {
			seen[p] = true
			all[n].dates = append(all[n].dates, c.dateFields)
		}
	}
	return all
}

// overlapping returns the excludes, with their clock fields reduced to the values that any calendar has. So excludes that do not
// differ for this spec become equal. It leaves out excludes that have no time in common with any calendar. If there are intervals
// it returns all excludes as they are, because intervals may have any value.
func (s *Spec) overlapping() []calendar {
	if len(s.intervals) > 0 {
		return s.excludes
	}
	var union clockFields
	for i := range s.calendars {
		c := &s.calendars[i]
		union.seconds, union.minutes, union.hours = union.seconds|c.seconds, union.minutes|c.minutes, union.hours|c.hours
	}
	var cut []calendar
	for _, c := range s.excludes {
		c.clockFields = clockFields{c.seconds & union.seconds, c.minutes & union.minutes, c.hours & union.hours}
		if c.seconds != 0 && c.minutes != 0 && c.hours != 0 {
			cut = append(cut, c)
		}
	}
	return cut
}
