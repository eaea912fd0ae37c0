package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// silence is a heartbeat timeout far below what the API accepts.
const silence = 300 * time.Millisecond

func heartbeatTimeout(d time.Duration) func(*schedule.ActionRequest) {
	return func(r *schedule.ActionRequest) { r.HeartbeatTimeout = schedule.Duration(d) }
}

func taskTimeout(d time.Duration) func(*schedule.ActionRequest) {
	return func(r *schedule.ActionRequest) { r.TaskTimeout = schedule.Duration(d) }
}

func deadlineIn(d time.Duration) func(*schedule.ActionRequest) {
	return func(r *schedule.ActionRequest) { r.Deadline = time.Now().Add(d) }
}

// hanging is a handler that ignores its context until it is released.
type hanging struct {
	began, release, returned chan struct{}
}

func newHanging(t *testing.T) *hanging {
	h := &hanging{began: make(chan struct{}, 10), release: make(chan struct{}), returned: make(chan struct{}, 10)}
	t.Cleanup(h.let)
	return h
}

func (h *hanging) run(ctx context.Context, _ *worker.Run) (any, error) {
	_ = worker.Heartbeat(ctx, map[string]int{"row": 7})
	h.began <- struct{}{}
	<-h.release
	defer func() { h.returned <- struct{}{} }()
	return "too late", worker.Heartbeat(ctx, "too late")
}

// let releases the handlers, once.
func (h *hanging) let() {
	select {
	case <-h.release:
	default:
		close(h.release)
	}
}

func TestSilentHandlerLosesTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cause := make(chan error, 1)
	b.serve("a", func(ctx context.Context, _ *worker.Run) (any, error) {
		assert.NoError(t, worker.Heartbeat(ctx, map[string]int{"row": 7}))
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return nil, errors.New("not done")
	})
	b.submit(b.request("1", "a", heartbeatTimeout(silence)))
	done := b.completion()
	assert.Equal(t, schedule.StatusTimedOut, done.Status)
	assert.Equal(t, worker.TypeHeartbeatTimeout, done.Failure.Type)
	assert.Equal(t, "the attempt has shown no sign of life: not done", done.Failure.Message)
	assert.JSONEq(t, `{"row":7}`, string(done.Failure.Details))
	assert.GreaterOrEqual(t, done.CloseTime.Sub(done.StartTime), silence-time.Millisecond)
	assert.ErrorIs(t, receive(t, "the handler", cause), worker.ErrHeartbeatTimeout)
	b.queueEmpty()
}

func TestBeatingHandlerOutlivesTheHeartbeatTimeout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve("a", func(ctx context.Context, _ *worker.Run) (any, error) {
		tick := time.NewTicker(silence / 100) // most of these do not extend the lease
		defer tick.Stop()
		for began := time.Now(); time.Since(began) < 4*silence; <-tick.C {
			if err := worker.Heartbeat(ctx, nil); err != nil {
				return nil, err
			}
		}
		return "alive", nil
	})
	b.submit(b.request("1", "a", heartbeatTimeout(silence)))
	done := b.completion()
	assert.Equal(t, schedule.StatusCompleted, done.Status, done.Failure)
	assert.Equal(t, 1, done.Attempt)
	b.queueEmpty()
}

func TestSilentAttemptIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve("a", func(ctx context.Context, run *worker.Run) (any, error) {
		if run.Attempt > 1 {
			return run.Attempt, nil
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	b.submit(b.request("1", "a", heartbeatTimeout(silence), retries(3)))
	done := b.completion()
	assert.Equal(t, schedule.StatusCompleted, done.Status)
	assert.Equal(t, "2", string(done.Result))

	b.submit(b.request("2", "a", heartbeatTimeout(silence), retries(3), func(r *schedule.ActionRequest) {
		r.RetryPolicy.NonRetryableErrorTypes = []string{worker.TypeHeartbeatTimeout}
	}))
	done = b.completion()
	assert.Equal(t, schedule.StatusTimedOut, done.Status)
	assert.Equal(t, 1, done.Attempt)
	b.queueEmpty()
}

func TestHangingHandlerIsLeft(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limit   func(*schedule.ActionRequest)
		failure string
	}{
		"heartbeat timeout": {heartbeatTimeout(silence), worker.TypeHeartbeatTimeout},
		"task timeout":      {taskTimeout(silence), worker.TypeTimeout},
		"run deadline":      {deadlineIn(2 * time.Second), worker.TypeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, hang := setup(t), newHanging(t)
			w := b.worker(worker.Config{Concurrency: 1})
			w.Register("hang", hang.run)
			w.Register("next", func(context.Context, *worker.Run) (any, error) { return nil, nil })
			w.start()
			b.submit(b.request("1", "hang", test.limit))
			b.submit(b.request("2", "next"))

			done := map[string]schedule.Completion{} // in any order: the slot is free before the end of the first is reported
			for range 2 {
				c := b.completion()
				done[c.RequestID] = c
			}
			left := done["req-1"]
			require.Equal(t, schedule.StatusTimedOut, left.Status)
			assert.Equal(t, test.failure, left.Failure.Type)
			assert.Contains(t, left.Failure.Message, "ignores the end of its context")
			assert.JSONEq(t, `{"row":7}`, string(left.Failure.Details))
			assert.Equal(t, schedule.StatusCompleted, done["req-2"].Status, "the slot is free")
			b.queueEmpty()

			hang.let()
			receive(t, "the handler to return", hang.returned)
			require.NoError(t, w.stop())
			b.noCompletion()
		})
	}
}

