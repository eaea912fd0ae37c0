// Package alarm calls functions at a time, and is on time while Go collects garbage.
//
// A timer of Go fires when a processor looks for something to do. While memory is marked, processors that have nothing to do help
// with it: they look for goroutines and for what the network brings, and not for timers, until they are stopped after ten
// milliseconds. Where much memory is in use that takes seconds, in which everything that begins with a timer would be late. So there
// is a second one, where the system has it: a file that becomes readable two milliseconds after the first timer should have fired,
// as a socket does when something has come. As a rule it is set to a later time before that, and wakes nobody.
//
// It may be imported by what begins work at a time, and imports nothing of Carillon. What waits for a limit that is seldom reached
// does not need it.
package alarm

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// patience is how late a timer may be until something is done about it: later than it is as a rule.
const patience = 2 * time.Millisecond

// Clock calls functions at their times. The zero value is ready for use; until it is run, and where there is no bell, it is as
// late as Go's timers are. It is safe for concurrent use.
type Clock struct {
	mu      sync.Mutex
	pending queue
	bell    bell
	next    time.Time // what the bell is set to; zero if it is not
}

// Alarm is a call that is to be made.
type Alarm struct {
	clock *Clock
	timer *time.Timer
	at    time.Time
	place int // in the queue, negative if it is not there
	call  func()
}

// After arranges for a function to be called in a goroutine of its own when a time is over, at once if that is not positive.
func (c *Clock) After(d time.Duration, call func()) *Alarm {
	a := &Alarm{clock: c, at: time.Now().Add(d), call: call}
	c.mu.Lock()
	defer c.mu.Unlock()
	heap.Push(&c.pending, a)
	a.timer = time.AfterFunc(d, a.fire)
	c.set()
	return a
}

// Stop sees to it that the function is not called, unless it is being called or has been.
func (a *Alarm) Stop() {
	a.timer.Stop()
	a.clock.remove(a)
}

func (a *Alarm) fire() {
	a.clock.remove(a)
	a.call()
}

func (c *Clock) remove(a *Alarm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.place >= 0 {
		heap.Remove(&c.pending, a.place)
		c.set()
	}
}

// set sets the bell to the first alarm. The caller holds the lock.
func (c *Clock) set() {
	if c.bell == nil || len(c.pending) == 0 {
		return
	}
	if first := c.pending[0].at; !first.Equal(c.next) {
		c.next = first
		c.bell.set(time.Until(first) + patience)
	}
}

// Run sees to it that functions are called in time, until ctx ends. It must not run twice at a time.
func (c *Clock) Run(ctx context.Context) {
	bell := newBell()
	if bell == nil {
		return
	}
	defer bell.close()
	defer context.AfterFunc(ctx, bell.close)()
	c.hang(bell)
	defer c.hang(nil)
	for bell.wait() {
		for _, a := range c.late(time.Now()) {
			if a.timer.Stop() {
				go a.call()
			}
		}
	}
}

// hang puts up a bell, or takes it away.
func (c *Clock) hang(bell bell) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bell, c.next = bell, time.Time{}
	c.set()
}

// late takes what is due out of the queue.
func (c *Clock) late(now time.Time) (all []*Alarm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.pending) > 0 && !c.pending[0].at.After(now) {
		all = append(all, heap.Pop(&c.pending).(*Alarm))
	}
	c.next = time.Time{}
	c.set()
	return all
}

// queue is a heap of alarms, the first of which comes first.
type queue []*Alarm

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

func (q *queue) Push(x any) {
	a := x.(*Alarm)
	a.place = len(*q)
	*q = append(*q, a)
}

func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	last.place = -1
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return last
}
