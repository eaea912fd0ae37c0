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
	assert.NotEmpty(t, w.Waits())
	facts, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1, Replicas: 1})
	require.NoError(t, err)
	select {
	case <-w.Ready():
	case <-time.After(limit):
		assert.Fail(t, "not ready")
	}
	assert.Empty(t, w.Waits())
	// Without its stream it waits again, and goes on when that is there.
	require.NoError(t, js.DeleteStream(t.Context(), names.ActionStream()))
	natstest.Eventually(t, limit, "it waits", func() bool { return w.Waits() != "" })
	require.NoError(t, topology.Recreate(t.Context(), js, names, facts, []string{names.ActionStream()}))
	natstest.Eventually(t, limit, "it takes runs", func() bool { return w.Waits() == "" })
	cancel()
	require.NoError(t, <-ended)
}
