package specproc

import "time"

// Tally is how many times were passed over, and which: all times of the spec from First to Last.
type Tally struct {
	Count int
	// First and Last are nominal times, in UTC; zero if Count is zero.
	First, Last time.Time
}

// tally counts the times with from < Actual ≤ to. It works day by day, not time by time: a year costs a few
// milliseconds, however many times are in it.
func (s *Spec) tally(from, to time.Time, seed string) Tally {
	first, until := s.nominalsOf(from, to, seed)
	if first >= until {
		return Tally{}
	}
	return s.tallyNominal(first, until)
}

// Tally counts the times with from < Actual ≤ to whose nominal time is neither before first nor after last. Like [Spec.Count], it
// does not visit the times one by one.
func (s *Spec) Tally(from, to time.Time, seed string, first, last time.Time) Tally {
	begin, until := s.nominalsOf(from, to, seed)
	until = min(until, unixSeconds(last)+1)
	if before := unixSeconds(first.Add(-1)); before >= begin {
		begin = s.nextNominal(before)
	}
	if begin >= until {
		return Tally{}
	}
	return s.tallyNominal(begin, until)
}

// nominalsOf returns the nominal time of the first time with from < Actual ≤ to, and an end: all nominal times of this range lie
// before it, and no later time does. If the range has no times, the end is not after the beginning.
func (s *Spec) nominalsOf(from, to time.Time, seed string) (begin, until int64) {
	first, ok := s.NextDue(from, seed)
	if !ok || first.Actual.After(to) {
		return 0, 0
	}
	// The first time that is due after the range has the first nominal time that does not count.
	until = min(unixSeconds(to), s.end) + 1
	if later, ok := s.NextDue(to, seed); ok {
		until = min(until, later.Nominal.Unix())
	}
	return first.Nominal.Unix(), until
}

// tallyNominal counts the times with from ≤ Nominal < until. from is itself such a time.
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

// Count returns the number of times with from < Actual ≤ to. It costs a few milliseconds for a year, however many times there
// are.
func (s *Spec) Count(from, to time.Time, seed string) int {
	if !to.After(from) {
		return 0
	}
	return s.tally(from, to, seed).Count
}
