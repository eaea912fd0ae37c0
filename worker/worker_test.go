package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

func TestRunCompletesWithItsResult(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(worker.Config{Identity: "me"})
	worker.Handle(w.Worker, "add", func(ctx context.Context, in []int) (int, error) {
		run, ok := worker.FromContext(ctx)
		assert.True(t, ok)
		assert.Equal(t, "req-1", run.RequestID)
		assert.Equal(t, "wf-1", run.WorkflowID)
		assert.Equal(t, 1, run.Attempt)
		assert.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), run.NominalTime)
		assert.Equal(t, time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC), run.DueTime)
		assert.JSONEq(t, `{"last":1}`, string(run.LastSuccess))
		return in[0] + in[1], nil
	})
	w.start()
	began := time.Now()
	b.submit(b.request("1", "add", input("[19,23]"), func(r *schedule.ActionRequest) { r.LastSuccess = []byte(`{"last":1}`) }))

	done, header := b.completionAndHeader()
	assert.Equal(t, "req-1", done.RequestID)
	assert.Equal(t, "run-1", done.RunID)
	assert.Equal(t, schedule.StatusCompleted, done.Status)
	assert.Equal(t, "42", string(done.Result))
	assert.Nil(t, done.Failure)
	assert.Equal(t, 1, done.Attempt)
	assert.Equal(t, "me", done.Worker)
	assert.False(t, done.StartTime.Before(began.Add(-time.Millisecond)))
	assert.False(t, done.CloseTime.Before(done.StartTime))
	assert.Equal(t, "application/json", header.Get("Content-Type"))
	assert.Contains(t, header.Get("traceparent"), traceID)
	assert.Empty(t, header.Get(nats.MsgIdHdr))
	b.queueEmpty()
	require.NoError(t, w.stop())
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.serve("error", func(context.Context, *worker.Run) (any, error) {
		return nil, &worker.Error{Type: "card_declined", Message: "no money", Details: map[string]int{"balance": 3}}
	})
	w.Register("panic", func(context.Context, *worker.Run) (any, error) { panic("no") })
	w.Register("large", func(context.Context, *worker.Run) (any, error) {
		return strings.Repeat("x", worker.MaxResultBytes), nil
	})
	worker.Handle(w.Worker, "typed", func(context.Context, int) (int, error) { return 0, nil })

	for actionType, want := range map[string]string{
		"error": "card_declined", "panic": worker.TypePanic, "large": worker.TypeResultTooLarge,
		"typed": worker.TypeInvalidInput,
	} {
		b.submit(b.request(actionType, actionType, input(`"text"`)))
		done := b.completion()
		assert.Equal(t, schedule.StatusFailed, done.Status, actionType)
		require.NotNil(t, done.Failure, actionType)
		assert.Equal(t, want, done.Failure.Type, actionType)
		assert.NotEmpty(t, done.Failure.Message, actionType)
		assert.Empty(t, done.Result, actionType)
		if actionType == "error" {
			assert.JSONEq(t, `{"balance":3}`, string(done.Failure.Details))
		}
	}
	b.queueEmpty()
}

func TestErrorIsRetried(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var first atomic.Int64
	b.serve("flaky", func(_ context.Context, run *worker.Run) (any, error) {
		first.CompareAndSwap(0, time.Now().UnixNano())
		if run.Attempt < 3 {
			return nil, errors.New("not yet")
		}
		return run.Attempt, nil
	})
	b.submit(b.request("1", "flaky", retries(5)))
	done := b.completion()
	assert.Equal(t, schedule.StatusCompleted, done.Status)
	assert.Equal(t, "3", string(done.Result))
	assert.Equal(t, 3, done.Attempt)
	assert.LessOrEqual(t, done.StartTime.UnixNano(), first.Load(), "the start is that of the first attempt")
	b.queueEmpty()
}

