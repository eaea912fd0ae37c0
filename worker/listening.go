package worker

import (
	"sync"
	"time"
)

const (
	// youngRun is the age, counted from its due time, up to which a run is young. Nobody can have asked a run to end before it was due.
	youngRun = 5 * time.Second
	// heardSince is how long a worker must have listened to be sure that it heard all controls of a young run. Half of it allows for clock
	// differences.
	heardSince = 2 * youngRun
)

// listening knows since when a worker has heard the controls of its queue without a gap. It is safe for concurrent use.
type listening struct {
	mu         sync.Mutex
	since      time.Time // zero before it begins
	reconnects uint64
}

// begin notes that the subscription exists.
func (l *listening) begin(reconnects uint64, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since, l.reconnects = now, reconnects
}

// duration returns how long the worker has listened without a gap. After a reconnect, it counts anew from now.
func (l *listening) duration(reconnects uint64, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		return 0
	}
	if reconnects != l.reconnects {
		l.since, l.reconnects = now, reconnects
	}
	return now.Sub(l.since)
}

// hasHeard reports whether every control of a run must have come by the subscription. That is so if the run has just become due, and the
// worker has listened since long before and has forgotten no control.
func (w *Worker) hasHeard(h *held) bool {
	now := w.now()
	if now.Sub(h.request.DueTime) > youngRun {
		return false
	}
	return w.listening.duration(w.bus.Reconnects(), now) > heardSince && w.controls.reaches(heardSince, now)
}
