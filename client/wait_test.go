package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/backfiller"
	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/generator"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

// role is what runs until a context ends.
type role interface{ Run(context.Context) error }

// pools returns all roles but the worker.
func pools(conn *nats.Conn, js jetstream.JetStream, store *kv.Store, names subjects.Names) ([]role, error) {
	front, err := frontend.New(frontend.Config{Conn: conn, JS: js, Store: store, Names: names, Logger: quiet})
	if err != nil {
		return nil, err
	}
	gen, err := generator.New(generator.Config{Config: pool.Config{Bus: bus.New(js), Store: store, Names: names, Logger: quiet}})
	if err != nil {
		return nil, err
	}
	inv, err := invoker.New(invoker.Config{Config: pool.Config{Bus: bus.New(js), Store: store, Names: names, Logger: quiet}})
	if err != nil {
		return nil, err
	}
	back, err := backfiller.New(pool.Config{Bus: bus.New(js), Store: store, Names: names, Logger: quiet})
	return []role{front, gen, inv, back}, err
}

// together runs roles until the function it returns is called. It returns when those are ready that say so.
func together(roles []role) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range roles {
		group.Go(func() error { return r.Run(ctx) })
	}
	for _, r := range roles {
		if starting, ok := r.(interface{ Ready() <-chan struct{} }); ok {
			select {
			case <-starting.Ready():
			case <-ctx.Done(): // one has failed
			}
		}
	}
	return func() error {
		cancel()
		if err := group.Wait(); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
}

// serveAll runs every role until the end of the test, and a worker of the queue "q", and returns a client.
func serveAll(t *testing.T, handlers map[string]worker.Handler) *client.Client {
	t.Helper()
	names := natstest.Names(t)
	conn, js := natstest.Connect(t, natstest.Shared(t))
	facts, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	store, err := kv.Open(t.Context(), js, names, facts.Shards)
	require.NoError(t, err)
	roles, err := pools(conn, js, store, names)
	require.NoError(t, err)
	w, err := worker.New(conn, worker.Config{TaskQueue: "q", Prefix: names.Prefix(), DrainTimeout: -1, Logger: quiet})
	require.NoError(t, err)
	for actionType, handler := range handlers {
		w.Register(actionType, handler)
	}
	stop := together(append(roles, w))
	t.Cleanup(func() { assert.NoError(t, stop()) })
	return connect(t, names)
}

// manual creates a schedule that runs only when it is triggered.
func manual(t *testing.T, c *client.Client, id, actionType string) {
	t.Helper()
	_, err := c.Create(t.Context(), schedule.CreateRequest{ID: id, Schedule: schedule.Schedule{
		Action: schedule.Action{Type: actionType, TaskQueue: "q"},
	}})
	require.NoError(t, err)
}

func TestTriggerAndWait(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 10)
	c := serveAll(t, map[string]worker.Handler{
		"echo": func(_ context.Context, run *worker.Run) (any, error) { return run.Input, nil },
		"fail": func(context.Context, *worker.Run) (any, error) { return nil, errors.New("no") },
		"hang": func(ctx context.Context, _ *worker.Run) (any, error) {
			began <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, actionType := range []string{"echo", "fail", "hang"} {
		manual(t, c, actionType, actionType)
	}

	large := json.RawMessage(`"` + string(make64K()) + `"`)
	for _, input := range []json.RawMessage{json.RawMessage(`{"n": 1}`), large} {
		run, err := c.TriggerAndWait(ctx, schedule.TriggerRequest{ID: "echo", Trigger: schedule.Trigger{Input: input}})
		require.NoError(t, err)
		assert.Equal(t, schedule.StatusCompleted, run.Status)
		assert.Equal(t, 1, run.Attempt)
		again, err := c.WaitForRun(ctx, "echo", run.RunID)
		require.NoError(t, err)
		assert.JSONEq(t, string(input), string(again.Result))
	}

	run, err := c.TriggerAndWait(ctx, schedule.TriggerRequest{ID: "fail"})
	require.NoError(t, err)
	assert.Equal(t, schedule.StatusFailed, run.Status)
	assert.Equal(t, "no", run.Failure.Message)

	short, end := context.WithTimeout(ctx, 300*time.Millisecond)
	defer end()
	_, err = c.TriggerAndWait(short, schedule.TriggerRequest{ID: "hang"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	<-began

	_, err = c.TriggerAndWait(ctx, schedule.TriggerRequest{ID: "hang"})
	require.ErrorIs(t, err, client.ErrFailedPrecondition)
	require.ErrorContains(t, err, "the run was skipped")

	runs, err := c.Runs(ctx, schedule.RunsRequest{ID: "hang"})
	require.NoError(t, err)
	waited := make(chan error, 1)
	go func() {
		_, err := c.WaitForRun(ctx, "hang", runs.Runs[0].RequestID)
		waited <- err
	}()
	require.NoError(t, c.Delete(ctx, "hang"))
	if err := <-waited; err != nil { // unless the schedule was gone before the run was looked at
		require.ErrorIs(t, err, client.ErrNotFound)
	}
	_, err = c.TriggerAndWait(ctx, schedule.TriggerRequest{ID: "hang"})
	require.ErrorIs(t, err, client.ErrNotFound)
}

// make64K is more than the event history keeps of a result.
func make64K() []byte {
	text := make([]byte, 64<<10)
	for i := range text {
		text[i] = 'x'
	}
	return text
}

// TestWaitAfterADeletion makes sure that the end of an earlier schedule of the ID is not taken for the end of this one.
func TestWaitAfterADeletion(t *testing.T) {
	t.Parallel()
	c := serveAll(t, map[string]worker.Handler{"noop": func(context.Context, *worker.Run) (any, error) { return nil, nil }})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 2 {
		manual(t, c, "x", "noop")
		run, err := c.TriggerAndWait(ctx, schedule.TriggerRequest{ID: "x"})
		require.NoError(t, err)
		assert.Equal(t, schedule.StatusCompleted, run.Status)
		require.NoError(t, c.Delete(ctx, "x"))
	}
}
