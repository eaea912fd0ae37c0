package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
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

// TestSaysWhichTypesItHas: also those that are registered while it runs, and only until it ends.
func TestSaysWhichTypesItHas(t *testing.T) {
	t.Parallel()
	b := setup(t)
	subject := b.names.ActionTypes(namespace, queue)
	ask := func() (answer schedule.ActionTypes) {
		reply, err := b.nc.Request(subject, nil, limit)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(reply.Data, &answer))
		return answer
	}
	_, err := b.nc.Request(subject, nil, limit)
	require.ErrorIs(t, err, nats.ErrNoResponders)
	s := b.worker(worker.Config{Identity: "w1"})
	handler := func(context.Context, *worker.Run) (any, error) { return nil, nil }
	s.Register("second", handler)
	s.Register("first", handler)
	s.start()
	<-s.Ready()
	require.Equal(t, schedule.ActionTypes{Worker: "w1", Types: []string{"first", "second"}}, ask())
	s.Register("later", handler)
	assert.Equal(t, []string{"first", "later", "second"}, ask().Types)
	require.NoError(t, b.nc.Publish(subject, nil), "nobody waits for the answer")
	require.NoError(t, s.stop())
	natstest.Eventually(t, limit, "nobody listens any more", func() bool {
		_, err := b.nc.Request(subject, nil, 200*time.Millisecond)
		return errors.Is(err, nats.ErrNoResponders)
	})
}

// TestAnswersNobodyInTheInstallation: a worker that is asked to answer on a subject of the installation does not.
func TestAnswersNobodyInTheInstallation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := b.worker(worker.Config{Identity: "w1"})
	s.Register("report", func(context.Context, *worker.Run) (any, error) { return nil, nil })
	s.start()
	<-s.Ready()
	for _, own := range []string{b.names.Callback(0, key, queue, "x"), "$KV.x.y"} {
		heard, err := b.nc.SubscribeSync(own)
		require.NoError(t, err)
		require.NoError(t, b.nc.PublishRequest(b.names.ActionTypes(namespace, queue), own, nil))
		_, err = b.nc.Request(b.names.ActionTypes(namespace, queue), nil, limit) // which comes after
		require.NoError(t, err)
		require.NoError(t, b.nc.Flush())
		count, _, err := heard.Pending()
		require.NoError(t, err)
		assert.Zero(t, count, own)
		require.NoError(t, heard.Unsubscribe())
	}
}
