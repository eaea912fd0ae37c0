package topology_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestCluster runs its parts one after another on three servers, because three are a lot for a small machine.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := natstest.Cluster(t, 3)
	setup := func(t *testing.T) bundle {
		_, js := natstest.Connect(t, c.URLs())
		return bundle{js: js, names: natstest.Names(t)}
	}

	t.Run("many at once, some with replicas", func(t *testing.T) {
		b := setup(t)
		all := b.ensureAtOnce(t, slices.Repeat([]topology.Settings{{}, {Replicas: 3}}, 4))
		// A process that asked for no number may have finished before the replicas were raised.
		facts := b.ensure(t, topology.Settings{})
		require.Equal(t, 3, facts.Replicas)
		require.Contains(t, all, facts)
		b.requireComplete(t, facts)
		b.requireOneRunAtATime(t, 3)
	})

	t.Run("replicas change only when asked", func(t *testing.T) {
		b := setup(t)
		require.Equal(t, 1, b.ensure(t, topology.Settings{Shards: 2}).Replicas)
		for _, asked := range []int{3, 0, 1, 0} {
			facts := b.ensure(t, topology.Settings{Replicas: asked})
			if asked != 0 {
				require.Equal(t, asked, facts.Replicas)
			}
			b.requireComplete(t, facts)
		}

		// Nobody asked to take away replicas beyond the facts.
		raised := b.config(t, b.names.EventStream())
		raised.Replicas = 3
		_, err := b.js.UpdateStream(t.Context(), raised)
		require.NoError(t, err)
		b.ensure(t, topology.Settings{})
		require.Equal(t, 3, b.config(t, b.names.EventStream()).Replicas)
		b.requireComplete(t, b.ensure(t, topology.Settings{Replicas: 1}))
	})

	t.Run("upgrades the layout of an earlier release", func(t *testing.T) { setup(t).requireUpgrade(t, 3) })

	t.Run("waits for more servers than there are", func(t *testing.T) {
		b := setup(t)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := topology.Ensure(ctx, b.js, b.names, topology.Settings{Replicas: 5})
		require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeUnavailable})
		require.ErrorContains(t, err, "gave up waiting for the facts of the cluster: each replica needs a NATS server of its own")
	})

	t.Run("waits for a cluster without a leader", func(t *testing.T) {
		b := setup(t)
		c.Kill(0)
		c.Kill(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := topology.Ensure(ctx, b.js, b.names, topology.Settings{Replicas: 3})
		require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeUnavailable})
		require.ErrorContains(t, err, "gave up waiting for ")

		done := make(chan topology.Facts, 1)
		go func() {
			facts, _ := topology.Ensure(t.Context(), b.js, b.names, topology.Settings{Replicas: 3})
			done <- facts
		}()
		c.Restart(0)
		c.Restart(1)
		select {
		case facts := <-done:
			require.Equal(t, 3, facts.Replicas)
			b.requireComplete(t, facts)
		case <-time.After(time.Minute):
			t.Fatal("the cluster is back, and Ensure still waits")
		}
	})
}
