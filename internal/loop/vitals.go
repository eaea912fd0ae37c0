package loop

import (
	"fmt"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// stuckAfter is how long one group of messages may be handled. All that a handler waits for has a limit of seconds, and so one
// that takes this long will never end.
const stuckAfter = 10 * time.Minute

// Vitals tell from outside how a loop is doing. The zero value is that of a loop that has not begun. It is safe for
// concurrent use, and a nil one is told nothing.
type Vitals struct {
	mu        sync.Mutex
	consumers int
	pulled    int // how many of them are
	// longest returns the group that has been handled for the longest time, and how long; nil before the loop begins.
	longest func() (schedule.Key, time.Duration)
}

// Waits says what the loop waits for until the messages of all its consumers reach it; empty when they do.
func (v *Vitals) Waits() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.longest == nil:
		return "its message loop to begin"
	case v.pulled < v.consumers:
		return fmt.Sprintf("the messages of %d of %d consumers", v.consumers-v.pulled, v.consumers)
	}
	return ""
}

// Stuck says which schedule the loop does not come away from, for 10 minutes already; empty if there is none. Only a new
// process helps then.
func (v *Vitals) Stuck() string {
	v.mu.Lock()
	longest := v.longest
	v.mu.Unlock()
	if longest == nil {
		return ""
	}
	key, took := longest()
	if took < stuckAfter {
		return ""
	}
	return fmt.Sprintf("it has worked on schedule %s of namespace %s for %v", key.ID, key.Namespace, took.Round(time.Second))
}

func (v *Vitals) begin(consumers int, longest func() (schedule.Key, time.Duration)) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.consumers, v.longest = consumers, longest
}

// pulls notes that the messages of one more consumer come, until the function that it returns is called.
func (v *Vitals) pulls() (ended func()) {
	if v == nil {
		return func() {}
	}
	v.add(1)
	return func() { v.add(-1) }
}

func (v *Vitals) add(consumers int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pulled += consumers
}

// longest returns the schedule whose messages have been handled for the longest time, and for how long.
func (l *Loop[M]) longest() (longest schedule.Key, took time.Duration) {
	now := l.config.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, g := range l.groups {
		if len(g.working) > 0 && now.Sub(g.since) >= took {
			longest, took = key, now.Sub(g.since)
		}
	}
	return longest, took
}
