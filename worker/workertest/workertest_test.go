package workertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
	"github.com/carillon-scheduler/carillon/worker/workertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func retries(attempts int) *schedule.RetryPolicy {
	return &schedule.RetryPolicy{MaximumAttempts: attempts, InitialInterval: schedule.Duration(time.Minute)}
}

func TestHandlerSeesTheRequest(t *testing.T) {
	t.Parallel()
	nominal := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	type cursor struct{ Row int }
	handler := worker.HandlerOf(func(ctx context.Context, in map[string]int) (string, error) {
		run, ok := worker.FromContext(ctx)
		require.True(t, ok)
		assert.Equal(t, map[string]int{"n": 1}, in)
		assert.Equal(t, nominal, run.NominalTime)
		assert.Equal(t, nominal.Add(time.Second), run.DueTime)
		assert.Equal(t, "nightly", run.ScheduleID)
		assert.Equal(t, "nightly-2026-03-01T02:00:00Z", run.WorkflowID)
		assert.Equal(t, 2, run.Attempt)
		assert.Equal(t, "x", run.Headers["h"])
		assert.JSONEq(t, `4711`, string(run.Memo["ticket"]))
		assert.JSONEq(t, `"eu"`, string(run.SearchAttributes["region"]))
		assert.Equal(t, "disk full", run.LastFailure.Message)
		last, ok, err := worker.LastResult[cursor](ctx)
		assert.Equal(t, cursor{Row: 7}, last)
		assert.True(t, ok)
		require.NoError(t, err)
		beat, ok, err := worker.LastHeartbeat[int](ctx)
		assert.Equal(t, 9, beat)
		assert.True(t, ok)
		return "done", err
	})
	result := workertest.Run(t, handler, workertest.Request{
		ScheduleID: "nightly", NominalTime: nominal, DueTime: nominal.Add(time.Second), Attempt: 2,
		Input: map[string]int{"n": 1}, Headers: map[string]string{"h": "x"}, Memo: map[string]any{"ticket": 4711},
		SearchAttributes: map[string]any{"region": "eu"}, LastResult: cursor{Row: 7}, LastHeartbeat: 9,
		LastFailure: &schedule.Failure{Message: "disk full"},
	})
	var output string
	require.NoError(t, result.Decode(&output))
	assert.Equal(t, "done", output)
	assert.Equal(t, schedule.StatusCompleted, result.Status)
	assert.Equal(t, []workertest.Attempt{{Number: 2}}, result.Attempts)
}

func TestZeroRequest(t *testing.T) {
	t.Parallel()
	result := workertest.Run(t, func(_ context.Context, run *worker.Run) (any, error) {
		assert.Equal(t, "test", run.Type)
		assert.Equal(t, 1, run.Attempt)
		assert.Nil(t, run.Input)
		assert.Equal(t, run.NominalTime, run.DueTime)
		assert.WithinDuration(t, time.Now(), run.NominalTime, time.Hour)
		return nil, nil
	}, workertest.Request{})
	assert.Equal(t, schedule.StatusCompleted, result.Status)
	require.ErrorContains(t, result.Decode(new(int)), "no output")
}

func TestTheRetryPolicyHolds(t *testing.T) {
	t.Parallel()
	var resumed []int
	handler := worker.HandlerOf(func(ctx context.Context, _ struct{}) (struct{}, error) {
		last, _, err := worker.LastHeartbeat[int](ctx)
		require.NoError(t, err)
		resumed = append(resumed, last)
		_ = worker.Heartbeat(ctx, last+10)
		_ = worker.Heartbeat(ctx, nil)
		return struct{}{}, fmt.Errorf("row %d", last)
	})
	result := workertest.Run(t, handler, workertest.Request{RetryPolicy: retries(3)})
	assert.Equal(t, []int{0, 10, 20}, resumed)
	assert.Equal(t, schedule.StatusFailed, result.Status)
	require.Len(t, result.Attempts, 3)
	assert.Equal(t, []time.Duration{time.Minute, 2 * time.Minute, 0},
		[]time.Duration{result.Attempts[0].Delay, result.Attempts[1].Delay, result.Attempts[2].Delay})
	assert.Equal(t, result.Failure, result.Attempts[2].Failure)
	assert.Equal(t, []json.RawMessage{json.RawMessage("10"), nil}, result.Attempts[0].Heartbeats)
	require.EqualError(t, result.Decode(nil), "the run has not completed but failed: row 20 (error)")

	result = workertest.Run(t, func(context.Context, *worker.Run) (any, error) {
		return nil, worker.NonRetryable(errors.New("never"))
	}, workertest.Request{RetryPolicy: retries(3)})
	assert.Len(t, result.Attempts, 1)
}

func TestAttemptsGoOnFromTheLastHeartbeat(t *testing.T) {
	t.Parallel()
	handler := func(ctx context.Context, run *worker.Run) (any, error) {
		row, _, err := worker.LastHeartbeat[int](ctx)
		if err != nil || run.Attempt == 3 {
			return row, err
		}
		_ = worker.Heartbeat(ctx, row+100)
		panic("no")
	}
	result := workertest.Run(t, handler, workertest.Request{RetryPolicy: retries(5)})
	assert.JSONEq(t, "200", string(result.Output))
	assert.Equal(t, worker.TypePanic, result.Attempts[0].Failure.Type)
}

