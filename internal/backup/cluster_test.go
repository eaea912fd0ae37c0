package backup_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/backup"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
)

// TestClusterUnderLoad is TestUnderLoad with three replicas on three nodes.
func TestClusterUnderLoad(t *testing.T) {
	t.Parallel()
	from := natstest.Cluster(t, 3)
	to := func() string {
		from.Shutdown()
		return natstest.Cluster(t, 3).URLs()
	}
	underLoad(t, from.URLs(), to, topology.Settings{Shards: 1, Replicas: 3})
}

// TestReplicasMayChange: a restore may change from one server to three and back.
func TestReplicasMayChange(t *testing.T) {
	t.Parallel()
	single := connectInstallation(t, natstest.Server(t), natstest.Names(t))
	single.open(topology.Settings{Shards: 1})
	dir, manifest := single.backup()
	require.Equal(t, 1, manifest.Replicas)

	cluster := connectInstallation(t, natstest.Cluster(t, 3).URLs(), single.names)
	cluster.restore(dir, backup.RestoreConfig{Replicas: 3})
	cluster.open(topology.Settings{})
	require.Equal(t, 3, cluster.facts.Replicas)
	cluster.replicated(3)
	dir, manifest = cluster.backup()
	require.Equal(t, 3, manifest.Replicas)

	again := connectInstallation(t, natstest.Server(t), single.names)
	again.restore(dir, backup.RestoreConfig{Replicas: 1})
	again.open(topology.Settings{})
	require.Equal(t, 1, again.facts.Replicas)
	again.replicated(1)
}

// replicated checks the replicas of all streams.
func (s *installation) replicated(want int) {
	s.Helper()
	for _, name := range s.streams() {
		stream, err := s.js.Stream(s.Context(), name)
		require.NoError(s, err)
		require.Equal(s, want, stream.CachedInfo().Config.Replicas, name)
	}
}
