package generator

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Back-pressure: under overload, due actions handed over at once would wait for the invoker one by one. So while the invoker of a shard is
// far behind, hand-offs of the shard wait here, within limits. The actions of a schedule then go together in one hand-off, which costs one
// message and three record writes for all of them.
const (
	// lookEvery is how often the pool asks how far behind the invoker is, lookAgain how long it waits after a failure.
	lookEvery = 250 * time.Millisecond
	lookAgain = 30 * time.Second
	lookTime  = time.Second
	// waitTime is how long a hand-off waits before it is tried again. waitLimit bounds how late that may make it: it stays within the
	// shortest catch-up window, and does not wait forever if no invoker runs.
	waitTime  = 250 * time.Millisecond
	waitLimit = 6 * time.Second
	// defaultBacklog is how many messages of all shards may wait for the invoker: about a second of work.
	defaultBacklog = 4096
	leastBacklog   = 256
	// worthALook is the part of the backlog that must have been handed over since the last look before the pool looks again. A pool with
	// little to do never looks.
	worthALook = 1. / 64
)

// backpressure knows how far behind the invoker is in each shard. It is safe for concurrent use.
type backpressure struct {
	mu     sync.Mutex
	shards map[int]*backlog
	// limit is how many messages make a backlog.
	limit int
	// looks shares one look among all callers that want one at the same moment.
	looks singleflight.Group
}

// backlog is the invoker's backlog in one shard.
type backlog struct {
	next      time.Time // the earliest time of the next look
	handedOff int       // the hand-offs since the last look
	long      bool
}

func (b *backpressure) shard(shard int) *backlog {
	if b.shards == nil {
		b.shards = map[int]*backlog{}
	}
	if b.shards[shard] == nil {
		b.shards[shard] = &backlog{}
	}
	return b.shards[shard]
}

// note counts a hand-off that is about to be made, and reports whether the pool must look first.
func (b *backpressure) note(shard int, now time.Time) (look bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.shard(shard)
	s.handedOff++
	if now.Before(s.next) || !s.long && float64(s.handedOff) < worthALook*float64(b.limit) {
		return false
	}
	return true
}

// learn takes in the result of a look.
func (b *backpressure) learn(shard, messages int, err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.shard(shard)
	s.long, s.next, s.handedOff = err == nil && messages > b.limit, now.Add(lookEvery), 0
	if err != nil {
		s.next = now.Add(lookAgain)
	}
}

// wait returns until when a hand-off that was due at a time must wait, or zero if it need not wait.
func (b *backpressure) wait(shard int, due, now time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.shard(shard).long || now.Sub(due) >= waitLimit {
		return time.Time{}
	}
	return now.Add(waitTime)
}

// heldBack returns until when a hand-off that the pool has held to its due time must wait for the invoker. It returns zero if the hand-off
// need not wait, or if there is none.
func (p *Pool) heldBack(ctx context.Context, key schedule.Key, due time.Time) time.Time {
	now := p.config.Now()
	if due.IsZero() || now.Before(due) {
		return time.Time{}
	}
	shard := p.config.Store.ShardOf(key)
	if p.backpressure.note(shard, now) {
		p.look(ctx, shard)
		now = p.config.Now()
	}
	until := p.backpressure.wait(shard, due, now)
	if !until.IsZero() {
		p.held.note(key, due)
	}
	return until
}

// look asks how far behind the invoker of a shard is.
func (p *Pool) look(ctx context.Context, shard int) {
	stream := p.config.Names.TaskStream(shard)
	_, _, _ = p.backpressure.looks.Do(stream, func() (any, error) {
		ctx, cancel := context.WithTimeout(ctx, lookTime)
		defer cancel()
		messages, err := p.config.Bus.Backlog(ctx, stream, subjects.PoolInvoker)
		p.backpressure.learn(shard, messages, err, p.config.Now())
		return nil, nil
	})
}