func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var calls atomic.Int32
	w := b.serve("hopeless", func(context.Context, *worker.Run) (any, error) {
		calls.Add(1)
		return nil, errors.New("never")
	})
	w.Register("final", func(context.Context, *worker.Run) (any, error) {
		calls.Add(1)
		return nil, worker.NonRetryable(errors.New("never"))
	})
	b.submit(b.request("1", "hopeless", retries(3)))
	done := b.completion()
	assert.Equal(t, schedule.StatusFailed, done.Status)
	assert.Equal(t, 3, done.Attempt)
	assert.EqualValues(t, 3, calls.Swap(0))

	b.submit(b.request("2", "final", retries(3)))
	assert.Equal(t, schedule.StatusFailed, b.completion().Status)
	assert.EqualValues(t, 1, calls.Swap(0))

	b.submit(b.request("3", "hopeless", retries(3), func(r *schedule.ActionRequest) {
		r.RetryPolicy.NonRetryableErrorTypes = []string{"error"}
	}))
	assert.Equal(t, schedule.StatusFailed, b.completion().Status)
	assert.EqualValues(t, 1, calls.Load())
	b.queueEmpty()
}

func TestUnknownTypeGoesToAWorkerThatKnowsIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(worker.Config{}).start()
	b.submit(b.request("1", "new"))
	b.awaitDeliveries(1)
	w.Register("new", func(context.Context, *worker.Run) (any, error) { return "done", nil })
	assert.Equal(t, schedule.StatusCompleted, b.completion().Status)
}

func TestUnknownTypeFailsInTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve("known", func(context.Context, *worker.Run) (any, error) { return nil, nil })
	b.submit(b.request("1", "unknown", retries(2)))
	done := b.completion()
	assert.Equal(t, schedule.StatusFailed, done.Status)
	assert.Equal(t, worker.TypeUnknownAction, done.Failure.Type)
	assert.Contains(t, done.Failure.Message, "known")
	b.queueEmpty()
}

// awaitDeliveries waits until the queue's consumer has delivered at least n messages, repeats counted.
func (b *bench) awaitDeliveries(n uint64) {
	b.t.Helper()
	natstest.Eventually(b.t, limit, fmt.Sprintf("%d deliveries", n), func() bool {
		consumer, err := b.js.Consumer(b.t.Context(), b.names.ActionStream(), b.names.WorkerConsumer(namespace, queue).Durable)
		return err == nil && consumer.CachedInfo().Delivered.Consumer >= n
	})
}

func TestGarbageBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve("a", func(context.Context, *worker.Run) (any, error) { return nil, nil })
	subject := b.names.Action(namespace, queue, "wf")
	msg := nats.NewMsg(subject)
	msg.Data = []byte("not JSON")
	msg.Header.Set(nats.MsgIdHdr, "mine")
	msg.Header.Set("traceparent", traceparent)
	_, err := b.js.PublishMsg(t.Context(), msg)
	require.NoError(t, err)
	b.queueEmpty()

	stream, err := b.js.Stream(t.Context(), b.names.WorkerDeadLetterStream())
	require.NoError(t, err)
	letter, err := stream.GetLastMsgForSubject(t.Context(), b.names.WorkerDeadLetter(namespace, queue))
	require.NoError(t, err)
	assert.Equal(t, "not JSON", string(letter.Data))
	assert.Contains(t, letter.Header.Get("Carillon-Reason"), "not a start request")
	assert.Equal(t, subject, letter.Header.Get("Carillon-Origin-Subject"))
	assert.Equal(t, b.names.ActionStream(), letter.Header.Get("Carillon-Origin-Stream"))
	assert.Equal(t, "1", letter.Header.Get("Carillon-Origin-Sequence"))
	assert.Equal(t, "1", letter.Header.Get("Carillon-Deliveries"))
	assert.Empty(t, letter.Header.Get(nats.MsgIdHdr), "another worker could have used it before")
	assert.Equal(t, traceparent, letter.Header.Get("traceparent"))

	b.submit(b.request("1", "a"))
	assert.Equal(t, schedule.StatusCompleted, b.completion().Status, "the worker goes on")
}

