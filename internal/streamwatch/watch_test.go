package streamwatch_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/streamwatch"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestMain(m *testing.M) { natstest.Main(m) }

// installation is an installation with a watch, and without a process.
type installation struct {
	js    jetstream.JetStream
	names subjects.Names
	facts topology.Facts
	watch *streamwatch.Watch
}

func install(t *testing.T, js jetstream.JetStream, settings topology.Settings, unanswered func() uint64) *installation {
	t.Helper()
	in := &installation{js: js, names: natstest.Names(t)}
	var err error
	in.facts, err = topology.Ensure(t.Context(), js, in.names, settings)
	require.NoError(t, err)
	in.watch = streamwatch.New(streamwatch.Config{
		JS: js, Names: in.names, Shards: in.facts.Shards, Logger: natstest.Logger(t), Unanswered: unanswered,
		Every: 20 * time.Millisecond,
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 2)
	for range cap(ended) { // as two roles of a process do
		go func() { ended <- in.watch.Run(ctx) }()
	}
	t.Cleanup(func() {
		cancel()
		for range cap(ended) {
			assert.NoError(t, <-ended)
		}
	})
	return in
}

func (in *installation) await(t *testing.T, what string, is func(waits string) bool) (waits string) {
	t.Helper()
	natstest.Eventually(t, natstest.Patience, what, func() bool {
		waits = in.watch.Waits()
		return is(waits)
	})
	return waits
}

func isEmpty(text string) bool  { return text == "" }
func notEmpty(text string) bool { return text != "" }

// TestAStreamThatWasDeleted: the watch names the stream and what to do until the stream exists again. It does not create it.
func TestAStreamThatWasDeleted(t *testing.T) {
	t.Parallel()
	t.Run("one node", func(t *testing.T) {
		t.Parallel()
		_, js := natstest.Connect(t, natstest.Shared(t))
		testDeleted(t, install(t, js, topology.Settings{Shards: 1}, bus.Unanswered))
	})
	t.Run("three nodes", func(t *testing.T) {
		t.Parallel()
		_, js := natstest.Connect(t, natstest.Cluster(t, 3).URLs())
		testDeleted(t, install(t, js, topology.Settings{Shards: 1, Replicas: 3}, bus.Unanswered))
	})
}

func testDeleted(t *testing.T, in *installation) {
	in.await(t, "all is well", isEmpty)
	require.NoError(t, in.js.DeleteStream(t.Context(), in.names.EventStream()))
	waits := in.await(t, "the stream is missed", notEmpty)
	assert.Contains(t, waits, "stream "+in.names.EventStream()+", which is gone")
	assert.Contains(t, waits, "carillon cluster recreate "+in.names.EventStream())

	require.NoError(t, in.js.DeleteKeyValue(t.Context(), in.names.StateBucket(0)))
	waits = in.await(t, "the bucket is missed", func(waits string) bool { return waits != "" && waits[:9] == "stream KV" })
	assert.Contains(t, waits, "restore a backup")
	assert.Contains(t, waits, "1 more")

	require.NoError(t, topology.Recreate(t.Context(), in.js, in.names, in.facts,
		[]string{in.names.EventStream(), in.names.StateBucket(0)}))
	in.await(t, "all is well again", isEmpty)
}

// TestProbeStoresNothing: a test stores no message and uses no sequence.
func TestProbeStoresNothing(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	in := install(t, js, topology.Settings{Shards: 1}, bus.Unanswered)
	for _, config := range in.names.StreamConfigs(1, 1) {
		stream, err := js.Stream(t.Context(), config.Name)
		require.NoError(t, err)
		before := stream.CachedInfo().State
		assert.True(t, streamwatch.Probe(t.Context(), js, config.Name).OK(), config.Name)
		after, err := stream.Info(t.Context())
		require.NoError(t, err)
		assert.Equal(t, before, after.State)
	}
	assert.True(t, streamwatch.Probe(t.Context(), js, "NONE-"+in.names.Prefix()).Missing)
}

// TestAnOutageOfNATS: while nobody answers, the watch says so. It continues when somebody does.
func TestAnOutageOfNATS(t *testing.T) {
	t.Parallel()
	cluster := natstest.Cluster(t, 1)
	_, js := natstest.Connect(t, cluster.URLs())
	in := install(t, js, topology.Settings{Shards: 1}, bus.Unanswered)
	in.await(t, "all is well", isEmpty)
	cluster.Kill(0)
	assert.Contains(t, in.await(t, "the outage is noticed", notEmpty), "JetStream to answer")
	cluster.Restart(0)
	in.await(t, "all is well again", isEmpty)
}
