package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// endings are handlers that end in all the ways there are.
var endings = map[string]worker.Handler{
	"result": func(_ context.Context, run *worker.Run) (any, error) { return run.Input, nil },
	"typed":  worker.HandlerOf(func(_ context.Context, n int) (int, error) { return n, nil }),
	"error":  func(context.Context, *worker.Run) (any, error) { return nil, errors.New("no") },
	"final":  func(context.Context, *worker.Run) (any, error) { return nil, worker.NonRetryable(errors.New("no")) },
	"listed": func(context.Context, *worker.Run) (any, error) { return nil, &worker.Error{Type: "listed"} },
	"panic":  func(context.Context, *worker.Run) (any, error) { panic("no") },
	"large":  func(context.Context, *worker.Run) (any, error) { return strings.Repeat("x", 600<<10), nil },
	"noJSON": func(context.Context, *worker.Run) (any, error) { return func() {}, nil },
	"hang": func(ctx context.Context, _ *worker.Run) (any, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	},
	"late": func(ctx context.Context, _ *worker.Run) (any, error) {
		<-ctx.Done()
		return "late", nil
	},
	"resume": func(ctx context.Context, run *worker.Run) (any, error) {
		n, _, _ := worker.LastHeartbeat[int](ctx)
		if n == 2 {
			return n, nil
		}
		_ = worker.Heartbeat(ctx, n+1)
		return nil, errors.New("not yet")
	},
}

// TestTrialsEndAsRunsDo compares what a worker reports with what a trial says it would.
func TestTrialsEndAsRunsDo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(worker.Config{})
	for name, handler := range endings {
		w.Register(name, handler)
	}
	w.start()
	for name, handler := range endings {
		req := b.request(name, name, input(`"x"`), retries(3))
		if name == "hang" || name == "late" {
			taskTimeout(100 * time.Millisecond)(&req)
		}
		req.RetryPolicy.NonRetryableErrorTypes = []string{"listed"}
		b.submit(req)
		want := b.completion()
		got := trial(t, worker.Trial{Handler: handler, Request: req, Logger: slog.New(slog.DiscardHandler)})
		for _, c := range []*schedule.Completion{&want, &got} {
			assert.False(t, c.CloseTime.Before(c.StartTime))
			c.StartTime, c.CloseTime, c.Worker = time.Time{}, time.Time{}, ""
			if c.Failure != nil && c.Failure.Type == worker.TypePanic {
				assert.Contains(t, string(c.Failure.Details), "trial_test.go")
				c.Failure.Details = nil
			}
		}
		assert.Equal(t, want, got, name)
	}
}

// trial makes attempts until there is a completion.
func trial(t *testing.T, next worker.Trial) schedule.Completion {
	t.Helper()
	for next.Attempt = 1; ; next.Attempt++ {
		result := next.Execute(t.Context())
		if !result.Again {
			require.NotNil(t, result.Completion)
			return *result.Completion
		}
		assert.Positive(t, result.Delay)
		next.LastHeartbeat = result.LastHeartbeat
	}
}

func TestTrialThatHasEndedBefore(t *testing.T) {
	t.Parallel()
	handler := func(context.Context, *worker.Run) (any, error) { panic("it must not run") }
	request := schedule.ActionRequest{Type: "a", RequestID: "req", RunID: "run"}
	for cause, want := range map[error]worker.TrialResult{
		worker.ErrTerminated: {},
		worker.ErrShutdown:   {Again: true},
		errors.New("other"):  {Again: true},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		assert.Equal(t, want, worker.Trial{Handler: handler, Request: request}.Execute(ctx), cause)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(worker.ErrCanceled)
	canceled := worker.Trial{Handler: handler, Request: request}.Execute(ctx)
	assert.Equal(t, schedule.StatusCanceled, canceled.Completion.Status)

	request.Deadline = time.Now().Add(-time.Second)
	late := worker.Trial{Handler: handler, Request: request}.Execute(t.Context())
	assert.Equal(t, schedule.StatusTimedOut, late.Completion.Status)
}
