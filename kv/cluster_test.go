package kv_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/kv"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	_, js := natstest.Connect(t, natstest.Shared(t))
	_, err := kv.OpenCluster(t.Context(), js, names)
	require.ErrorIs(t, err, jetstream.ErrBucketNotFound)
	_, err = js.CreateKeyValue(t.Context(), names.BucketConfig(names.ClusterBucket(), 1))
	require.NoError(t, err)
	cluster, err := kv.OpenCluster(t.Context(), js, names)
	require.NoError(t, err)

	_, err = cluster.GetLeader(t.Context(), "a.b")
	require.ErrorIs(t, err, kv.ErrNotFound)
	first, err := cluster.Put(t.Context(), "a.b", []byte("1"), 0)
	require.NoError(t, err)
	_, err = cluster.Put(t.Context(), "a.b", []byte("2"), 0)
	require.ErrorIs(t, err, kv.ErrConflict)
	second, err := cluster.Put(t.Context(), "a.b", []byte("2"), first)
	require.NoError(t, err)
	_, err = cluster.Put(t.Context(), "c.d", nil, 0)
	require.NoError(t, err)
	keys, err := cluster.Keys(t.Context(), "a.*")
	require.NoError(t, err)
	require.Equal(t, []string{"a.b"}, keys)
	require.ErrorIs(t, cluster.Delete(t.Context(), "a.b", first), kv.ErrConflict)
	require.NoError(t, cluster.Delete(t.Context(), "a.b", second))
	_, err = cluster.GetLeader(t.Context(), "a.b")
	require.ErrorIs(t, err, kv.ErrNotFound)
	_, err = cluster.Put(t.Context(), "a.b", []byte("3"), 0)
	require.NoError(t, err, "over the trace")

	require.NoError(t, cluster.PutFor(t.Context(), "a.b", []byte("4"), time.Second))
	entry, err := cluster.GetLeader(t.Context(), "a.b")
	require.NoError(t, err)
	require.Equal(t, "4", string(entry.Data))
	require.NoError(t, cluster.PutFor(t.Context(), "a.b", []byte("5"), time.Second))
	natstest.Eventually(t, 20*time.Second, "it is gone", func() bool {
		_, err := cluster.GetLeader(t.Context(), "a.b")
		return errors.Is(err, kv.ErrNotFound)
	})
}