func TestCancelOrTerminateWhileQueued(t *testing.T) {
	t.Parallel()
	b := setup(t)
	canceled, terminated, other := b.request("1", "a"), b.request("2", "a"), b.request("3", "a")
	for _, req := range []schedule.ActionRequest{canceled, terminated, other} {
		b.submit(req)
	}
	b.control(schedule.ControlCancel, canceled)
	b.control(schedule.ControlTerminate, terminated)
	earlier := other
	earlier.RunID = "an earlier run of this workflow ID"
	b.control(schedule.ControlCancel, earlier)

	ran := make(chan string, 3)
	b.serve("a", func(_ context.Context, run *worker.Run) (any, error) {
		ran <- run.RequestID
		return nil, nil
	})
	ended := map[string]schedule.Status{}
	for range 2 {
		done := b.completion()
		ended[done.RequestID] = done.Status
	}
	assert.Equal(t, map[string]schedule.Status{"req-1": schedule.StatusCanceled, "req-3": schedule.StatusCompleted}, ended)
	b.queueEmpty()
	b.noCompletion()
	assert.Equal(t, "req-3", receive(t, "the run", ran))
	assert.Empty(t, ran)
}

func TestCancelWhileRunning(t *testing.T) {
	t.Parallel()
	b := setup(t)
	began := make(chan struct{}, 1)
	w := b.serve("stubborn", func(ctx context.Context, _ *worker.Run) (any, error) {
		began <- struct{}{}
		<-ctx.Done()
		return "finished anyway", nil
	})
	w.Register("obedient", func(ctx context.Context, _ *worker.Run) (any, error) {
		began <- struct{}{}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	for actionType, want := range map[string]schedule.Status{
		"obedient": schedule.StatusCanceled, "stubborn": schedule.StatusCompleted,
	} {
		req := b.request(actionType, actionType, retries(5))
		b.submit(req)
		receive(t, "the run to begin", began)
		b.control(schedule.ControlCancel, req)
		done := b.completion()
		assert.Equal(t, want, done.Status)
		if want == schedule.StatusCanceled {
			assert.Equal(t, &schedule.Failure{Type: worker.TypeCanceled, Message: "the run was asked to cancel"}, done.Failure)
		}
	}
	b.queueEmpty()
}

func TestTerminateWhileRunning(t *testing.T) {
	t.Parallel()
	b := setup(t)
	began, cause := make(chan struct{}, 1), make(chan error, 1)
	w := b.serve("a", func(ctx context.Context, _ *worker.Run) (any, error) {
		began <- struct{}{}
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return nil, nil
	})
	req := b.request("1", "a")
	b.submit(req)
	receive(t, "the run to begin", began)
	b.withdraw(req)
	b.control(schedule.ControlTerminate, req)
	assert.ErrorIs(t, receive(t, "the run to end", cause), worker.ErrTerminated)
	require.NoError(t, w.stop())
	b.noCompletion()
}

// withdraw takes a terminated run out of the queue, as the invoker does.
func (b *bench) withdraw(req schedule.ActionRequest) {
	b.t.Helper()
	stream, err := b.js.Stream(b.t.Context(), b.names.ActionStream())
	require.NoError(b.t, err)
	msg, err := stream.GetLastMsgForSubject(b.t.Context(), b.names.Action(namespace, queue, req.WorkflowID))
	require.NoError(b.t, err)
	require.NoError(b.t, stream.DeleteMsg(b.t.Context(), msg.Sequence))
}

func TestTimeLimits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	causes := make(chan error, 10)
	b.serve("slow", func(ctx context.Context, _ *worker.Run) (any, error) {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	b.submit(b.request("1", "slow", retries(5), func(r *schedule.ActionRequest) { r.Deadline = time.Now().Add(2 * time.Second) }))
	done := b.completion()
	assert.Equal(t, schedule.StatusTimedOut, done.Status)
	assert.Equal(t, worker.TypeTimeout, done.Failure.Type)
	assert.Equal(t, 1, done.Attempt)
	assert.ErrorIs(t, receive(t, "the handler", causes), worker.ErrRunTimeout)

	b.submit(b.request("2", "slow", retries(2), func(r *schedule.ActionRequest) { r.TaskTimeout = schedule.Duration(20 * time.Millisecond) }))
	done = b.completion()
	assert.Equal(t, schedule.StatusTimedOut, done.Status)
	assert.Equal(t, worker.TypeTimeout, done.Failure.Type)
	assert.Equal(t, 2, done.Attempt)
	assert.ErrorIs(t, receive(t, "the handler", causes), worker.ErrTaskTimeout)

	b.submit(b.request("3", "slow", func(r *schedule.ActionRequest) { r.Deadline = time.Now().Add(-time.Second) }))
	assert.Equal(t, schedule.StatusTimedOut, b.completion().Status)
	assert.Len(t, causes, 1, "the second attempt of run 2, and nothing of run 3")
	b.queueEmpty()
}

func TestLongRunKeepsItsLease(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const ackWait = 600 * time.Millisecond
	b.ackWait(ackWait)
	var calls atomic.Int32
	for range 2 {
		b.serve("long", func(context.Context, *worker.Run) (any, error) {
			calls.Add(1)
			time.Sleep(4 * ackWait) // what is tested is that this is long
			return nil, nil
		})
	}
	b.submit(b.request("1", "long"))
	done := b.completion()
	assert.Equal(t, 1, done.Attempt)
	b.queueEmpty()
	b.noCompletion()
	assert.EqualValues(t, 1, calls.Load())
}

func TestHeartbeatDetailsReachTheFailure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve("a", func(ctx context.Context, _ *worker.Run) (any, error) {
		for i := range 3 {
			if err := worker.Heartbeat(ctx, map[string]int{"row": i}); err != nil {
				return nil, err
			}
		}
		return nil, errors.New("bad row")
	})
	b.submit(b.request("1", "a"))
	assert.JSONEq(t, `{"row":2}`, string(b.completion().Failure.Details))
}

func TestConcurrencyIsALimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const concurrency, runs = 3, 12
	var now, most atomic.Int32
	full, proceed := make(chan struct{}, runs), make(chan struct{})
	w := b.worker(worker.Config{Concurrency: concurrency})
	w.Register("a", func(context.Context, *worker.Run) (any, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		full <- struct{}{}
		<-proceed
		return nil, nil
	})
	for i := range runs {
		b.submit(b.request(fmt.Sprint(i), "a"))
	}
	w.start()
	for range concurrency {
		receive(t, "the worker to be full", full)
	}
	consumer, err := b.js.Consumer(t.Context(), b.names.ActionStream(), b.names.WorkerConsumer(namespace, queue).Durable)
	require.NoError(t, err)
	assert.Equal(t, concurrency, consumer.CachedInfo().NumAckPending, "it holds no more than it runs")
	close(proceed)
	for range runs {
		assert.Equal(t, schedule.StatusCompleted, b.completion().Status)
	}
	assert.EqualValues(t, concurrency, most.Load())
	b.queueEmpty()
}

func TestTwoWorkersShare(t *testing.T) {
	t.Parallel()
	b := setup(t)
	began, proceed := make(chan int, 2), make(chan struct{})
	for i := range 2 {
		w := b.worker(worker.Config{Concurrency: 1})
		w.Register("a", func(context.Context, *worker.Run) (any, error) {
			began <- i
			<-proceed
			return i, nil
		})
		w.start()
	}
	b.submit(b.request("1", "a"))
	b.submit(b.request("2", "a"))
	first, second := receive(t, "a run", began), receive(t, "another run", began)
	assert.NotEqual(t, first, second)
	close(proceed)
	b.completion()
	b.completion()
	b.queueEmpty()
}

func TestShutdownLetsHandlersFinish(t *testing.T) {
	t.Parallel()
	b := setup(t)
	began, proceed := make(chan struct{}), make(chan struct{})
	w := b.serve("a", func(ctx context.Context, _ *worker.Run) (any, error) {
		close(began)
		<-proceed
		return nil, ctx.Err()
	})
	b.submit(b.request("1", "a"))
	receive(t, "the run to begin", began)
	w.cancel()
	close(proceed)
	require.NoError(t, w.wait())
	assert.Equal(t, schedule.StatusCompleted, b.completion().Status)
	b.queueEmpty()
}

func TestShutdownGivesBackWhatDoesNotFinish(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ackWait(time.Hour) // so that nothing but a give-back brings the run to the other worker
	began, cause := make(chan struct{}), make(chan error, 1)
	w := b.worker(worker.Config{DrainTimeout: -1})
	w.Register("a", func(ctx context.Context, _ *worker.Run) (any, error) {
		close(began)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	w.start()
	b.submit(b.request("1", "a"))
	receive(t, "the run to begin", began)
	require.NoError(t, w.stop())
	assert.ErrorIs(t, receive(t, "the run to end", cause), worker.ErrShutdown)

	b.serve("a", func(_ context.Context, run *worker.Run) (any, error) { return run.Attempt, nil })
	done := b.completion()
	assert.Equal(t, schedule.StatusCompleted, done.Status)
	assert.Equal(t, "2", string(done.Result))
}

func TestShutdownDoesNotWaitForHandlersThatIgnoreIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ackWait(time.Hour)
	began, proceed, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
	w := b.worker(worker.Config{DrainTimeout: -1})
	w.Register("a", func(context.Context, *worker.Run) (any, error) {
		defer close(gone)
		close(began)
		<-proceed
		return nil, nil
	})
	w.start()
	b.submit(b.request("1", "a"))
	receive(t, "the run to begin", began)
	require.ErrorIs(t, w.stop(), worker.ErrHandlersLeft)
	close(proceed)
	receive(t, "the handler to return", gone)

	b.serve("a", func(context.Context, *worker.Run) (any, error) { return nil, nil })
	assert.Equal(t, schedule.StatusCompleted, b.completion().Status)
	b.queueEmpty()
}

func TestStopUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ackWait(time.Hour)
	const runs = 200
	for i := range runs {
		b.submit(b.request(fmt.Sprint(i), "a"))
	}
	handler := func(context.Context, *worker.Run) (any, error) { return nil, nil }
	seen := map[string]bool{}
	for len(seen) < runs/2 { // stop a worker again and again in the middle of its work
		w := b.worker(worker.Config{Concurrency: 20})
		w.Register("a", handler)
		w.start()
		seen[b.completion().RequestID] = true
		require.NoError(t, w.stop())
		for b.waiting() > 0 {
			seen[b.completion().RequestID] = true
		}
	}
	b.serve("a", handler)
	for len(seen) < runs {
		seen[b.completion().RequestID] = true
	}
	b.queueEmpty()
}

// waiting counts the completions nobody has taken.
func (b *bench) waiting() uint64 {
	b.t.Helper()
	info, err := b.completions.Info(b.t.Context())
	require.NoError(b.t, err)
	return info.NumPending
}

func TestRunOfADeadWorkerGoesToAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ackWait(600 * time.Millisecond)
	began := make(chan struct{})
	dying := b.serve("a", func(ctx context.Context, _ *worker.Run) (any, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	b.submit(b.request("1", "a"))
	receive(t, "the run to begin", began)
	dying.nc.Close()
	b.serve("a", func(context.Context, *worker.Run) (any, error) { return nil, nil })
	done := b.completion()
	assert.Equal(t, schedule.StatusCompleted, done.Status)
	assert.Equal(t, 2, done.Attempt)
	require.ErrorIs(t, dying.wait(), nats.ErrConnectionClosed)
	b.queueEmpty()
}

func TestLastAttemptOfADeadWorkerIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ackWait(50 * time.Millisecond)
	b.submit(b.request("1", "a", retries(1)))
	consumer, err := b.js.Consumer(t.Context(), b.names.ActionStream(), b.names.WorkerConsumer(namespace, queue).Durable)
	require.NoError(t, err)
	_, err = consumer.Next() // a worker that dies
	require.NoError(t, err)
	b.serve("a", func(context.Context, *worker.Run) (any, error) { panic("must not run") })
	done := b.completion()
	assert.Equal(t, schedule.StatusFailed, done.Status)
	assert.Equal(t, worker.TypeWorkerLost, done.Failure.Type)
	assert.Equal(t, 1, done.Attempt)
	b.queueEmpty()
}

func TestRedeliveryOfARunInProgressIsAdopted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var calls atomic.Int32
	began, proceed := make(chan struct{}, 2), make(chan struct{})
	b.serve("a", func(context.Context, *worker.Run) (any, error) {
		calls.Add(1)
		began <- struct{}{}
		<-proceed
		return nil, nil
	})
	b.submit(b.request("1", "a"))
	receive(t, "the run to begin", began)
	b.redeliver()
	b.awaitDeliveries(2)
	close(proceed)
	assert.Equal(t, schedule.StatusCompleted, b.completion().Status)
	b.queueEmpty()
	b.noCompletion()
	assert.EqualValues(t, 1, calls.Load())
}

