package frontend

import (
	"sync"

	"github.com/carillon-scheduler/carillon/schedule"
)

// gate counts the requests inside. It admits no more than it has room for, and none once it is closed. It is safe for concurrent
// use.
type gate struct {
	room int

	mu     sync.Mutex
	inside int
	closed bool
	empty  chan struct{} // closed when the gate is closed and nobody is inside
}

func newGate(room int) *gate { return &gate{room: room, empty: make(chan struct{})} }

// enter admits a request, or returns the reason for refusing it. An admitted request must leave.
func (g *gate) enter() *schedule.Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return schedule.Errorf(schedule.CodeUnavailable, "this frontend is stopping: try again, another one will answer")
	}
	if g.inside == g.room {
		return schedule.Errorf(schedule.CodeResourceExhausted,
			"this frontend has %d requests to work on, and takes no more: try again later", g.room)
	}
	g.inside++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.announce()
}

// close admits no more requests, and returns a channel that is closed when the last one has left. It is called once.
func (g *gate) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.announce()
	return g.empty
}

func (g *gate) announce() {
	if g.closed && g.inside == 0 {
		close(g.empty)
	}
}
