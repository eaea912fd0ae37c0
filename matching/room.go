package matching

import (
	"context"
	"sync"
)

// room limits how many tasks of a queue are offered at once. The limit doubles when a task finds a poll, up to the most that is allowed, and
// halves when a task has waited for its patience: if the workers are busy, two tasks that wait for them are enough. It is safe for concurrent
// use.
type room struct {
	most int

	mu    sync.Mutex
	limit int
	taken int
	freed chan struct{} // has an element after there was room
}

// least is the smallest limit.
const least = 2

func newRoom(most int) *room {
	return &room{most: most, limit: min(least, most), freed: make(chan struct{}, 1)}
}

// enter waits until there is room, takes all of it, and returns how much that is. It returns 0 if ctx ends.
func (r *room) enter(ctx context.Context) int {
	for ctx.Err() == nil {
		if n := r.take(); n > 0 {
			return n
		}
		select {
		case <-r.freed:
		case <-ctx.Done():
		}
	}
	return 0
}

func (r *room) take() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := max(r.limit-r.taken, 0)
	r.taken += n
	return n
}

// leave gives room back.
func (r *room) leave(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken -= n
	r.free()
}

// free makes enter look again. The caller has the lock.
func (r *room) free() {
	if r.taken < r.limit {
		select {
		case r.freed <- struct{}{}:
		default:
		}
	}
}

// empty reports whether nobody has taken room.
func (r *room) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken == 0
}

func (r *room) grow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit = min(2*r.limit, r.most)
	r.free()
}

func (r *room) shrink() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit = min(max(r.limit/2, least), r.most)
}
