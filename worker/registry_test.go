package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// tagged is middleware that notes when it is passed.
func tagged(name string, passed chan<- string) worker.Middleware {
	return func(next worker.Handler) worker.Handler {
		return func(ctx context.Context, run *worker.Run) (any, error) {
			passed <- name + " before " + run.Type
			value, err := next(ctx, run)
			passed <- name + " after"
			return value, err
		}
	}
}

func TestMiddlewareIsPassedInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	passed := make(chan string, 10)
	w := b.worker(worker.Config{Middleware: []worker.Middleware{tagged("outer", passed), tagged("inner", passed)}})
	w.Register("a", func(context.Context, *worker.Run) (any, error) {
		passed <- "handler"
		return "done", nil
	})
	w.start()
	b.submit(b.request("1", "a"))
	assert.JSONEq(t, `"done"`, string(b.completion().Result))
	close(passed)
	var order []string
	for name := range passed {
		order = append(order, name)
	}
	assert.Equal(t, []string{"outer before a", "inner before a", "handler", "inner after", "outer after"}, order)
}

func TestPanicOfMiddlewareIsAFailure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(worker.Config{Middleware: []worker.Middleware{func(worker.Handler) worker.Handler {
		return func(context.Context, *worker.Run) (any, error) { panic("no") }
	}}})
	w.Register("a", func(context.Context, *worker.Run) (any, error) { return 1, nil })
	w.start()
	b.submit(b.request("1", "a"))
	assert.Equal(t, worker.TypePanic, b.completion().Failure.Type)
}

func TestMiddlewareThatReturnsNoHandler(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(worker.Config{Middleware: []worker.Middleware{
		tagged("outer", nil), func(worker.Handler) worker.Handler { return nil },
	}})
	assert.PanicsWithValue(t, `worker: a middleware returns no handler for action type "a"`, func() {
		w.Register("a", func(context.Context, *worker.Run) (any, error) { return 1, nil })
	})
}

// crowd is a handler that counts how many of it execute at once, until it is released.
type crowd struct {
	now, most atomic.Int32
	began     chan string
	release   chan struct{}
}

func newCrowd() *crowd { return &crowd{began: make(chan string, 100), release: make(chan struct{})} }

