package worker_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

func TestCanceledHandlerFinishesItsCleanUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	began, told, proceed := make(chan struct{}, 1), make(chan error, 1), make(chan struct{})
	b.serve("a", func(ctx context.Context, _ *worker.Run) (any, error) {
		began <- struct{}{}
		<-ctx.Done()
		told <- context.Cause(ctx)
		<-proceed
		return nil, &worker.Error{Type: "undone", Message: "the rows are removed", Details: 7}
	})
	req := b.request("1", "a", retries(5), taskTimeout(time.Hour), deadlineIn(time.Hour))
	b.submit(req)
	receive(t, "the run to begin", began)
	b.control(schedule.ControlCancel, req)
	require.ErrorIs(t, receive(t, "the cancel", told), worker.ErrCanceled)
	b.noCompletion()
	close(proceed)
	done := b.completion()
	assert.Equal(t, schedule.StatusCanceled, done.Status)
	assert.Equal(t, &schedule.Failure{Type: "undone", Message: "the rows are removed", Details: []byte("7")}, done.Failure)
	assert.Equal(t, 1, done.Attempt)
	b.queueEmpty()
}

func TestCleanUpEndsWithTheTimeLimits(t *testing.T) {
	t.Parallel()
	b, hang := setup(t), newHanging(t)
	b.serve("a", hang.run)
	req := b.request("1", "a", retries(5), heartbeatTimeout(time.Second))
	b.submit(req)
	receive(t, "the run to begin", hang.began)
	b.control(schedule.ControlCancel, req)
	done := b.completion()
	assert.Equal(t, schedule.StatusCanceled, done.Status)
	assert.Equal(t, worker.TypeHeartbeatTimeout, done.Failure.Type)
	assert.Equal(t, 1, done.Attempt)
	b.queueEmpty()
	hang.let()
	receive(t, "the handler to return", hang.returned)
}

func TestTerminatedRunIsOverAtOnce(t *testing.T) {
	t.Parallel()
	for name, first := range map[string][]schedule.ControlKind{
		"terminate":              {schedule.ControlTerminate},
		"terminate after cancel": {schedule.ControlCancel, schedule.ControlTerminate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, hang := setup(t), newHanging(t)
			w := b.worker(worker.Config{Concurrency: 1})
			w.Register("hang", hang.run)
			w.Register("next", func(context.Context, *worker.Run) (any, error) { return nil, nil })
			w.start()
			req := b.request("1", "hang", retries(5))
			b.submit(req)
			receive(t, "the run to begin", hang.began)
			b.submit(b.request("2", "next"))
			for _, kind := range first {
				b.control(kind, req)
			}
			assert.Equal(t, "req-2", b.completion().RequestID, "the slot is free")
			b.queueEmpty()

			hang.let()
			receive(t, "the handler to return", hang.returned)
			require.NoError(t, w.stop())
			b.noCompletion()
		})
	}
}

// take takes requests as a worker does that dies before it can say anything.
func (b *bench) take(requests int) {
	b.t.Helper()
	consumer, err := b.js.Consumer(b.t.Context(), b.names.ActionStream(), b.names.WorkerConsumer(namespace, queue).Durable)
	require.NoError(b.t, err)
	batch, err := consumer.Fetch(requests, jetstream.FetchMaxWait(limit))
	require.NoError(b.t, err)
	for range batch.Messages() {
		requests--
	}
	require.NoError(b.t, batch.Error())
	require.Zero(b.t, requests)
}

func TestControlsReachRunsOfADeadWorker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ackWait(time.Second)
	canceled, terminated, other := b.request("1", "a", retries(5)), b.request("2", "a", retries(5)), b.request("3", "a", retries(5))
	for _, req := range []schedule.ActionRequest{canceled, terminated, other} {
		b.submit(req)
	}
	b.take(3)
	b.control(schedule.ControlCancel, canceled)
	b.control(schedule.ControlTerminate, terminated)
	b.serve("a", func(_ context.Context, run *worker.Run) (any, error) { return run.RequestID, nil })

	ended := map[string]schedule.Completion{}
	for range 2 {
		done := b.completion()
		ended[done.RequestID] = done
	}
	assert.Equal(t, schedule.StatusCanceled, ended["req-1"].Status)
	assert.Equal(t, 1, ended["req-1"].Attempt, "that of the dead worker")
	assert.Equal(t, schedule.StatusCompleted, ended["req-3"].Status)
	assert.Equal(t, 2, ended["req-3"].Attempt)
	b.queueEmpty()
	b.noCompletion()
}

func TestCancelReachesARunBetweenTwoAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	failed := make(chan int, 10)
	b.serve("a", func(_ context.Context, run *worker.Run) (any, error) {
		failed <- run.Attempt
		return nil, errors.New("again")
	})
	req := b.request("1", "a", func(r *schedule.ActionRequest) {
		r.RetryPolicy = &schedule.RetryPolicy{InitialInterval: schedule.Duration(time.Second)}
	})
	b.submit(req)
	receive(t, "the first attempt", failed)
	b.control(schedule.ControlCancel, req)
	done := b.completion()
	assert.Equal(t, schedule.StatusCanceled, done.Status)
	assert.Equal(t, 1, done.Attempt)
	assert.Empty(t, failed)
	b.queueEmpty()
}

func TestLostAttemptsCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ackWait(200 * time.Millisecond)
	b.submit(b.request("1", "a", retries(3)))
	b.take(1)
	b.take(1)
	attempts := make(chan int, 10)
	b.serve("a", func(_ context.Context, run *worker.Run) (any, error) {
		attempts <- run.Attempt
		return nil, errors.New("the third of three")
	})
	done := b.completion()
	assert.Equal(t, schedule.StatusFailed, done.Status)
	assert.Equal(t, "the third of three", done.Failure.Message)
	assert.Equal(t, 3, done.Attempt)
	assert.Equal(t, 3, receive(t, "the attempt", attempts))
	assert.Empty(t, attempts)

	b.submit(b.request("2", "a", retries(1)))
	assert.Equal(t, "the third of three", b.completion().Failure.Message)
	b.queueEmpty()
}

func TestAllAttemptsLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ackWait(200 * time.Millisecond)
	b.submit(b.request("1", "a", retries(3)))
	for range 3 {
		b.take(1)
	}
	b.serve("a", func(context.Context, *worker.Run) (any, error) { panic("must not run") })
	done := b.completion()
	assert.Equal(t, schedule.StatusFailed, done.Status)
	assert.Equal(t, worker.TypeWorkerLost, done.Failure.Type)
	assert.Equal(t, 3, done.Attempt)
	b.queueEmpty()
}

func TestRetriesBackOff(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var mu sync.Mutex
	var times []time.Time
	b.serve("a", func(context.Context, *worker.Run) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		times = append(times, time.Now())
		return nil, errors.New("again")
	})
	b.submit(b.request("1", "a", func(r *schedule.ActionRequest) {
		r.RetryPolicy = &schedule.RetryPolicy{
			MaximumAttempts: 4, InitialInterval: schedule.Duration(100 * time.Millisecond), BackoffCoefficient: 3,
			MaximumInterval: schedule.Duration(400 * time.Millisecond),
		}
	}))
	assert.Equal(t, 4, b.completion().Attempt)
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, times, 4)
	for i, least := range []time.Duration{100, 300, 400} {
		// The server's timers are exact to a few milliseconds.
		assert.Greater(t, times[i+1].Sub(times[i]), least*time.Millisecond-10*time.Millisecond, "after attempt %d", i+1)
	}
	b.queueEmpty()
}

func TestTypesThatAreNotRetried(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.serve("panic", func(context.Context, *worker.Run) (any, error) { panic("no") })
	w.Register("declined", func(context.Context, *worker.Run) (any, error) {
		return nil, errors.Join(errors.New("charging failed"), &worker.Error{Type: "card_declined", Message: "no money"})
	})
	w.Register("slow", func(ctx context.Context, _ *worker.Run) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	for actionType, want := range map[string]struct {
		status  schedule.Status
		failure string
	}{
		"panic":    {schedule.StatusFailed, worker.TypePanic},
		"declined": {schedule.StatusFailed, "card_declined"},
		"slow":     {schedule.StatusTimedOut, worker.TypeTimeout},
	} {
		b.submit(b.request(actionType, actionType, taskTimeout(100*time.Millisecond), func(r *schedule.ActionRequest) {
			r.RetryPolicy = &schedule.RetryPolicy{NonRetryableErrorTypes: []string{"other", want.failure}}
		}))
		done := b.completion()
		assert.Equal(t, want.status, done.Status, actionType)
		assert.Equal(t, want.failure, done.Failure.Type, actionType)
		assert.Equal(t, 1, done.Attempt, actionType)
	}
	b.queueEmpty()
}

// gate dials for a connection, and can cut it off.
type gate struct {
	mu    sync.Mutex
	shut  bool
	conns []net.Conn
}

var errShut = errors.New("the gate is shut")

func (g *gate) Dial(network, address string) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return nil, errShut
	}
	conn, err := net.Dial(network, address)
	if err == nil {
		g.conns = append(g.conns, conn)
	}
	return conn, err
}

// set shuts or opens the gate.
func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	for _, conn := range g.conns {
		_ = conn.Close()
	}
	g.conns = nil
}

func TestControlsReachRunsAfterAnOutage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ackWait(time.Second)
	var g gate
	nc, err := nats.Connect(natstest.Shared(t).ClientURL(), nats.SetCustomDialer(&g), nats.MaxReconnects(-1),
		nats.ReconnectWait(20*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	w, err := worker.New(nc, worker.Config{
		Namespace: namespace, TaskQueue: queue, Prefix: b.names.Prefix(), Logger: natstest.Logger(t),
	})
	require.NoError(t, err)
	began, causes := make(chan struct{}, 2), make(chan error, 2)
	w.Register("a", func(ctx context.Context, _ *worker.Run) (any, error) {
		began <- struct{}{}
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	})
	s := &service{Worker: w, t: t, done: make(chan error, 1)}
	s.start()
	canceled, terminated := b.request("1", "a"), b.request("2", "a")
	for _, req := range []schedule.ActionRequest{canceled, terminated} {
		b.submit(req)
		receive(t, "the run to begin", began)
	}
	g.set(true)
	natstest.Eventually(t, limit, "the worker is cut off", func() bool { return !nc.IsConnected() })
	b.control(schedule.ControlCancel, canceled)
	b.control(schedule.ControlTerminate, terminated)
	g.set(false)

	done := b.completion()
	assert.Equal(t, "req-1", done.RequestID)
	assert.Equal(t, schedule.StatusCanceled, done.Status)
	assert.ElementsMatch(t, []error{worker.ErrCanceled, worker.ErrTerminated},
		[]error{receive(t, "a run to end", causes), receive(t, "another run to end", causes)})
	b.queueEmpty()
	b.noCompletion()
}