// redeliver makes the server believe that the first message of the queue was given back.
func (b *bench) redeliver() {
	b.t.Helper()
	subject := fmt.Sprintf("$JS.ACK.%s.%s.1.1.1.%d.0", b.names.ActionStream(),
		b.names.WorkerConsumer(namespace, queue).Durable, time.Now().UnixNano())
	require.NoError(b.t, b.nc.Publish(subject, []byte("-NAK")))
}

func TestRedeliveryOfAFinishedRunIsAcknowledged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var calls atomic.Int32
	b.serve("a", func(context.Context, *worker.Run) (any, error) {
		calls.Add(1)
		return nil, nil
	})
	for range 2 {
		b.submit(b.request("1", "a")) // the second as a NATS server would bring it back that forgot the acknowledgement
		b.queueEmpty()
	}
	b.completion()
	b.noCompletion()
	assert.EqualValues(t, 1, calls.Load())
}

func TestCompletionSurvivesARestartOfNATS(t *testing.T) {
	t.Parallel()
	cluster := natstest.Cluster(t, 1)
	b := setupOn(t, cluster.URLs())
	var calls atomic.Int32
	began, proceed := make(chan struct{}, 2), make(chan struct{})
	b.serve("a", func(context.Context, *worker.Run) (any, error) {
		calls.Add(1)
		began <- struct{}{}
		<-proceed
		return "survived", nil
	})
	b.submit(b.request("1", "a"))
	receive(t, "the run to begin", began)
	cluster.Node(0).Stop()
	close(proceed)
	cluster.Node(0).Start()
	done := b.completion()
	assert.Equal(t, `"survived"`, string(done.Result))
	b.queueEmpty()
	assert.EqualValues(t, 1, calls.Load())
}

