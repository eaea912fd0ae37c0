package kv_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	_, js := natstest.Connect(t, natstest.Shared(t))
	cluster := kv.NewCluster(js, names)
	_, err := kv.GetJSON[int](t.Context(), cluster, "a.b")
	require.Equal(t, schedule.CodeUnavailable, schedule.CodeOf(err))
	_, err = js.CreateKeyValue(t.Context(), names.BucketConfig(names.ClusterBucket(), 1))
	require.NoError(t, err)

	put := func(key string, value int, revision uint64) (uint64, error) {
		return kv.PutJSON(t.Context(), cluster, key, &value, revision)
	}
	_, err = kv.GetJSON[int](t.Context(), cluster, "a.b")
	require.ErrorIs(t, err, kv.ErrNotFound)
	first, err := put("a.b", 1, 0)
	require.NoError(t, err)
	_, err = put("a.b", 2, 0)
	require.ErrorIs(t, err, kv.ErrConflict)
	second, err := put("a.b", 2, first)
	require.NoError(t, err)
	_, err = put("c.d", 0, 0)
	require.NoError(t, err)
	keys, err := cluster.Keys(t.Context(), "a.*")
	require.NoError(t, err)
	require.Equal(t, []string{"a.b"}, keys)
	require.ErrorIs(t, cluster.Delete(t.Context(), "a.b", first), kv.ErrConflict)
	require.NoError(t, cluster.Delete(t.Context(), "a.b", second))
	_, err = kv.GetJSON[int](t.Context(), cluster, "a.b")
	require.ErrorIs(t, err, kv.ErrNotFound)
	third, err := put("a.b", 3, 0)
	require.NoError(t, err, "over the trace")
	record, err := kv.GetJSON[string](t.Context(), cluster, "a.b")
	require.ErrorIs(t, err, kv.ErrCorrupt)
	require.Equal(t, kv.Record[string]{Revision: third}, record)

	short := func(value int) error {
		return kv.PutJSONFor(t.Context(), cluster, "a.b", &value, time.Second)
	}
	require.NoError(t, short(4))
	found, err := kv.GetJSON[int](t.Context(), cluster, "a.b")
	require.NoError(t, err)
	require.Equal(t, 4, found.Value)
	require.NoError(t, short(5))
	natstest.Eventually(t, natstest.Patience, "it is gone", func() bool {
		_, err := kv.GetJSON[int](t.Context(), cluster, "a.b")
		return errors.Is(err, kv.ErrNotFound)
	})

	for _, key := range []string{"a.b", "a.b", "c.d"} {
		require.NoError(t, cluster.Remove(t.Context(), key), "also what is not there")
	}
	_, err = kv.GetJSON[int](t.Context(), cluster, "c.d")
	require.ErrorIs(t, err, kv.ErrNotFound)
}

func TestNoCluster(t *testing.T) {
	t.Parallel()
	_, err := kv.GetJSON[int](t.Context(), nil, "a.b")
	require.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
}
