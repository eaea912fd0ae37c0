package bench

import (
	"slices"
	"sync"
	"time"
)

// entry is one action that is due, and what became of it.
type entry struct {
	nominal time.Time
	due     time.Time
	// began is when its code first began, runs how often it did.
	began time.Time
	runs  int
}

// span is a stretch of time, from inclusive, to exclusive.
type span struct{ from, to time.Time }

func (s span) has(t time.Time) bool  { return !t.Before(s.from) && t.Before(s.to) }
func (s span) length() time.Duration { return s.to.Sub(s.from) }
func (s span) per(n int) float64     { return float64(n) / s.length().Seconds() }
func (s span) part(i, of int) span   { return span{s.at(i, of), s.at(i+1, of)} }
func (s span) at(i, of int) time.Time {
	return s.from.Add(s.length() * time.Duration(i) / time.Duration(of))
}

// allTime is a span that has every time.
func allTime() span { return span{to: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} }

// ledger knows which actions are due, and notes which have begun. It is safe for concurrent use.
type ledger struct {
	mu      sync.Mutex
	entries map[string][]entry // by schedule, in the order of their nominal times
	// ran counts the entries that have begun, strangers the runs that no due action explains.
	ran       int
	strangers int
}

func newLedger() *ledger { return &ledger{entries: map[string][]entry{}} }

// expect adds actions of a schedule, later than those it has.
func (l *ledger) expect(id string, due ...entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries[id] = append(l.entries[id], due...)
}

// begin notes that the code of an action has begun.
func (l *ledger) begin(id string, nominal, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries := l.entries[id]
	i, found := slices.BinarySearchFunc(entries, nominal, func(e entry, t time.Time) int { return e.nominal.Compare(t) })
	if !found {
		l.strangers++
		return
	}
	e := &entries[i]
	if e.runs++; e.runs == 1 {
		e.began = at
		l.ran++
	}
}

// forgetStrangers forgets the runs so far that no due action explains.
func (l *ledger) forgetStrangers() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.strangers = 0
}

// tally is what a ledger says of the actions that are due in a span.
type tally struct {
	due, started, missed, doubled int
	// unexpected counts runs that no due action explains, early those that began before they were due. Both should be zero.
	unexpected, early int
	// last is when the last code began.
	last     time.Time
	lateness histogram
}

// count counts the actions that are due in a span.
func (l *ledger) count(s span) tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := tally{unexpected: l.strangers, lateness: newHistogram()}
	for _, entries := range l.entries {
		for i := range entries {
			if s.has(entries[i].due) {
				t.add(&entries[i])
			}
		}
	}
	return t
}

func (t *tally) add(e *entry) {
	t.due++
	if e.runs == 0 {
		t.missed++
		return
	}
	t.started++
	t.doubled += e.runs - 1
	if e.began.Before(e.due) {
		t.early++
	}
	if e.began.After(t.last) {
		t.last = e.began
	}
	t.lateness.add(e.began.Sub(e.due))
}

// progress returns how many actions have begun so far, and how many there are.
func (l *ledger) progress() (ran, all int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, entries := range l.entries {
		all += len(entries)
	}
	return l.ran, all
}

// growing reports whether actions start later and later in a span: whether those of its last quarter are clearly later than
// those of its first.
func (l *ledger) growing(s span) bool {
	const quarters = 4
	first, last := l.count(s.part(0, quarters)).lateness.quantiles(), l.count(s.part(quarters-1, quarters)).lateness.quantiles()
	return first != nil && last != nil && last.P50 > 2*first.P50+growth
}

// growth is by how much lateness may differ by chance.
const growth = Milliseconds(50)
