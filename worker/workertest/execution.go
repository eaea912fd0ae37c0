package workertest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/worker"
)

// mostAttempts ends a run whose policy has no bound.
const mostAttempts = 1_000

// Run executes a run with all its attempts, and returns the result.
func Run(t testing.TB, handler worker.Handler, request Request) Result {
	t.Helper()
	return Start(t, handler, request).Wait()
}

// Execution is a run in progress. It is made by [Start] and safe for concurrent use.
type Execution struct {
	t    testing.TB
	end  context.CancelCauseFunc
	done chan struct{} // closed when result is there

	mu       sync.Mutex
	result   Result
	received int // heartbeats that NextHeartbeat has returned
	beats    []json.RawMessage
	changed  chan struct{} // closed and replaced when a heartbeat comes
}

// Start begins to execute a run and returns. At the latest at the end of the test, the run is shut down and its end awaited.
func Start(t testing.TB, handler worker.Handler, request Request) *Execution {
	t.Helper()
	if request.Logger == nil {
		request.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	trial, err := request.trial(handler, time.Now()) //permit:time.Now a trial is in real time
	if err != nil {
		t.Fatalf("workertest: %v", err)
	}
	ctx, end := context.WithCancelCause(context.WithoutCancel(t.Context()))
	e := &Execution{t: t, end: end, done: make(chan struct{}), changed: make(chan struct{})}
	go e.execute(ctx, trial)
	t.Cleanup(func() {
		e.Shutdown()
		<-e.done
	})
	return e
}

// execute makes the attempts.
func (e *Execution) execute(ctx context.Context, trial worker.Trial) {
	defer close(e.done)
	defer e.end(nil)
	for range mostAttempts {
		result := e.attempt(ctx, &trial)
		if !result.Again {
			if c := result.Completion; c != nil {
				e.result.Status, e.result.Output, e.result.Failure = c.Status, c.Result, c.Failure
			}
			return
		}
		if errors.Is(context.Cause(ctx), worker.ErrShutdown) {
			return // another worker would get it
		}
		trial.Attempt++
		if !trial.Request.Deadline.IsZero() {
			trial.Request.Deadline = trial.Request.Deadline.Add(-result.Delay)
		}
	}
	e.t.Errorf("workertest: the run has failed %d times and is still tried again: limit the attempts of its retry policy", mostAttempts)
}

// attempt makes one attempt and records it. The next attempt gets its progress.
func (e *Execution) attempt(ctx context.Context, trial *worker.Trial) worker.TrialResult {
	attempt := Attempt{Number: trial.Attempt}
	var mu sync.Mutex // a handler that was left may still make heartbeats
	over := false
	trial.OnHeartbeat = func(details json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		attempt.Heartbeats = append(attempt.Heartbeats, details)
		e.beat(details)
	}
	result := trial.Execute(ctx)
	mu.Lock()
	defer mu.Unlock()
	over = true
	attempt.Failure, attempt.Delay = result.Failure, result.Delay
	if c := result.Completion; c != nil {
		attempt.Failure = c.Failure
	}
	trial.LastHeartbeat = result.LastHeartbeat
	e.result.Attempts = append(e.result.Attempts, attempt)
	return result
}

// beat lets NextHeartbeat return.
func (e *Execution) beat(details json.RawMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.beats = append(e.beats, details)
	close(e.changed)
	e.changed = make(chan struct{})
}

// Cancel cancels the run: the context of the handler ends with worker.ErrCanceled.
func (e *Execution) Cancel() { e.end(worker.ErrCanceled) }

// Terminate terminates the run: the context of the handler ends with worker.ErrTerminated, and its result is ignored.
func (e *Execution) Terminate() { e.end(worker.ErrTerminated) }

// Shutdown ends the worker after its drain timeout: the context of the handler ends with worker.ErrShutdown.
func (e *Execution) Shutdown() { e.end(worker.ErrShutdown) }

// NextHeartbeat waits for the next heartbeat and returns its details; nil if it has none. It reports false when the run is over and every
// heartbeat has been returned.
func (e *Execution) NextHeartbeat() (details json.RawMessage, ok bool) {
	for {
		e.mu.Lock()
		changed := e.changed
		if e.received < len(e.beats) {
			details = e.beats[e.received]
			e.received++
			e.mu.Unlock()
			return details, true
		}
		e.mu.Unlock()
		select {
		case <-changed:
		case <-e.done:
			if !e.more() {
				return nil, false
			}
		}
	}
}

func (e *Execution) more() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.received < len(e.beats)
}

// Wait waits for the end of the run and returns the result.
func (e *Execution) Wait() Result {
	<-e.done
	return e.result
}
