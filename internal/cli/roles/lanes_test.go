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
	"github.com/carillon-scheduler/carillon/internal/cli/roles"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

// wires are the connections of a process to a server, by their names.
type wires struct {
	url   string
	conns map[string]*nats.Conn
	wires map[string]*wire
}

// wire is a connection that can be held up: what it sends then waits.
type wire struct {
	net.Conn
	held sync.RWMutex
}

func (w *wire) Write(p []byte) (int, error) {
	w.held.RLock()
	defer w.held.RUnlock()
	return w.Conn.Write(p)
}

// Dial is that of a nats.CustomDialer.
func (w *wire) Dial(network, address string) (net.Conn, error) {
	var err error
	w.Conn, err = net.Dial(network, address)
	return w, err
}

func (w *wires) dial(options ...nats.Option) (*nats.Conn, error) {
	var all nats.Options
	for _, option := range options {
		if err := option(&all); err != nil {
			return nil, err
		}
	}
	wire := &wire{}
	conn, err := nats.Connect(w.url, append(options, nats.SetCustomDialer(wire))...)
	w.conns[all.Name], w.wires[all.Name] = conn, wire
	return conn, err
}

// openWired sets up an installation of two shards.
func openWired(t *testing.T) (*wires, *roles.Connection, *roles.Cluster) {
	t.Helper()
	w := &wires{url: natstest.Server(t).ClientURL(), conns: map[string]*nats.Conn{}, wires: map[string]*wire{}}
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

// TestLanesBelongToTheConnection: without one of them a process cannot work, and they end with it.
func TestLanesBelongToTheConnection(t *testing.T) {
	t.Parallel()
	w, conn, _ := openWired(t)
	require.Len(t, w.conns, 3)
	assert.Empty(t, conn.Waits())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, conn.Role().Run(ctx), "told to stop")
	w.conns["p-lane-1"].Close()
	assert.Equal(t, roles.WaitForNATS, conn.Waits())
	require.ErrorContains(t, conn.Role().Run(t.Context()), "closed")
	conn.Close()
	for name, conn := range w.conns {
		assert.True(t, conn.IsClosed(), name)
	}
}

// TestAShardThatCannotBeReadHoldsUpNoOther: as while NATS writes the index of its bucket.
func TestAShardThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w, conn, cluster := openWired(t)
	ran := &counts{ran: map[string]int{}}
	runRoles(t, conn, cluster, ran.note)
	api, err := client.New(conn.Conn, client.Config{})
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
	w.wires["p-lane-0"].held.Lock()
	stuck, other := ran.of(keys[0].ID), ran.of(keys[1].ID)
	natstest.Eventually(t, natstest.Patience, "the other shard goes on", func() bool { return ran.of(keys[1].ID) >= other+3 })
	assert.LessOrEqual(t, ran.of(keys[0].ID), stuck+1, "no more than what had been read")
	w.wires["p-lane-0"].held.Unlock()
	natstest.Eventually(t, natstest.Patience, "what was held up goes on", func() bool { return ran.of(keys[0].ID) >= stuck+3 })
}

// counts are how often schedules have run, by their IDs.
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
