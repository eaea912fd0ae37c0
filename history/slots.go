package history

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/schedule"
)

// slot is what this process has in memory of one workflow ID. Whoever has its turn may use and change the fields below turn.
type slot struct {
	key   schedule.Key
	shard int
	// users is how many want the turn, or have it, or wait for an answer to a query, and bytes what the slot counts for in the cache. The lock of slots guards both.
	users int
	bytes int64

	turn chan struct{} // has an element while somebody has the turn
	// state is nil if nothing is known.
	state *execution.State
	// recent are the last events of the newest run.
	recent recent
	// timer fires at the next deadline, if that is near.
	timer *time.Timer
	// changed is closed when the state changes, if anybody waits for that.
	changed chan struct{}
}

// wait waits for the turn of a workflow ID.
func (s *slot) wait(ctx context.Context) error {
	limit := time.NewTimer(turnLimit)
	defer limit.Stop()
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		return errBusyWorkflow
	}
}

// forget makes the slot know nothing.
func (s *slot) forget() {
	s.state, s.recent = nil, recent{}
}

// size is about how many bytes the slot takes; 0 if it knows nothing.
func (s *slot) size() int64 {
	const fixed, each = 2 << 10, 1 << 10
	if s.state == nil {
		return 0
	}
	size := fixed + s.recent.bytes
	if run := s.state.Run; run != nil {
		size += int64(len(run.Activities)+len(run.Timers)+len(run.Buffered)) * each
		size += int64(run.Requests.Len()) * 128
	}
	return size
}

// slots are the slots in use, and the ones that were used last. It is safe for concurrent use.
type slots struct {
	maxIdle  int
	maxBytes int64

	mu    sync.Mutex
	all   map[schedule.Key]*slot
	idle  *simplelru.LRU[schedule.Key, *slot]
	bytes int64 // of the idle ones
}

func newSlots(maxIdle int, maxBytes int64) *slots {
	s := &slots{maxIdle: maxIdle, maxBytes: maxBytes, all: map[schedule.Key]*slot{}}
	s.idle, _ = simplelru.NewLRU[schedule.Key, *slot](max(maxIdle, 1)+1, nil) // fails only for a size below 1
	return s
}

// use returns the slot of a key, which the caller passes to release; nil if it has as many users as it may.
func (s *slots) use(key schedule.Key, shard int) *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.all[key]
	if found == nil {
		found = &slot{key: key, shard: shard, turn: make(chan struct{}, 1)}
		s.all[key] = found
	}
	if found.users == maxUsers {
		return nil
	}
	if found.users == 0 && s.idle.Remove(key) {
		s.bytes -= found.bytes
	}
	found.users++
	return found
}

// unchanged is the size for a release by a caller that has not had the turn.
const unchanged = -1

// release ends a use. size is that of the slot; a slot of size 0 is not kept.
func (s *slots) release(used *slot, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size != unchanged {
		used.bytes = size
	}
	used.users--
	if used.users > 0 {
		return
	}
	if used.bytes == 0 {
		s.drop(used)
		return
	}
	s.idle.Add(used.key, used)
	s.bytes += used.bytes
	for s.bytes > s.maxBytes || s.idle.Len() > s.maxIdle {
		_, oldest, ok := s.idle.RemoveOldest()
		if !ok {
			return
		}
		s.drop(oldest)
	}
}

func (s *slots) drop(oldest *slot) {
	s.bytes -= oldest.bytes
	delete(s.all, oldest.key)
	if oldest.timer != nil {
		oldest.timer.Stop() // the delayed message comes instead
	}
}

// used is which share of the memory is taken, by the number of executions or by their size.
func (s *slots) used() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(float64(s.idle.Len())/float64(s.maxIdle), float64(s.bytes)/float64(s.maxBytes))
}

// close stops all timers.
func (s *slots) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		if one.users == 0 && one.timer != nil {
			one.timer.Stop()
		}
	}
}