func TestTheDeadlineComesCloser(t *testing.T) {
	t.Parallel()
	failing := func(context.Context, *worker.Run) (any, error) { return nil, errors.New("no") }
	result := workertest.Run(t, failing, workertest.Request{RetryPolicy: retries(0), RunTimeout: 10 * time.Minute})
	assert.Len(t, result.Attempts, 4, "at once, after 1, 3 and 7 minutes")
	assert.Equal(t, schedule.StatusFailed, result.Status)
}

func TestTimeLimits(t *testing.T) {
	t.Parallel()
	waiting := func(ctx context.Context, _ *worker.Run) (any, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	deaf := func(context.Context, *worker.Run) (any, error) {
		time.Sleep(3 * time.Hour)
		return "too late", nil
	}
	for name, test := range map[string]struct {
		handler worker.Handler
		request workertest.Request
		failure string
		takes   time.Duration
	}{
		"run":       {waiting, workertest.Request{RunTimeout: time.Hour}, worker.TypeTimeout, time.Hour},
		"task":      {waiting, workertest.Request{TaskTimeout: time.Hour}, worker.TypeTimeout, time.Hour},
		"heartbeat": {waiting, workertest.Request{HeartbeatTimeout: time.Hour}, worker.TypeHeartbeatTimeout, time.Hour},
		"left":      {deaf, workertest.Request{TaskTimeout: time.Hour}, worker.TypeTimeout, time.Hour + 2*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				result := workertest.Run(t, test.handler, test.request)
				assert.Equal(t, schedule.StatusTimedOut, result.Status)
				assert.Equal(t, test.failure, result.Failure.Type)
				assert.Equal(t, test.takes, time.Since(began))
				time.Sleep(3 * time.Hour) // the handler that was left returns
			})
		})
	}
}

// stepping makes a heartbeat and waits for the end, which it returns.
func stepping(ctx context.Context, _ *worker.Run) (any, error) {
	_ = worker.Heartbeat(ctx, "here")
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestEndsOfARun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end    func(*workertest.Execution)
		status schedule.Status
	}{
		"cancel":    {(*workertest.Execution).Cancel, schedule.StatusCanceled},
		"terminate": {(*workertest.Execution).Terminate, ""},
		"shutdown":  {(*workertest.Execution).Shutdown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := workertest.Start(t, stepping, workertest.Request{RetryPolicy: retries(5)})
			details, ok := run.NextHeartbeat()
			assert.True(t, ok)
			assert.JSONEq(t, `"here"`, string(details))
			test.end(run)
			result := run.Wait()
			assert.Equal(t, test.status, result.Status)
			assert.Len(t, result.Attempts, 1)
			_, ok = run.NextHeartbeat()
			assert.False(t, ok)
		})
	}
}

func TestShutdownOfAHandlerThatIgnoresIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run := workertest.Start(t, func(context.Context, *worker.Run) (any, error) {
			time.Sleep(time.Hour)
			return nil, nil
		}, workertest.Request{})
		synctest.Wait()
		began := time.Now()
		run.Shutdown()
		assert.Empty(t, run.Wait().Status)
		assert.Equal(t, 500*time.Millisecond, time.Since(began))
		time.Sleep(time.Hour)
	})
}

func TestARunThatNobodyAwaitsEndsWithItsTest(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	t.Run("test", func(t *testing.T) {
		run := workertest.Start(t, func(ctx context.Context, run *worker.Run) (any, error) {
			defer close(ended)
			return stepping(ctx, run)
		}, workertest.Request{})
		run.NextHeartbeat()
	})
	<-ended
}

func TestLogsAndMiddleware(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	middleware := func(next worker.Handler) worker.Handler {
		return func(ctx context.Context, run *worker.Run) (any, error) {
			worker.Logger(ctx).InfoContext(ctx, "outside")
			return next(ctx, run)
		}
	}
	workertest.Run(t, func(ctx context.Context, _ *worker.Run) (any, error) {
		worker.Logger(ctx).InfoContext(ctx, "inside")
		return nil, nil
	}, workertest.Request{
		Middleware: []worker.Middleware{middleware}, Logger: slog.New(slog.NewTextHandler(&logs, nil)), Type: "charge",
	})
	assert.Regexp(t, `(?s)outside.*inside action_type=charge schedule_id=test .* attempt=1`, logs.String())
}

// recorder stands in for a test that fails.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}

func TestMistakesOfATest(t *testing.T) {
	t.Parallel()
	quiet := slog.New(slog.DiscardHandler)
	r := &recorder{TB: t}
	failing := func(context.Context, *worker.Run) (any, error) { return nil, errors.New("no") }
	workertest.Run(r, failing, workertest.Request{RetryPolicy: &schedule.RetryPolicy{}, Logger: quiet})
	assert.Contains(t, fmt.Sprint(r.errors), "limit the attempts")

	r = &recorder{TB: t}
	assert.Panics(t, func() { workertest.Run(r, failing, workertest.Request{Memo: map[string]any{"f": func() {}}}) })
	assert.Contains(t, fmt.Sprint(r.errors), "Memo[f] cannot be written as JSON")
}
