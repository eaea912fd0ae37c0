package generator

import (
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// yieldTime is how much longer than the other a process holds its message, when two are at work on one schedule and this one
// was second: long enough to see what the other has done at the due time.
const yieldTime = 100 * time.Millisecond

// held are the due times that this process holds messages for. If another does the same, both would work out each due time,
// one of them for nothing, for as long as the schedule is due again within the lead. So who comes second, and finds that
// the record has gone on past the time it has waited for, lets go of its message: the other has one, or a timer, since those
// come before the record. Until then it looks after the schedule as well. It may be the same message that both hold, as after
// an election, so it is given back and not acknowledged: otherwise nothing would wake the schedule should the other die.
type held struct {
	mu  sync.Mutex
	due map[schedule.Key]time.Time
}

// note remembers what a message is held for.
func (h *held) note(key schedule.Key, due time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.due == nil {
		h.due = map[schedule.Key]time.Time{}
	}
	h.due[key] = due
}

// take returns the due time that a group of messages has been held for, if nothing has come since; else zero.
func (h *held) take(key schedule.Key, group []loop.Message[wire.Wake]) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	due := h.due[key]
	delete(h.due, key)
	if len(group) != 1 || !group[0].Held {
		return time.Time{}
	}
	return due
}

// isDone reports whether another process has done what was due at a time that this one has held a message for.
func isDone(due time.Time, state *wire.GeneratorState, decision *Decision) bool {
	return !due.IsZero() && state.Next.After(due) && decision.HandOff == nil && !decision.Changed
}