func (c *crowd) run(ctx context.Context, run *worker.Run) (any, error) {
	defer c.now.Add(-1)
	now := c.now.Add(1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	c.began <- run.RequestID
	select {
	case <-c.release:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func TestConcurrencyByType(t *testing.T) {
	t.Parallel()
	b, few := setup(t), newCrowd()
	w := b.worker(worker.Config{Concurrency: 10, ConcurrencyByType: map[string]int{"few": 2}})
	w.Register("few", few.run)
	w.Register("other", func(context.Context, *worker.Run) (any, error) { return nil, nil })
	w.start()
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		b.submit(b.request(id, "few"))
	}
	receive(t, "the first", few.began)
	receive(t, "the second", few.began)
	b.submit(b.request("6", "other"))
	assert.Equal(t, "req-6", b.completion().RequestID, "the other type goes ahead")
	close(few.release)
	for range 5 {
		assert.Equal(t, schedule.StatusCompleted, b.completion().Status)
	}
	assert.EqualValues(t, 2, few.most.Load())
	b.queueEmpty()
}

// TestRunsThatWaitForTheirTypeEnd takes each way by which a run ends that waits for a place.
func TestRunsThatWaitForTheirTypeEnd(t *testing.T) {
	t.Parallel()
	b, one := setup(t), newCrowd()
	w := b.worker(worker.Config{Concurrency: 10, ConcurrencyByType: map[string]int{"one": 1}, DrainTimeout: -1})
	w.Register("one", one.run)
	w.start()
	b.submit(b.request("1", "one"))
	receive(t, "the first", one.began)
	canceled, terminated := b.request("canceled", "one"), b.request("terminated", "one")
	b.submit(canceled)
	b.submit(terminated)
	b.submit(b.request("late", "one", deadlineIn(50*time.Millisecond)))
	b.submit(b.request("given back", "one"))

	done := b.completion()
	assert.Equal(t, "req-late", done.RequestID)
	assert.Equal(t, schedule.StatusTimedOut, done.Status)
	b.control(schedule.ControlTerminate, terminated)
	b.control(schedule.ControlCancel, canceled)
	done = b.completion()
	assert.Equal(t, "req-canceled", done.RequestID)
	assert.Equal(t, schedule.StatusCanceled, done.Status)
	natstest.Eventually(t, limit, "only two are left", func() bool { return b.queued() == 2 })
	require.NoError(t, w.stop())
	b.noCompletion()
	assert.EqualValues(t, 2, b.queued(), "the runs were given back")
	assert.Empty(t, one.began)
}

// queued returns how many requests are in the queue, those included that a worker holds.
func (b *bench) queued() uint64 {
	b.t.Helper()
	stream, err := b.js.Stream(b.t.Context(), b.names.ActionStream())
	require.NoError(b.t, err)
	return stream.CachedInfo().State.Msgs
}

// TestHandlersThatHangFillTheWorker makes sure that a worker whose handlers never return does not collect ever more of them.
func TestHandlersThatHangFillTheWorker(t *testing.T) {
	t.Parallel()
	b, hang := setup(t), newHanging(t)
	w := b.worker(worker.Config{Concurrency: 1})
	w.Register("hang", hang.run)
	w.Register("next", func(context.Context, *worker.Run) (any, error) { return nil, nil })
	w.start()
	for _, id := range []string{"1", "2"} {
		b.submit(b.request(id, "hang", taskTimeout(silence)))
		assert.Equal(t, schedule.StatusTimedOut, b.completion().Status, id)
	}
	b.submit(b.request("3", "next"))
	consumer, err := b.js.Consumer(t.Context(), b.names.ActionStream(), b.names.WorkerConsumer(namespace, queue).Durable)
	require.NoError(t, err)
	another, err := consumer.Next(jetstream.FetchMaxWait(limit))
	require.NoError(t, err, "the request is free for another worker")
	require.NoError(t, another.Nak())

	hang.let()
	assert.Equal(t, "req-3", b.completion().RequestID, "there is room again")
	require.NoError(t, w.stop())
	b.queueEmpty()
}

func TestTypedHandlers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(worker.Config{})
	worker.Handle(w.Worker, "typed", func(_ context.Context, in struct{ N int }) (map[string]int, error) {
		return map[string]int{"n": in.N + 1}, nil
	})
	worker.Handle(w.Worker, "none", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	worker.Handle(w.Worker, "bytes", func(_ context.Context, in []byte) ([]byte, error) { return in, nil })
	worker.Handle(w.Worker, "failing", func(context.Context, struct{}) (int, error) { return 7, errors.New("no") })
	w.start()
	for i, test := range []struct{ action, input, result, failure string }{
		{"typed", `{"n": 1, "unknown": true}`, `{"n":2}`, ""},
		{"typed", ``, `{"n":1}`, ""},
		{"typed", `{"n": "x"}`, ``, `the input does not fit action type "typed": N must be a whole number, not a string`},
		{"none", `{"n": 1}`, ``, ""},
		{"bytes", `{"a": 1}`, `{"a":1}`, ""},
		{"bytes", ``, ``, ""},
		{"failing", ``, ``, "no"},
	} {
		req := b.request(fmt.Sprint(i), test.action)
		if test.input != "" {
			input(test.input)(&req)
		}
		b.submit(req)
		done := b.completion()
		assert.Equal(t, test.result, string(done.Result), test.action)
		if test.failure == "" {
			assert.Equal(t, schedule.StatusCompleted, done.Status, test.action)
		} else {
			assert.Equal(t, test.failure, done.Failure.Message, test.action)
		}
		b.queueEmpty()
	}
}
