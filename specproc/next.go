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
	// Nominal is what the spec says, in whole seconds. It identifies the action: workflow and request IDs contain it.
	Nominal time.Time
	// Actual is when the action is due: Nominal plus the jitter, in milliseconds.
	Actual time.Time
}

// Next returns the first time whose Nominal is after the given instant. It cuts after to whole seconds. It returns false when
// there is none up to the year 2100. seed makes the jitter of one schedule differ from the jitter of another; without jitter it
// has no effect.
//
// Next does not find a time whose Nominal is not after the given instant while its Actual is: use [Spec.NextDue] to ask what is
// due. To walk through the times, pass the Nominal of the last one. Its Actual works as well, since it never reaches the
// following Nominal.
func (s *Spec) Next(after time.Time, seed string) (Time, bool) {
	nominal := s.nextNominal(unixSeconds(after))
	if nominal == never {
		return Time{}, false
	}
	return s.time(nominal, seed), true
}

// MayClose reports whether a schedule is closed when nothing has happened for the idle time. That is so if it has no time left,
// or if its actions are limited, so that it may have none left. s is the spec of the schedule.
func (s *Spec) MayClose(d *wire.Definition, now time.Time) bool {
	if d.Schedule.State.LimitedActions {
		return true
	}
	_, more := s.NextDue(now, d.JitterSeed())
	return !more
}

// NextDue returns the first time whose Actual is after the given instant, to the nanosecond. It returns false when there is none.
// Without jitter it returns what [Spec.Next] returns.
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

// pending returns the time whose jitter is running at the given instant: Nominal ≤ at < Actual. Only the last raw time up to that
// instant can be it, because Actual never reaches the following raw time.
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

// lastRaw returns the last raw time up to the given one. It returns never if that lies further back than the jitter or before the
// start of the spec. It finds the time by bisection.
func (s *Spec) lastRaw(upTo int64) int64 {
	low, high := max(upTo-s.jitter/1000, s.start)-1, upTo
	last := int64(never)
	for low < high {
		middle := low + (high-low)/2
		if last == never {
			middle = low // first find out whether there is one in reach
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

// delay returns the jitter of a time in milliseconds (docs/semantics.md §2): a share of a limit, which the fingerprint of the
// time and the seed determines. The limit is the spec's jitter, or the gap to the following raw time if that is smaller. Excluded
// times count as following ones, so that excluding a time does not move its neighbours.
func (s *Spec) delay(nominal int64, t time.Time, seed string) int64 {
	limit := s.jitter
	if following := s.nextRaw(nominal); following != never {
		limit = min(limit, (following-nominal)*1000)
	}
	text, err := t.AppendBinary(make([]byte, 0, 128)) // on the stack
	if err != nil {
		panic("specproc: a UTC time has no binary form: " + err.Error())
	}
	// Hash32 returns what Fingerprint32 returns. Fingerprint32 is in assembly on some platforms, which moves its argument to the
	// heap.
	fingerprint := farm.Hash32(append(text, seed...))
	high, low := bits.Mul64(uint64(fingerprint), uint64(limit))
	return int64(high<<32 | low>>32)
}

// unixSeconds floors t to whole seconds, within a range that leaves room for arithmetic.
func unixSeconds(t time.Time) int64 {
	const bound = 1 << 40
	return min(max(t.Unix(), -bound), bound)
}
