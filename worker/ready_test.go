package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/worker"
)

// TestReady has a worker start before the installation is there.
func TestReady(t *testing.T) {
	t.Parallel()
	nc, js := natstest.Connect(t, natstest.Shared(t))
	names := natstest.Names(t)
	w, err := worker.New(nc, worker.Config{TaskQueue: queue, Prefix: names.Prefix(), Logger: natstest.Logger(t)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	select {
	case <-w.Ready():
		assert.Fail(t, "ready without a task queue")
	default:
	}
	_, err = topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1, Replicas: 1})
	require.NoError(t, err)
	select {
	case <-w.Ready():
	case <-time.After(limit):
		assert.Fail(t, "not ready")
	}
	cancel()
	require.NoError(t, <-ended)
}
