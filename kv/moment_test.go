package kv_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// laggingBuckets have a replica that answers some times what it has once answered, and a leader that is another server.
type laggingBuckets struct {
	kv.Buckets
	b    *testBundle
	old  atomic.Pointer[kv.Matching]
	lags atomic.Int64
}

func (l *laggingBuckets) GetMatching(ctx context.Context, bucket string, filters []string) (kv.Matching, error) {
	if old := l.old.Load(); old != nil && l.lags.Add(-1) >= 0 {
		return *old, nil
	}
	return l.Buckets.GetMatching(ctx, bucket, filters)
}

func (l *laggingBuckets) Newest(ctx context.Context, bucket string) (uint64, error) {
	return bus.LeaderSequence(ctx, l.b.js, subjects.BucketStream(bucket))
}

// lagging returns a store whose replica answers so many times what it would say of some filters now.
func (b *testBundle) lagging(times int64, bucket string, filters ...string) *kv.Store {
	b.Helper()
	buckets, err := kv.OpenBuckets(b.Context(), b.js, b.names, b.store.Shards())
	require.NoError(b, err)
	lagging := &laggingBuckets{Buckets: buckets, b: b}
	old, err := buckets.GetMatching(b.Context(), bucket, filters)
	require.NoError(b, err)
	lagging.old.Store(&old)
	lagging.lags.Store(times)
	return kv.NewStore(lagging, b.names, b.store.Shards())
}

// TestWhatALaggingReplicaSaysIsNotBelieved: neither that a record is as it was, nor that there is one or none; whether the replica catches
// up, or the leader has to be asked for each.
func TestWhatALaggingReplicaSaysIsNotBelieved(t *testing.T) {
	t.Parallel()
	for name, times := range map[string]int64{"it catches up": 2, "it does not": 1 << 40} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			definition, bucket := kv.Definition(key), b.names.StateBucket(b.store.ShardOf(key))
			revision := put(b, definition, wire.Definition{ID: key.ID, Version: 1})
			put(b, kv.Backfill(key, "b1"), wire.BackfillState{ID: "b1"})
			store := b.lagging(times, bucket, definition.String(), subjects.BackfillKeys(key))

			_, err := kv.Put(t.Context(), b.store, definition, &wire.Definition{ID: key.ID, Version: 2}, revision)
			require.NoError(t, err)
			put(b, kv.Backfill(key, "b2"), wire.BackfillState{ID: "b2"})
			over, err := kv.Get(t.Context(), b.store, kv.Backfill(key, "b1"))
			require.NoError(t, err)
			require.NoError(t, kv.Delete(t.Context(), b.store, kv.Backfill(key, "b1"), over.Revision))

			now, err := kv.Now(t.Context(), store)
			require.NoError(t, err)
			batch, err := kv.ReadDefinitions(t.Context(), store, now, key, keyNumber(1))
			require.NoError(t, err)
			record, err := kv.From(t.Context(), batch, definition)
			require.NoError(t, err)
			require.EqualValues(t, 2, record.Value.Version)
			_, err = kv.From(t.Context(), batch, kv.Definition(keyNumber(1)))
			require.ErrorIs(t, err, kv.ErrNotFound)
		})
		t.Run("backfills, "+name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			bucket := b.names.StateBucket(b.store.ShardOf(key))
			put(b, kv.Definition(key), wire.Definition{ID: key.ID})
			revision := put(b, kv.Backfill(key, "b1"), wire.BackfillState{ID: "b1"})
			store := b.lagging(times, bucket, kv.Definition(key).String(), subjects.BackfillKeys(key))
			put(b, kv.Backfill(key, "b2"), wire.BackfillState{ID: "b2"})
			require.NoError(t, kv.Delete(t.Context(), b.store, kv.Backfill(key, "b1"), revision))

			keys, err := kv.ReadBackfills(t.Context(), store, key)
			require.NoError(t, err)
			require.Len(t, keys, 1)
			require.Equal(t, "b2", kv.BackfillID(keys[0]))

			store = b.lagging(times, bucket, kv.Definition(key).String(), subjects.BackfillKeys(key))
			put(b, kv.Backfill(key, "b3"), wire.BackfillState{ID: "b3"})
			pending, err := kv.PendingBackfills(t.Context(), store, key, []string{"b1", "b2", "b3"})
			require.NoError(t, err)
			require.Equal(t, []string{"b2", "b3"}, pending)
		})
	}
}

// TestDefinitionsOfSeveralAnswers: of those that are too large for one answer the next ones are asked for, by the word of a replica
// that has come as far.
func TestDefinitionsOfSeveralAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var keys []schedule.Key
	for i := range 12 {
		keys = append(keys, keyNumber(i))
		d := wire.Definition{ID: keys[i].ID}
		d.Schedule.Action.Input = []byte(`"` + strings.Repeat("x", 300<<10) + `"`)
		put(b, kv.Definition(keys[i]), d)
	}
	now, err := kv.Now(t.Context(), b.store)
	require.NoError(t, err)
	batch, err := kv.ReadDefinitions(t.Context(), b.store, now, append(keys, key)...)
	require.NoError(t, err)
	for _, key := range append(keys, key) {
		requireSame(b, batch, kv.Definition(key))
	}
}

// TestReplicasOfAClusterTellHowFarTheyHaveCome: what has been acknowledged is seen, whichever of them answers.
func TestReplicasOfAClusterTellHowFarTheyHaveCome(t *testing.T) {
	t.Parallel()
	cluster := natstest.Cluster(t, 3)
	_, js := natstest.Connect(t, cluster.URLs())
	b := setupOn(t, js, topology.Settings{Shards: 1, Replicas: 3})
	revision := put(b, kv.Definition(key), wire.Definition{ID: key.ID})
	for version := uint64(1); version <= 300; version++ {
		var err error
		revision, err = kv.Put(t.Context(), b.store, kv.Definition(key), &wire.Definition{ID: key.ID, Version: version}, revision)
		require.NoError(t, err)
		id := fmt.Sprint("b", version)
		put(b, kv.Backfill(key, id), wire.BackfillState{ID: id})
		now, err := kv.Now(t.Context(), b.store)
		require.NoError(t, err)
		batch, err := kv.ReadDefinitions(t.Context(), b.store, now, key)
		require.NoError(t, err)
		record, err := kv.From(t.Context(), batch, kv.Definition(key))
		require.NoError(t, err)
		require.Equal(t, version, record.Value.Version)
		keys, err := kv.ReadBackfills(t.Context(), b.store, key)
		require.NoError(t, err)
		require.Len(t, keys, int(version))
	}
	// A watch is answered by any of them as well. More are deleted than are asked for one by one. What is deleted can be created again.
	deleted := make([]uint64, 40)
	for round := range 10 {
		for i := range deleted {
			deleted[i] = put(b, kv.Definition(keyNumber(i)), wire.Definition{ID: keyNumber(i).ID})
		}
		for i, revision := range deleted {
			require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(keyNumber(i)), revision))
		}
		last := put(b, kv.Definition(keyNumber(round)), wire.Definition{ID: keyNumber(round).ID})
		keys, err := kv.Schedules(t.Context(), b.store, "default")
		require.NoError(t, err)
		require.Contains(t, keys, keyNumber(round))
		require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(keyNumber(round)), last))
	}
}
