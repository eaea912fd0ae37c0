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

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

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
