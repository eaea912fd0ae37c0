package worker

import (
	"sync"
	"time"
)

const (
	// youngRun is how long after it was due a run is young: nobody can have asked it to end before it was due.
	youngRun = 5 * time.Second
	// heardSince is for how long a worker must have heard all controls to have heard those of a young run, with as much
	// to spare for clocks that are apart.
	heardSince = 2 * youngRun
)

// listening knows since when a worker has heard the controls of its queue without a gap. It is safe for concurrent use.
type listening struct {
	mu         sync.Mutex
	since      time.Time // zero before it begins
	reconnects uint64
}

// begin notes that the subscription is there.
func (l *listening) begin(reconnects uint64, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since, l.reconnects = now, reconnects
}

// duration is for how long the worker has listened. A connection that was lost meanwhile makes it begin anew, at the
// latest now.
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

// hasHeard reports whether every control of a run must have come by the subscription: the run has only just come due, and
// the worker has listened, and forgotten nothing, since long before.
func (w *Worker) hasHeard(h *held) bool {
	now := w.now()
	if now.Sub(h.request.DueTime) > youngRun {
		return false
	}
	return w.listening.duration(w.bus.Reconnects(), now) > heardSince && w.controls.reaches(heardSince, now)
}
