package kv_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
