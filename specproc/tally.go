package specproc

import "time"

// Tally says how many times were passed over, and which: all times of the spec from First to Last.
type Tally struct {
	Count int
	// First and Last are nominal times, in UTC; zero if Count is zero.
	First, Last time.Time
}

// tally counts the times with from < Actual ≤ to. It works day by day, not time by time: a year costs a few
// milliseconds, however many times are in it.
func (s *Spec) tally(from, to time.Time, seed string) Tally {
	first, ok := s.NextDue(from, seed)
	if !ok || first.Actual.After(to) {
		return Tally{}
	}
	// The first time that is due later has the first nominal time that does not count.
	until := min(unixSeconds(to), s.end) + 1
	if later, ok := s.NextDue(to, seed); ok {
		until = min(until, later.Nominal.Unix())
	}
	return s.tallyNominal(first.Nominal.Unix(), until)
}

// tallyNominal counts the times with from ≤ Nominal < until, of which from is one.
func (s *Spec) tallyNominal(from, until int64) Tally {
	var (
		sum  Tally
		last int64
		set  daySet
	)
	for t := from; t < until; {
		p := s.zone.piece(t)
		end := min(p.until, until)
		clear(set[:])
		s.fill(&set, &p, exactly)
		set.clip(p.clock(t), p.clock(end))
		if n := set.count(); n > 0 {
			sum.Count += n
			last = p.at(set.last())
		}
		t = s.nextNominal(p.until - 1)
	}
	sum.First, sum.Last = time.Unix(from, 0).UTC(), time.Unix(last, 0).UTC()
	return sum
}

// Count returns how many times there are with from < Actual ≤ to. It costs a few milliseconds for a year, however many
// they are.
func (s *Spec) Count(from, to time.Time, seed string) int {
	if !to.After(from) {
		return 0
	}
	return s.tally(from, to, seed).Count
}
