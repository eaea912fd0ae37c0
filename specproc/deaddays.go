package specproc

import "encoding/binary"

// deadDays remembers on which kinds of days everything is excluded, so that a search through decades of them is quick.
// Two days are of one kind if the same calendars and excludes match them, every interval stands at the same phase
// modulo its stride when they begin, and neither has a one-off time. A kind is dead if the excludes leave nothing of
// all that is due on any day of the kind. The zero value is empty; one value belongs to one search.
type deadDays struct {
	kinds map[string]bool // true if dead
	key   []byte
}

// maxKinds bounds what one search remembers; there are seldom more than a few.
const maxKinds = 4096

// known says whether the day of p is of a dead kind.
func (d *deadDays) known(s *Spec, p *piece) bool {
	if d.kinds == nil {
		return false
	}
	d.setKey(s, p)
	return d.kinds[string(d.key)]
}

// learn finds out whether the day of p is of a dead kind.
func (d *deadDays) learn(s *Spec, p *piece) {
	d.setKey(s, p)
	if _, done := d.kinds[string(d.key)]; done || len(d.kinds) >= maxKinds {
		return
	}
	if d.kinds == nil {
		d.kinds = make(map[string]bool)
	}
	var set daySet
	s.fill(&set, p, onSuchDays)
	_, alive := set.next(0)
	d.kinds[string(d.key)] = !alive
}

// setKey writes what makes up the kind of the day of p into d.key.
func (d *deadDays) setKey(s *Spec, p *piece) {
	d.key = d.key[:0]
	for _, calendars := range [][]calendar{s.calendars, s.excludes} {
		for i := range calendars {
			matches := byte(0)
			if calendars[i].matchesDay(p.day) {
				matches = 1
			}
			d.key = append(d.key, matches)
		}
	}
	begin := p.at(0)
	for _, i := range s.intervals {
		d.key = binary.AppendUvarint(d.key, uint64((i.next(begin-1)-begin)%i.stride))
	}
	for _, t := range s.at {
		if t >= begin && t < begin+daySeconds {
			d.key = binary.AppendVarint(d.key, t)
		}
	}
}
