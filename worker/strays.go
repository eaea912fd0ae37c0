package worker

import (
	"context"
	"sync"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// strays counts the handlers that were left and have not returned. Up to the number of the worker's slots, they continue beside its runs.
// Each further one keeps the slot of its run until it returns. So a worker whose handlers hang takes on fewer runs, and in the end none. It
// is safe for concurrent use, except for wait, which is for one goroutine.
type strays struct {
	slots chan struct{}

	mu    sync.Mutex
	count int
	fewer chan struct{} // signals that one has returned
}

func newStrays(slots chan struct{}) *strays {
	return &strays{slots: slots, fewer: make(chan struct{}, 1)}
}

// add counts a handler until it returns. It returns the current number, and whether this handler keeps its slot; the slot is then released
// here.
func (s *strays) add(out <-chan returned) (count int, keepsSlot bool) {
	count = s.change(1)
	keepsSlot = count > cap(s.slots)
	go func() { // lives as long as the handler, which nothing can end
		<-out
		s.change(-1)
		if keepsSlot {
			<-s.slots
		}
		select {
		case s.fewer <- struct{}{}:
		default:
		}
	}()
	return count, keepsSlot
}

func (s *strays) change(by int) int {
	metrics.HandlersLeft.Add(metrics.Untraced(), by)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count += by
	return s.count
}

// wait waits until all have returned or ctx is done, and returns how many have not returned.
func (s *strays) wait(ctx context.Context) int {
	for {
		left := s.change(0)
		if left == 0 {
			return 0
		}
		select {
		case <-s.fewer:
		case <-ctx.Done():
			return left
		}
	}
}
