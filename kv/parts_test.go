package kv

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// TestPartsOfABatch: whichever of several answers had no room for all, what is missed is read by itself.
func TestPartsOfABatch(t *testing.T) {
	t.Parallel()
	for _, rests := range [][]bool{{true, false}, {false, true}, {true, true}} {
		var parts []*part
		for _, rest := range rests {
			parts = append(parts, &part{Batch: Batch{rest: rest}})
		}
		all, err := join(nil, parts)
		require.NoError(t, err)
		require.True(t, all.rest, "%v", rests)
	}
	all, err := join(nil, []*part{{}, {}})
	require.NoError(t, err)
	require.False(t, all.rest)
}

// grown is a bucket that somebody adds replicas to.
type grown struct {
	jetstream.KeyValue
	replicas, asked int
}

func (g *grown) Status(context.Context) (jetstream.KeyValueStatus, error) {
	g.asked++
	return replicasOf(g.replicas), nil
}

type statusOf struct {
	jetstream.KeyValueStatus
	replicas int
}

func replicasOf(n int) jetstream.KeyValueStatus { return statusOf{replicas: n} }

func (s statusOf) Config() jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{Replicas: s.replicas}
}

// TestABucketThatGetsReplicas is known to have them before they answer reads: what NATS has said of it counts for a while only.
func TestABucketThatGetsReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bucket := &grown{replicas: 1}
		s := singleReplica{heard: func(context.Context, jetstream.KeyValueStatus) {}}
		require.True(t, s.is(t.Context(), bucket))
		bucket.replicas = 3
		require.True(t, s.is(t.Context(), bucket), "it is not asked each time")
		time.Sleep(singleAge)
		require.False(t, s.is(t.Context(), bucket))
		require.Equal(t, 2, bucket.asked)
	})
}
