package worker_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/worker"
)

// TestAnswersForTheRunsItHas and for no other.
func TestAnswersForTheRunsItHas(t *testing.T) {
	t.Parallel()
	b := setup(t)
	req := b.request("1", "slow")
	ask := func() bool {
		answer, has, err := consistency.AskWorkers(t.Context(), b.nc, b.names, namespace, queue, req.RunID)
		require.NoError(t, err)
		assert.Equal(t, has, answer.Worker != "")
		return has
	}
	require.False(t, ask(), "nobody listens")
	begun, finish := make(chan struct{}), make(chan struct{})
	b.serve("slow", func(context.Context, *worker.Run) (any, error) {
		close(begun)
		<-finish
		return nil, nil
	})
	b.submit(req)
	<-begun
	require.True(t, ask())
	close(finish)
	b.completion()
	b.queueEmpty()
	natstest.Eventually(t, limit, "it is over", func() bool { return !ask() })
}