func TestHangingAttemptIsTriedAgain(t *testing.T) {
	t.Parallel()
	b, hang := setup(t), newHanging(t)
	b.ackWait(time.Hour) // so that nothing but a give-back brings the run again
	w := b.serve("a", func(ctx context.Context, run *worker.Run) (any, error) {
		if run.Attempt > 1 {
			return "second", nil
		}
		return hang.run(ctx, run)
	})
	b.submit(b.request("1", "a", heartbeatTimeout(silence), retries(2)))
	done := b.completion()
	assert.Equal(t, schedule.StatusCompleted, done.Status)
	assert.Equal(t, `"second"`, string(done.Result))
	assert.Equal(t, 2, done.Attempt)
	hang.let()
	receive(t, "the first handler to return", hang.returned)
	b.queueEmpty()
	require.NoError(t, w.stop())
	b.noCompletion()
}

func TestHandlerThatEndsWithinTheGraceIsHeard(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve("a", func(ctx context.Context, _ *worker.Run) (any, error) {
		<-ctx.Done()
		worker.Heartbeat(ctx, nil) // too late to keep the attempt alive
		return "just in time", nil
	})
	b.submit(b.request("1", "a", heartbeatTimeout(silence)))
	done := b.completion()
	assert.Equal(t, schedule.StatusCompleted, done.Status)
	assert.Equal(t, `"just in time"`, string(done.Result))
}

func TestHeartbeatDuringTheGraceDoesNotHoldTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var over atomic.Bool
	returned := make(chan struct{})
	b.serve("a", func(ctx context.Context, _ *worker.Run) (any, error) {
		defer close(returned)
		<-ctx.Done()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for ; !over.Load(); <-tick.C {
			_ = worker.Heartbeat(ctx, "still here")
		}
		return nil, nil
	})
	b.submit(b.request("1", "a", heartbeatTimeout(silence)))
	assert.Equal(t, schedule.StatusTimedOut, b.completion().Status)
	over.Store(true)
	receive(t, "the handler to return", returned)
	b.queueEmpty()
	b.noCompletion()
}

func TestStopSaysThatAHandlerWasLeft(t *testing.T) {
	t.Parallel()
	b, hang := setup(t), newHanging(t)
	w := b.worker(worker.Config{DrainTimeout: -1})
	w.Register("a", hang.run)
	w.start()
	b.submit(b.request("1", "a", taskTimeout(silence)))
	assert.Equal(t, schedule.StatusTimedOut, b.completion().Status)
	err := w.stop()
	require.ErrorIs(t, err, worker.ErrHandlersLeft)
	assert.ErrorContains(t, err, ": 1")
	hang.let()
	receive(t, "the handler to return", hang.returned)
}

func TestDetailsAreThoseOfTheCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve("a", func(ctx context.Context, _ *worker.Run) (any, error) {
		progress := map[string]int{"row": 1}
		_ = worker.Heartbeat(ctx, progress)
		progress["row"] = 2
		return nil, errors.New("bad row")
	})
	b.submit(b.request("1", "a"))
	assert.JSONEq(t, `{"row":1}`, string(b.completion().Failure.Details))
}

func TestResultsUpToTheLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(worker.Config{})
	worker.Handle(w.Worker, "sized", func(_ context.Context, size int) (json.RawMessage, error) {
		return sized(size), nil
	})
	w.start()
	b.submit(b.request("1", "sized", input("524288")))
	done := b.completion()
	assert.Equal(t, schedule.StatusCompleted, done.Status)
	assert.Equal(t, string(sized(512<<10)), string(done.Result))

	b.submit(b.request("2", "sized", input("524289"), retries(3)))
	done = b.completion()
	assert.Equal(t, schedule.StatusFailed, done.Status)
	assert.Equal(t, worker.TypeResultTooLarge, done.Failure.Type)
	assert.Contains(t, done.Failure.Message, "524289 bytes")
	assert.Equal(t, 1, done.Attempt, "the same again would be as large")
	b.queueEmpty()
}

// TestLargestFailure sends the longest message, type and details at once.
func TestLargestFailure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	text := func(n int) string { return string(sized(n + 2)[1 : n+1]) }
	b.serve("a", func(context.Context, *worker.Run) (any, error) {
		return nil, &worker.Error{Type: text(255), Message: text(4 << 10), Details: text(64<<10 - 2)}
	})
	b.submit(b.request("1", "a"))
	failure := b.completion().Failure
	assert.Equal(t, text(255), failure.Type)
	assert.Equal(t, text(4<<10), failure.Message)
	assert.Len(t, failure.Details, 64<<10)
}

// sized returns a JSON text of so many bytes.
func sized(n int) json.RawMessage {
	data := make([]byte, n)
	for i := range data {
		data[i] = 'x'
	}
	data[0], data[n-1] = '"', '"'
	return data
}
