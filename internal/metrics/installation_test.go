package metrics_test

import (
	"context"
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
	"github.com/carillon-scheduler/carillon/internal/natsstats"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

// installation is a Carillon with all roles in this process.
type installation struct {
	*testing.T
	conn    *nats.Conn
	js      jetstream.JetStream
	names   subjects.Names
	store   *kv.Store
	client  *client.Client
	collect func() collected
	// release lets the runs of the type "blocks" end.
	release chan struct{}
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	s := &installation{T: t, names: natstest.Names(t), collect: since(t), release: make(chan struct{})}
	s.conn, s.js = natstest.Connect(t, natstest.Shared(t))
	t.Cleanup(natsstats.ObserveConns(func() []*nats.Conn { return []*nats.Conn{s.conn} }))
	_, err := topology.Ensure(t.Context(), s.js, s.names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	s.store, err = kv.Open(t.Context(), s.js, s.names, 1)
	require.NoError(t, err)
	s.client, err = client.New(s.conn, client.Config{Prefix: s.names.Prefix()})
	require.NoError(t, err)
	s.run()
	return s
}

// run runs the roles until the test ends.
func (s *installation) run() {
	s.Helper()
	logger := natstest.Logger(s)
	index, err := search.New(search.Config{JS: s.js, Names: s.names, Shards: 1, Dir: s.TempDir(), Logger: logger})
	require.NoError(s, err)
	front, err := frontend.New(frontend.Config{
		Conn: s.conn, JS: s.js, Store: s.store, Names: s.names, Index: index, Logger: logger,
	})
	require.NoError(s, err)
	gen, err := generator.New(generator.Config{Config: pool.Config{Bus: bus.New(s.js), Store: s.store, Names: s.names, Logger: logger}})
	require.NoError(s, err)
	inv, err := invoker.New(invoker.Config{Config: pool.Config{Bus: bus.New(s.js), Store: s.store, Names: s.names, Logger: logger}})
	require.NoError(s, err)
	back, err := backfiller.New(pool.Config{Bus: bus.New(s.js), Store: s.store, Names: s.names, Logger: logger})
	require.NoError(s, err)
	watcher, err := taskqueue.New(taskqueue.Config{JS: s.js, Names: s.names, Period: 50 * time.Millisecond, Logger: logger})
	require.NoError(s, err)

	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	group, ctx := errgroup.WithContext(ctx)
	for _, role := range []interface{ Run(context.Context) error }{index, front, gen, inv, back, watcher, s.worker()} {
		group.Go(func() error { return role.Run(ctx) })
	}
	s.Cleanup(func() {
		cancel()
		assert.NoError(s, group.Wait())
	})
	<-front.Ready()
}

func (s *installation) worker() *worker.Worker {
	s.Helper()
	w, err := worker.New(s.conn, worker.Config{TaskQueue: "q", Prefix: s.names.Prefix(), Logger: natstest.Logger(s)})
	require.NoError(s, err)
	w.Register("succeeds", func(context.Context, *worker.Run) (any, error) { return nil, nil })
	w.Register("fails", func(context.Context, *worker.Run) (any, error) { return nil, errors.New("as it should") })
	w.Register("blocks", func(ctx context.Context, _ *worker.Run) (any, error) {
		select {
		case <-s.release:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	return w
}

// create creates a schedule whose action is due at regular intervals.
func (s *installation) create(id string, every time.Duration, action schedule.Action) {
	s.Helper()
	_, err := s.client.Create(s.Context(), schedule.CreateRequest{ID: id, Schedule: schedule.Schedule{
		Spec:   schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(every)}}},
		Action: action,
	}})
	require.NoError(s, err)
}

func (s *installation) trigger(id string) {
	s.Helper()
	_, err := s.client.Trigger(s.Context(), schedule.TriggerRequest{ID: id})
	require.NoError(s, err)
}

func (s *installation) pause(id string) {
	s.Helper()
	require.NoError(s, s.client.Pause(s.Context(), id, ""))
}

func (s *installation) info(id string) schedule.Info {
	s.Helper()
	d, err := s.client.Describe(s.Context(), id)
	require.NoError(s, err)
	return d.Info
}

// eventually waits until a condition about the metrics holds.
func (s *installation) eventually(what string, is func(c collected) bool) {
	s.Helper()
	natstest.Eventually(s, natstest.Patience, what, func() bool { return is(s.collect()) })
}
