package kv_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// withLanes returns a store whose shards have lanes once they are not empty, and its connections: that of everything else, and the lanes.
func withLanes(t *testing.T, shards, lanes int) (*kv.Store, *bus.Lanes, []*nats.Conn) {
	t.Helper()
	conns, by := make([]*nats.Conn, 1+lanes), make([]jetstream.JetStream, 1+lanes)
	for i := range conns {
		conns[i], by[i] = natstest.Connect(t, natstest.Shared(t))
	}
	names := natstest.Names(t)
	_, err := topology.Ensure(t.Context(), by[0], names, topology.Settings{Shards: shards})
	require.NoError(t, err)
	used := bus.NewLanes(lanes, shards, 1, func(_ context.Context, lane int) jetstream.JetStream { return by[1+lane] })
	buckets, err := kv.OpenLanes(t.Context(), by[0], used, names, shards)
	require.NoError(t, err)
	return kv.NewStore(buckets, names, shards), used, conns
}

// asked returns how many messages each connection sends while something is done.
func asked(conns []*nats.Conn, do func()) []uint64 {
	before := make([]uint64, len(conns))
	for i, conn := range conns {
		before[i] = conn.Stats().OutMsgs
	}
	do()
	sent := make([]uint64, len(conns))
	for i, conn := range conns {
		sent[i] = conn.Stats().OutMsgs - before[i]
	}
	return sent
}

// TestLanes: what is read of a shard goes by its lane alone, and what is written by the connection of everything else.
func TestLanes(t *testing.T) {
	t.Parallel()
	const shards, lanes = 3, 2
	store, used, conns := withLanes(t, shards, lanes)
	for shard, key := range natstest.KeyInEachShard(shards) {
		lane := make([]uint64, len(conns))
		lane[1+shard%lanes] = 1
		assert.Equal(t, []uint64{1, 0, 0}, asked(conns, func() {
			_, err := kv.Put(t.Context(), store, kv.Definition(key), &wire.Definition{Namespace: key.Namespace, ID: key.ID}, 0)
			require.NoError(t, err)
		}), "a write")
		require.False(t, used.Uses(shard), "it was empty")
		_, err := kv.GetLeader(t.Context(), store, kv.Definition(key))
		require.NoError(t, err)
		require.True(t, used.Uses(shard), "NATS has been asked how much there is")
		assert.Equal(t, lane, asked(conns, func() {
			_, err := kv.Get(t.Context(), store, kv.Definition(key))
			require.NoError(t, err)
		}), "a record of shard %d", shard)
		assert.Equal(t, lane, asked(conns, func() {
			batch, err := kv.ReadBatch(t.Context(), store, key)
			require.NoError(t, err)
			_, err = kv.From(t.Context(), batch, kv.Definition(key))
			require.NoError(t, err)
		}), "a batch of shard %d", shard)
	}
}

// TestALaneGivesWay: while a shard is read very often, it is read by the connection of everything else, and then by its lane again.
func TestALaneGivesWay(t *testing.T) {
	t.Parallel()
	store, used, conns := withLanes(t, 1, 1)
	key := schedule.Key{Namespace: "default", ID: "often"}
	_, err := kv.Put(t.Context(), store, kv.Definition(key), &wire.Definition{Namespace: key.Namespace, ID: key.ID}, 0)
	require.NoError(t, err)
	_, err = kv.GetLeader(t.Context(), store, kv.Definition(key))
	require.NoError(t, err)
	require.True(t, used.Uses(0))

	read := func() {
		_, err := kv.Get(t.Context(), store, kv.Definition(key))
		assert.NoError(t, err)
		batch, err := kv.ReadBatch(t.Context(), store, key)
		assert.NoError(t, err)
		_, err = kv.From(t.Context(), batch, kv.Definition(key))
		assert.NoError(t, err)
	}
	byLane := []uint64{0, 2}
	assert.Equal(t, byLane, asked(conns, read))
	often, enough := context.WithCancel(t.Context())
	var reading errgroup.Group
	for range 16 {
		reading.Go(func() error {
			for often.Err() == nil {
				if _, err := kv.Get(t.Context(), store, kv.Definition(key)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	main := conns[0]
	rest := main.Stats().OutMsgs
	assert.Eventually(t, func() bool { return main.Stats().OutMsgs > rest }, time.Minute, 10*time.Millisecond, "a rush")
	enough()
	require.NoError(t, reading.Wait())
	assert.Eventually(t, func() bool { return slices.Equal(byLane, asked(conns, read)) }, time.Minute, 100*time.Millisecond, "it is over")
}
