package roles_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

// wires are the connections of a process to a server, by name.
type wires struct {
	url     string
	refuses bool // whether further connections are refused

	mu  sync.Mutex
	all map[string]*wire
}

// wire is a connection that a test can hold up: what it sends then waits.
type wire struct {
	net.Conn
	nats *nats.Conn
	held sync.RWMutex
}

func (w *wire) Write(p []byte) (int, error) {
	w.held.RLock()
	defer w.held.RUnlock()
	return w.Conn.Write(p)
}

// Dial implements nats.CustomDialer.
func (w *wire) Dial(network, address string) (net.Conn, error) {
	var err error
	w.Conn, err = net.Dial(network, address)
	return w, err
}

func (w *wires) dial(options ...nats.Option) (*nats.Conn, error) {
	if w.refuses {
		return nil, errors.New("refused")
	}
	wire := &wire{}
	var err error
	if wire.nats, err = nats.Connect(w.url, append(options, nats.SetCustomDialer(wire))...); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[wire.nats.Opts.Name] = wire
	return wire.nats, nil
}

// of returns the connection with a name, or nil if there is none.
func (w *wires) of(name string) *wire {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[name]
}

// openWired sets up an installation with two shards.
func openWired(t *testing.T) (*wires, *roles.Connection, *roles.Cluster) {
	t.Helper()
	w := &wires{url: natstest.Server(t).ClientURL(), all: map[string]*wire{}}
	conn, err := roles.Connect(t.Context(), natstest.Logger(t), "p", w.dial)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	names, err := subjects.New(subjects.DefaultPrefix)
	require.NoError(t, err)
	cluster, err := roles.Open(t.Context(), conn, names, topology.Settings{Shards: 2}, roles.Options{
		Logger: natstest.Logger(t), LanesFrom: 1,
	})
	require.NoError(t, err)
	return w, conn, cluster
}

// TestLanesBelongToTheConnection: lanes are opened when they are needed, and end with the connection. A process cannot work if it has lost
// one of them.
func TestLanesBelongToTheConnection(t *testing.T) {
	t.Parallel()
	w, conn, cluster := openWired(t)
	require.Len(t, w.all, 1)
	for shard := range 2 {
		cluster.Lanes().Note(t.Context(), shard, 1)
		require.True(t, cluster.Lanes().Uses(shard))
	}
	require.Len(t, w.all, 3)
	assert.Empty(t, conn.Waits())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, conn.Role().Run(ctx), "told to stop")
	w.of("p-lane-1").nats.Close()
	assert.Equal(t, roles.WaitForNATS, conn.Waits())
	require.ErrorContains(t, conn.Role().Run(t.Context()), "closed")
	conn.Close()
	for name, wire := range w.all {
		assert.True(t, wire.nats.IsClosed(), name)
	}
}

// TestNoLaneAfterTheEnd: a read that needs a lane only after the connection has been closed leaves no lane behind.
func TestNoLaneAfterTheEnd(t *testing.T) {
	t.Parallel()
	w, conn, cluster := openWired(t)
	conn.Close()
	cluster.Lanes().Note(t.Context(), 0, 1)
	assert.False(t, cluster.Lanes().Uses(0))
	assert.True(t, w.of("p-lane-0").nats.IsClosed())
}

// TestALaneThatCannotBeOpened: until the lane can be opened, the shard is read as before.
func TestALaneThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	w, conn, cluster := openWired(t)
	w.refuses = true
	cluster.Lanes().Note(t.Context(), 0, 1)
	assert.False(t, cluster.Lanes().Uses(0))
	assert.Empty(t, conn.Waits())
	w.refuses = false
	cluster.Lanes().Note(t.Context(), 0, 1)
	assert.True(t, cluster.Lanes().Uses(0))
}

// TestAShardThatCannotBeReadHoldsUpNoOther: a shard can be unreadable, for example while NATS writes the index of its bucket. The other
// shards go on.
func TestAShardThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w, conn, cluster := openWired(t)
	ran := &counts{ran: map[string]int{}}
	runRoles(t, conn, cluster, ran.note)
	asks, err := nats.Connect(conn.ConnectedUrl()) // a frontend does not answer requests on its own inboxes
	require.NoError(t, err)
	defer asks.Close()
	api, err := client.New(asks, client.Config{})
	require.NoError(t, err)
	every := schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Second)}}}
	keys := natstest.KeyInEachShard(2)
	for _, key := range keys {
		_, err := api.Create(t.Context(), schedule.CreateRequest{ID: key.ID, Schedule: schedule.Schedule{
			Spec: every, Action: schedule.Action{Type: "note", TaskQueue: "q"},
		}})
		require.NoError(t, err)
	}
	for _, key := range keys {
		natstest.Eventually(t, natstest.Patience, key.ID+" runs", func() bool { return ran.of(key.ID) > 0 })
	}
	for _, lane := range []string{"p-lane-0", "p-lane-1"} {
		natstest.Eventually(t, natstest.Patience, lane+" is used", func() bool {
			wire := w.of(lane)
			return wire != nil && wire.nats.Stats().OutMsgs > 10
		})
	}
	w.of("p-lane-0").held.Lock()
	stuck, other := ran.of(keys[0].ID), ran.of(keys[1].ID)
	natstest.Eventually(t, natstest.Patience, "the other shard goes on", func() bool { return ran.of(keys[1].ID) >= other+3 })
	assert.LessOrEqual(t, ran.of(keys[0].ID), stuck+1, "no more than what had been read")
	w.of("p-lane-0").held.Unlock()
	natstest.Eventually(t, natstest.Patience, "what was held up goes on", func() bool { return ran.of(keys[0].ID) >= stuck+3 })
}

// counts says how often schedules have run, by their IDs.
type counts struct {
	mu  sync.Mutex
	ran map[string]int
}

func (c *counts) note(_ context.Context, run *worker.Run) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran[run.ScheduleID]++
	return nil, nil
}

func (c *counts) of(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ran[id]
}

// runRoles runs all roles, and a worker for actions of type note, until the test ends.
func runRoles(t *testing.T, conn *roles.Connection, cluster *roles.Cluster, note worker.Handler) {
	t.Helper()
	front, ready, err1 := cluster.Frontend(roles.SearchOptions{Off: true})
	generator, err2 := cluster.Generator()
	backfiller, err3 := cluster.Backfiller()
	invoker, err4 := cluster.Invoker()
	work, err5 := worker.New(conn.Conn, worker.Config{TaskQueue: "q", Logger: natstest.Logger(t)})
	require.NoError(t, errors.Join(err1, err2, err3, err4, err5))
	work.Register("note", note)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- roles.Supervise(ctx, natstest.Logger(t), natstest.Patience,
			roles.Stage{front}, roles.Stage{generator, backfiller}, roles.Stage{{Name: "worker", Run: work.Run}}, roles.Stage{invoker})
	}()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-ended)
	})
	select {
	case <-ready:
	case <-time.After(natstest.Patience):
		t.Fatal("the frontend is not ready")
	}
}
