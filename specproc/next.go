package specproc

import (
	"iter"
	"math/bits"
	"time"

	"github.com/dgryski/go-farm"

	"github.com/carillon-scheduler/carillon/internal/wire"
)

// Time is one time of a spec, in UTC.
type Time struct {
	// Nominal is what the spec says, in whole seconds. It names the action: workflow and request IDs are made of it.
	Nominal time.Time
	// Actual is when the action is due: Nominal plus the jitter, in milliseconds.
	Actual time.Time
}

// Next returns the first time whose Nominal is after the given instant, by whole seconds: a fraction of after is cut
// off. It returns false when there is none up to the year 2100. seed makes the jitter of one schedule differ from that
// of another; it plays no part without jitter.
//
// A time whose Nominal is not after the given instant while its Actual is, is not found: use [Spec.NextDue] to ask
// what is due. To walk along, pass the Nominal of the time before; its Actual does as well, since Actual never reaches
// the following Nominal.
func (s *Spec) Next(after time.Time, seed string) (Time, bool) {
	nominal := s.nextNominal(unixSeconds(after))
	if nominal == never {
		return Time{}, false
	}
	return s.time(nominal, seed), true
}

// MayClose reports whether a schedule is one that is closed when nothing has happened for the idle time: it has no time left, or perhaps
// no action. s is its spec.
func (s *Spec) MayClose(d *wire.Definition, now time.Time) bool {
	if d.Schedule.State.LimitedActions {
		return true
	}
	_, more := s.NextDue(now, d.JitterSeed())
	return !more
}

// NextDue returns the first time whose Actual is after the given instant, exactly: nanoseconds count. It returns false
// when there is none. Without jitter it gives what [Spec.Next] gives.
func (s *Spec) NextDue(after time.Time, seed string) (Time, bool) {
	if t, ok := s.pending(after, seed); ok {
		return t, true
	}
	return s.Next(after, seed)
}

// Between yields every time with from < Actual ≤ to, in order.
func (s *Spec) Between(from, to time.Time, seed string) iter.Seq[Time] {
	return func(yield func(Time) bool) {
		t, ok := s.NextDue(from, seed)
		for ok && !t.Actual.After(to) && yield(t) {
			t, ok = s.Next(t.Nominal, seed)
		}
	}
}

// pending returns the time whose jitter is under way at the given instant: Nominal ≤ at < Actual. There is one at most,
// because Actual never reaches the following raw time: the last raw time up to that instant.
func (s *Spec) pending(at time.Time, seed string) (Time, bool) {
	if s.jitter == 0 {
		return Time{}, false
	}
	nominal := s.lastRaw(unixSeconds(at))
	if nominal == never || nominal > s.end {
		return Time{}, false
	}
	if p := s.zone.piece(nominal); s.excludedIn(&p, nominal) {
		return Time{}, false
	}
	t := s.time(nominal, seed)
	return t, t.Actual.After(at)
}

// lastRaw returns the last raw time up to the given one, if there is one no further away than the jitter and not before
// the start of the spec; else never. It halves the stretch in question until that time is found.
func (s *Spec) lastRaw(upTo int64) int64 {
	low, high := max(upTo-s.jitter/1000, s.start)-1, upTo
	last := int64(never)
	for low < high {
		middle := low + (high-low)/2
		if last == never {
			middle = low // first of all, whether there is one in reach
		}
		next := s.nextRaw(middle)
		switch {
		case next <= upTo:
			last, low = next, next
		case last == never:
			return never
		default:
			high = middle
		}
	}
	return last
}

// time adds the jitter to a nominal time.
func (s *Spec) time(nominal int64, seed string) Time {
	t := Time{Nominal: time.Unix(nominal, 0).UTC()}
	t.Actual = t.Nominal
	if s.jitter > 0 {
		t.Actual = t.Nominal.Add(time.Duration(s.delay(nominal, t.Nominal, seed)) * time.Millisecond)
	}
	return t
}

// delay returns the jitter of a time in milliseconds (docs/semantics.md §2): a share of the limit that the fingerprint of the
// time and the seed determines. The limit is the spec's jitter, or the gap to the following raw time where that is
// smaller. Excluded times count as following ones, so that excluding a time does not move its neighbours.
func (s *Spec) delay(nominal int64, t time.Time, seed string) int64 {
	limit := s.jitter
	if following := s.nextRaw(nominal); following != never {
		limit = min(limit, (following-nominal)*1000)
	}
	text, err := t.AppendBinary(make([]byte, 0, 128)) // on the stack
	if err != nil {
		panic("specproc: a UTC time has no binary form: " + err.Error())
	}
	// The same as Fingerprint32, which is in assembly where there is one, and moves to the heap what it is given.
	fingerprint := farm.Hash32(append(text, seed...))
	high, low := bits.Mul64(uint64(fingerprint), uint64(limit))
	return int64(high<<32 | low>>32)
}

// unixSeconds floors t to whole seconds, within a range that leaves room for arithmetic.
func unixSeconds(t time.Time) int64 {
	const bound = 1 << 40
	return min(max(t.Unix(), -bound), bound)
}
