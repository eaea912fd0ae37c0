package matching

import (
	"context"
	"sync"

	"github.com/carillon-scheduler/carillon/subjects"
)

// asks is how often a priority is asked for messages before its backlog is taken for empty. A consumer may learn of a message a moment after the message
// was stored.
const asks = 3

// levels are the priorities of the tasks of one queue, during one pass. They say which of them may have tasks, and keep the order: a task is fetched only
// while no more urgent one looks for a poll, and gives way when a more urgent one comes. The zero value is ready. Safe for concurrent use.
type levels struct {
	mu  sync.Mutex
	all [subjects.LastPriority + 1]level
	// changed is closed when fewer tasks look for a poll, or when there may be more tasks; nil if nobody waits for it.
	changed chan struct{}
}

// level is one priority.
type level struct {
	left    int // how often it is still to be asked
	looking int // how many of its tasks look for a poll
	// ctx is that of the tasks which look. It ends when they are to give way.
	ctx      context.Context
	giveWays context.CancelFunc
}

// expect notes that a priority may have tasks. Less urgent ones that look for a poll give way.
func (l *levels) expect(priority int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[priority].left = asks
	l.change()
	l.giveWay(priority)
}

// giveWay ends the search of less urgent tasks. The caller has the lock.
func (l *levels) giveWay(priority int) {
	for less := priority + 1; less < len(l.all); less++ {
		if one := &l.all[less]; one.ctx != nil {
			one.giveWays()
			one.ctx = nil
		}
	}
}

// candidates are the priorities that may have tasks, the most urgent first. The usual one always may.
func (l *levels) candidates() (some []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := subjects.FirstPriority; p < len(l.all); p++ {
		if p == subjects.DefaultPriority || l.all[p].left > 0 {
			some = append(some, p)
		}
	}
	return some
}

// asked notes how many messages a priority had.
func (l *levels) asked(priority, got int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := &l.all[priority]
	if one.left--; got > 0 {
		one.left = asks
	}
	one.left = max(one.left, 0)
}

// behind returns a channel that is closed when the tasks of a priority may have their turn; nil if they may now.
func (l *levels) behind(priority int) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range priority {
		if l.all[p].looking == 0 {
			continue
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		return l.changed
	}
	return nil
}

// look begins the search for a poll for a task. The context that it returns ends with ctx, and when the task is to give way. Less urgent ones give way
// again: some may have been fetched while the hint about this task came.
func (l *levels) look(ctx context.Context, priority int) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := &l.all[priority]
	one.looking++
	l.giveWay(priority)
	if one.ctx == nil {
		one.ctx, one.giveWays = context.WithCancel(ctx)
	}
	return one.ctx
}

// found ends the search for a poll for a task.
func (l *levels) found(priority int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all[priority].looking--; l.all[priority].looking == 0 {
		l.change()
	}
}

// change wakes whoever waits for a change. The caller has the lock.
func (l *levels) change() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// end releases what the levels hold, after the pass.
func (l *levels) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.all {
		if l.all[i].ctx != nil {
			l.all[i].giveWays()
		}
	}
}
