package cache_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/cache"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestMain(m *testing.M) { natstest.Main(m) }

func newStore(t *testing.T) *kv.Store {
	t.Helper()
	names := natstest.Names(t)
	_, js := natstest.Connect(t, natstest.Shared(t))
	facts, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	store, err := kv.Open(t.Context(), js, names, facts.Shards)
	require.NoError(t, err)
	return store
}

// TestRecordsAreKeptUntilAskedForTheTruth: another process has written the record, and a second attempt finds that out.
func TestRecordsAreKeptUntilAskedForTheTruth(t *testing.T) {
	t.Parallel()
	store, key := newStore(t), schedule.Key{Namespace: "default", ID: "s"}
	records := cache.NewRecords(2, kv.Generator)
	load := func(again bool) kv.Record[wire.GeneratorState] {
		record, err := records.Load(t.Context(), store, key, again)
		require.NoError(t, err)
		return record
	}
	put := func(version, revision uint64) kv.Record[wire.GeneratorState] {
		state := wire.GeneratorState{Incarnation: "i", Version: version}
		revision, err := kv.Put(t.Context(), store, kv.Generator(key), &state, revision)
		require.NoError(t, err)
		return kv.Record[wire.GeneratorState]{Value: state, Revision: revision}
	}
	require.Zero(t, load(false))
	records.Keep(key, load(false))
	first := put(1, 0)
	require.Equal(t, first, load(false), "that there is none is not kept")
	records.Keep(key, first)
	second := put(2, first.Revision)
	require.Equal(t, first, load(false))
	require.Equal(t, second, load(true))
	require.Equal(t, second, load(false))

	records.Keep(key, first)
	records.Drop(key)
	require.Equal(t, second, load(false))
}

// TestRecordsForgetsTheLeastRecentlyUsed: if there are too many records, the least recently used is forgotten.
func TestRecordsForgetsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	records := cache.NewRecords(0, kv.Invoker)
	a, b := schedule.Key{Namespace: "default", ID: "a"}, schedule.Key{Namespace: "default", ID: "b"}
	for _, key := range []schedule.Key{a, b} {
		records.Keep(key, kv.Record[wire.InvokerState]{Revision: 1})
	}
	_, known := records.Get(a)
	require.False(t, known)
	_, known = records.Get(b)
	require.True(t, known)
}