func TestWorkerWaitsForTheInstallation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.js.DeleteStream(t.Context(), b.names.ControlStream()))
	b.serve("a", func(context.Context, *worker.Run) (any, error) { return nil, nil })
	b.submit(b.request("1", "a"))
	_, err := b.js.CreateStream(t.Context(), b.names.StreamConfigs(1, 1)[1])
	require.NoError(t, err)
	assert.Equal(t, schedule.StatusCompleted, b.completion().Status)
}

func TestWorkerMakesItsConsumerAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve("a", func(context.Context, *worker.Run) (any, error) { return nil, nil })
	b.submit(b.request("1", "a"))
	b.completion()
	b.queueEmpty()
	require.NoError(t, b.js.DeleteConsumer(t.Context(), b.names.ActionStream(), b.names.WorkerConsumer(namespace, queue).Durable))
	b.submit(b.request("2", "a"))
	assert.Equal(t, "req-2", b.completion().RequestID)
}

func TestRunOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.serve("a", func(context.Context, *worker.Run) (any, error) { return nil, nil })
	require.NoError(t, w.stop())
	require.ErrorIs(t, w.Run(t.Context()), worker.ErrAlreadyRun)
	assert.Panics(t, func() { w.Register("a", func(context.Context, *worker.Run) (any, error) { return nil, nil }) })
	assert.Panics(t, func() { w.Register("b", nil) })
}
