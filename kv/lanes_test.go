package kv_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/replica"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestLanes: what is read of a shard goes by its lane alone, and what is written by the connection of everything else.
func TestLanes(t *testing.T) {
	t.Parallel()
	const shards, lanes = 3, 2
	conns, by := make([]*nats.Conn, 1+lanes), make([]jetstream.JetStream, 1+lanes) // the first is that of everything else
	for i := range conns {
		conns[i], by[i] = natstest.Connect(t, natstest.Shared(t))
	}
	names := natstest.Names(t)
	_, err := topology.Ensure(t.Context(), by[0], names, topology.Settings{Shards: shards})
	require.NoError(t, err)
	used := replica.NewLanes(lanes, shards, 1, func(_ context.Context, lane int) jetstream.JetStream { return by[1+lane] })
	buckets, err := kv.OpenLanes(t.Context(), by[0], used, names, shards)
	require.NoError(t, err)
	store := kv.NewStore(buckets, names, shards)

	for shard, key := range natstest.KeyInEachShard(shards) {
		asks := func(do func()) []uint64 {
			before := make([]uint64, len(conns))
			for i, conn := range conns {
				before[i] = conn.Stats().OutMsgs
			}
			do()
			asked := make([]uint64, len(conns))
			for i, conn := range conns {
				asked[i] = conn.Stats().OutMsgs - before[i]
			}
			return asked
		}
		lane := make([]uint64, len(conns))
		lane[1+shard%lanes] = 1
		assert.Equal(t, []uint64{1, 0, 0}, asks(func() {
			_, err := kv.Put(t.Context(), store, kv.Definition(key), &schedule.Definition{Namespace: key.Namespace, ID: key.ID}, 0)
			require.NoError(t, err)
		}), "a write")
		require.False(t, used.Uses(shard), "it was empty")
		_, err := kv.GetLeader(t.Context(), store, kv.Definition(key))
		require.NoError(t, err)
		require.True(t, used.Uses(shard), "NATS has been asked how much there is")
		assert.Equal(t, lane, asks(func() {
			_, err := kv.Get(t.Context(), store, kv.Definition(key))
			require.NoError(t, err)
		}), "a record of shard %d", shard)
		assert.Equal(t, lane, asks(func() {
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
	main, js := natstest.Connect(t, natstest.Shared(t))
	lane, own := natstest.Connect(t, natstest.Shared(t))
	names := natstest.Names(t)
	_, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	used := replica.NewLanes(1, 1, 1, func(context.Context, int) jetstream.JetStream { return own })
	buckets, err := kv.OpenLanes(t.Context(), js, used, names, 1)
	require.NoError(t, err)
	store, key := kv.NewStore(buckets, names, 1), schedule.Key{Namespace: "default", ID: "often"}
	_, err = kv.Put(t.Context(), store, kv.Definition(key), &schedule.Definition{Namespace: key.Namespace, ID: key.ID}, 0)
	require.NoError(t, err)
	_, err = kv.GetLeader(t.Context(), store, kv.Definition(key))
	require.NoError(t, err)
	require.True(t, used.Uses(0))

	// readBy reads in both ways, and returns how often it asked by the connection of everything else and by the lane.
	readBy := func() [2]uint64 {
		before := [2]uint64{main.Stats().OutMsgs, lane.Stats().OutMsgs}
		_, err := kv.Get(t.Context(), store, kv.Definition(key))
		assert.NoError(t, err)
		batch, err := kv.ReadBatch(t.Context(), store, key)
		assert.NoError(t, err)
		_, err = kv.From(t.Context(), batch, kv.Definition(key))
		assert.NoError(t, err)
		return [2]uint64{main.Stats().OutMsgs - before[0], lane.Stats().OutMsgs - before[1]}
	}
	assert.Equal(t, [2]uint64{0, 2}, readBy())
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
	rest := main.Stats().OutMsgs
	assert.Eventually(t, func() bool { return main.Stats().OutMsgs > rest }, time.Minute, 10*time.Millisecond, "a rush")
	enough()
	require.NoError(t, reading.Wait())
	assert.Eventually(t, func() bool { return readBy() == [2]uint64{0, 2} }, time.Minute, 100*time.Millisecond, "it is over")
}
