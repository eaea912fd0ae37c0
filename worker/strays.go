package worker

import (
	"context"
	"sync"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// strays counts the handlers that were left and have not returned. As many of them as a worker has slots go on beside its
// runs; any further one keeps the slot of its run until it returns, so that a worker whose handlers hang takes on less, and
// nothing in the end. It is safe for concurrent use, but for wait, which is for one goroutine.
type strays struct {
	slots chan struct{}

	mu    sync.Mutex
	count int
	fewer chan struct{} // says that one has returned
}

func newStrays(slots chan struct{}) *strays {
	return &strays{slots: slots, fewer: make(chan struct{}, 1)}
}

// add counts a handler until it returns. It returns the number there are now, and whether this one keeps its slot, which is
// then given back here.
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

// wait waits until all have returned or ctx is done, and returns the number of those that have not.
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
