package specproc

import (
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Range is a stretch of time to process, with everything that decides about the times in it (docs/semantics.md §3).
type Range struct {
	// From and To bound the actual times: From < Actual ≤ To.
	From, To time.Time
	// Manual is set for a backfill: everything in the range is due, whatever the following seven fields are.
	Manual bool
	// Paused and OutOfActions skip the whole range.
	Paused, OutOfActions bool
	// Frozen is set if the whole range lies in a freeze of the namespace. All its times are dropped.
	Frozen bool
	// UpdateTime is when the schedule was last changed. Times whose Actual is before it are skipped: they belonged to an earlier
	// version of the schedule.
	UpdateTime time.Time
	// CatchupWindow is how long before To an Actual may lie. Earlier times are missed. See [schedule.Policies.Catchup]. Zero is
	// no default here: all times before To are missed.
	CatchupWindow time.Duration
	// CatchupMode decides whether all times within the window are taken, or only the newest of the late ones.
	CatchupMode schedule.CatchupMode
	// Limit is how many times to take. Zero takes none; a negative number means no limit.
	Limit int
	// Seed is the seed of the jitter.
	Seed string
}

// RangeResult is the result of processing a Range.
type RangeResult struct {
	// Times are due and must be buffered, in order: at most Limit.
	Times []Time
	// Mark is the new high water mark: everything up to it is done, and the next range begins there.
	Mark time.Time
	// Next is when to come back: the Actual of the first time after Mark. It is zero if there is none, and the spec is exhausted.
	Next time.Time
	// Missed counts the times that lie more than the catch-up window before To.
	Missed Tally
	// Superseded counts the times within the window that are so late that a newer one replaces them: see
	// [schedule.CatchupLatest].
	Superseded Tally
	// Dropped counts the times beyond the limit of an automated range, or all times of a frozen one. They are lost.
	Dropped Tally
	// Truncated is set if a manual range stopped at its limit. The times after Mark are still to come.
	Truncated bool
}

// ProcessTimeRange decides what is due in a range (docs/semantics.md §3).
//
//   - A range that does not advance (To ≤ From: a clock went back) is empty and leaves the mark at From.
//   - A paused schedule, or one without actions left, skips the range, and the mark moves to To. A frozen range is dropped.
//   - Otherwise times before the update time are skipped, times outside the catch-up window are missed, and late times are
//     superseded if only the latest counts. The others are taken, up to the limit. An automated range drops the times beyond it.
//     A manual range stops there, with the mark at the last time taken.
//
// Two ranges that meet give the same times as one range from the first From to the last To, as long as the limit does not bind,
// the same times lie within the window and none is superseded. Missed and dropped times are counted by the day, so that a long
// outage costs a few milliseconds for each year of it; Limit bounds the memory.
func (s *Spec) ProcessTimeRange(r Range) RangeResult {
	var out RangeResult
	switch {
	case !r.To.After(r.From):
		out.Mark = r.From
	case r.Manual:
		s.processManual(&r, &out)
	case r.Paused || r.OutOfActions:
		out.Mark = r.To
	case r.Frozen:
		out.Mark = r.To
		out.Dropped = s.tally(latest(r.From, r.UpdateTime.Add(-1)), r.To, r.Seed)
	default:
		s.processAutomated(&r, &out)
	}
	if next, ok := s.NextDue(out.Mark, r.Seed); ok {
		out.Next = next.Actual
	}
	return out
}

// processManual takes times up to the limit and stops there.
func (s *Spec) processManual(r *Range, out *RangeResult) {
	out.Mark = r.From
	for t := range s.Between(r.From, r.To, r.Seed) {
		if len(out.Times) == r.Limit {
			out.Truncated = true
			return
		}
		out.Times = append(out.Times, t)
		out.Mark = t.Actual
	}
	out.Mark = r.To
}

// processAutomated counts what is too late, takes times up to the limit, and counts the rest.
func (s *Spec) processAutomated(r *Range, out *RangeResult) {
	out.Mark = r.To
	from := latest(r.From, r.UpdateTime.Add(-1))
	tooLate := r.To.Add(-r.CatchupWindow).Add(-1)
	if tooLate.After(from) {
		out.Missed = s.tally(from, tooLate, r.Seed)
		from = tooLate
	}
	if r.CatchupMode == schedule.CatchupLatest {
		out.Superseded, from = s.supersede(from, r.To, r.Seed)
	}
	for t := range s.Between(from, r.To, r.Seed) {
		if len(out.Times) == r.Limit {
			out.Dropped = s.tally(from, r.To, r.Seed)
			return
		}
		out.Times = append(out.Times, t)
		from = t.Actual
	}
}

// supersede counts the times with from < Actual ≤ to that are late and are followed by a newer one. It also returns the instant
// after which no time is superseded.
func (s *Spec) supersede(from, to time.Time, seed string) (Tally, time.Time) {
	grace := to.Add(-schedule.CatchupLatestGrace).Add(-1)
	if !grace.After(from) {
		return Tally{}, from
	}
	late := s.tally(from, grace, seed)
	if late.Count == 0 {
		return Tally{}, from
	}
	if fresh, ok := s.NextDue(grace, seed); ok && !fresh.Actual.After(to) {
		return late, grace
	}
	newest := s.time(late.Last.Unix(), seed).Actual.Add(-1)
	return s.tally(from, newest, seed), newest
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
