package generator

import (
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// yieldTime is how much longer a process holds its message if another process works on the same schedule and was faster: long enough to
// see what the other process has done at the due time.
const yieldTime = 100 * time.Millisecond

// heldWakes are the due times for which this process holds messages. Another process may hold a message for the same schedule. Both would
// then work out each due time, one of them for nothing, as long as the schedule is due again within the lead. So the slower process lets go
// of its message:
//
//   - It lets go once the record has gone past the due time it has waited for. The faster process has a message or a timer then, since
//     both come before the record. Until then, both look after the schedule.
//   - It gives the message back and does not acknowledge it. After an election in NATS, both may hold the same message; acknowledged,
//     nothing would wake the schedule if the faster process died.
type heldWakes struct {
	mu  sync.Mutex
	due map[schedule.Key]time.Time
}

// note remembers the due time that a message is held for.
func (h *heldWakes) note(key schedule.Key, due time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.due == nil {
		h.due = map[schedule.Key]time.Time{}
	}
	h.due[key] = due
}

// take returns and forgets the due time that a group of messages was held for. It returns zero if other messages have come since.
func (h *heldWakes) take(key schedule.Key, group []loop.Message[wire.Wake]) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	due := h.due[key]
	delete(h.due, key)
	if len(group) != 1 || !group[0].Held {
		return time.Time{}
	}
	return due
}

// isDone reports whether another process has already done what was due at the time for which this process held a message.
func isDone(due time.Time, state *wire.GeneratorState, decision *Decision) bool {
	return !due.IsZero() && state.Next.After(due) && decision.HandOff == nil && !decision.Changed
}
