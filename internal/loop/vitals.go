package loop

import (
	"fmt"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// stuckAfter is how long one group of messages may be handled. Everything that a handler waits for has a limit of seconds, so a handler
// that takes this long will never end.
const stuckAfter = 10 * time.Minute

// Vitals show the state of a loop to others. The zero value shows a loop that has not begun. It is safe for concurrent use. A nil Vitals
// ignores everything.
type Vitals struct {
	mu        sync.Mutex
	consumers int
	pulled    int // how many of them are
	// longest returns the group that has been handled for the longest time, and that time; nil before the loop begins.
	longest func() (schedule.Key, time.Duration)
}

// Waits says what the loop waits for before it gets the messages of all its consumers; empty if it gets them.
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

// Stuck returns the schedule that the loop has been handling for more than 10 minutes; empty if there is none. Then only a new process
// helps.
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

// pulls notes that the messages of one more consumer arrive, until the returned function is called.
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

// longest returns the schedule whose messages have been handled for the longest time, and that time.
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
