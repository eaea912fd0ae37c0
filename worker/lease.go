package worker

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/schedule"
)

// minHeartbeat is the minimum time between two lease extensions by heartbeats.
const minHeartbeat = 100 * time.Millisecond

// lease is the hold on a request that has not been acknowledged yet. It is safe for concurrent use.
type lease struct {
	mu   sync.Mutex
	msg  jetstream.Msg
	beat time.Time // the last heartbeat that extended it
	over bool
}

// adopt replaces the message with a later delivery of the same request. The later delivery is the one to answer.
func (l *lease) adopt(msg jetstream.Msg) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.msg = msg
}

// extend asks for another acknowledgement wait. After end it sends nothing: the server would take it for a wish to postpone the redelivery
// that end asked for.
func (l *lease) extend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over && l.msg != nil { // a trial has none
		_ = l.msg.InProgress() // without NATS the lease runs out, and the worker adopts the redelivery
	}
}

// heartbeat extends the lease, unless another heartbeat did so just now.
func (l *lease) heartbeat(now time.Time) {
	l.mu.Lock()
	recent := now.Sub(l.beat) < minHeartbeat
	if !recent {
		l.beat = now
	}
	l.mu.Unlock()
	if !recent {
		l.extend()
	}
}

// end stops the extensions and returns the message to answer.
func (l *lease) end() jetstream.Msg {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	return l.msg
}

// held is a request that this worker holds, from its arrival until it is answered.
type held struct {
	lease
	request  schedule.ActionRequest
	delivery int
	// ctx is the parent of the handler's context. A control ends it with its cause.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// started is when the code of the first attempt on this worker began; zero if none did.
	started time.Time
	// slotKept says that the handler was left and keeps the slot of the run.
	slotKept bool
	// previous are the details of the last heartbeat of an earlier attempt.
	previous json.RawMessage
	// onHeartbeat is for trials.
	onHeartbeat func(details json.RawMessage)

	// terminated is closed when the run is over, whatever its handler does.
	terminated chan struct{}
	terminate  func()

	stateMu  sync.Mutex
	alive    time.Time // when the code last showed a sign of life
	progress progress
}

// newHeld returns a request that has just arrived.
func newHeld(ctx context.Context, msg jetstream.Msg, request schedule.ActionRequest, delivery int) *held {
	h := &held{request: request, delivery: delivery, terminated: make(chan struct{})}
	h.lease.msg = msg
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	h.terminate = sync.OnceFunc(func() { close(h.terminated) })
	return h
}

// control applies a cancel or a terminate. A terminate also overrides an earlier cancel.
func (h *held) control(cause error) {
	h.cancel(cause)
	if errors.Is(cause, ErrTerminated) {
		h.terminate()
	}
}

// cause returns why ctx has ended; nil if it has not. ctx is the handler's context or h.ctx.
func (h *held) cause(ctx context.Context) error {
	select {
	case <-h.terminated:
		return ErrTerminated
	default:
		return context.Cause(ctx)
	}
}

// setAlive records a sign of life.
func (h *held) setAlive(now time.Time) {
	h.stateMu.Lock()
	defer h.stateMu.Unlock()
	h.alive = now
}

// lastAlive returns when the code last showed a sign of life. Its beginning is the first one.
func (h *held) lastAlive() time.Time {
	h.stateMu.Lock()
	defer h.stateMu.Unlock()
	return h.alive
}

// table holds the requests of a worker, by request ID. It is safe for concurrent use.
type table struct {
	mu   sync.Mutex
	runs map[string]*held
}

func newTable() *table { return &table{runs: map[string]*held{}} }

// admit adds a request. If the worker already has it, the held request adopts the message, and admit reports false.
func (t *table) admit(h *held) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if present, ok := t.runs[h.request.RequestID]; ok {
		present.adopt(h.msg)
		return false
	}
	t.runs[h.request.RequestID] = h
	return true
}

// remove removes a request. A later delivery of it counts as new.
func (t *table) remove(h *held) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.runs, h.request.RequestID)
}

// byRunID returns the request of a run; nil if the worker does not have it. It searches all requests, because controls are rare.
func (t *table) byRunID(id string) *held {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.runs {
		if h.request.RunID == id {
			return h
		}
	}
	return nil
}

// all returns the current requests.
func (t *table) all() []*held {
	t.mu.Lock()
	defer t.mu.Unlock()
	runs := make([]*held, 0, len(t.runs))
	for _, h := range t.runs {
		runs = append(runs, h)
	}
	return runs
}
