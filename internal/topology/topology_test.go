package topology_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestMain(m *testing.M) { natstest.Main(m) }

func TestInitialises(t *testing.T) {
	t.Parallel()
	b := setup(t)
	facts := b.ensure(t, topology.Settings{})
	require.Equal(t, topology.FormatVersion, facts.FormatVersion)
	require.Equal(t, topology.DefaultShards, facts.Shards)
	require.Equal(t, topology.DefaultReplicas, facts.Replicas)
	require.WithinDuration(t, time.Now(), facts.Created, time.Minute)
	b.requireComplete(t, facts)

	key := schedule.Key{Namespace: "default", ID: "nightly"}
	require.Equal(t, subjects.ShardOf(key, facts.Shards), facts.ShardOf(key))
}

func TestFactsAreReadableByPeople(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ensure(t, topology.Settings{Shards: 2})
	require.Regexp(t, `^\{"formatVersion":1,"shards":2,"replicas":1,"created":"20..-..-..T.*Z","complete":true\}$`, b.get(t, "cluster"))
	require.Regexp(t, `^\{"name":"default","version":1,"createTime":"20..-..-..T.*Z"\}$`, b.get(t, "namespace.default"))
}

// TestLeavesAloneWhatFits records the requests of a second Ensure.
func TestLeavesAloneWhatFits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.ensure(t, topology.Settings{Shards: 2})
	writes := b.recordWrites(t)
	require.Equal(t, first, b.ensure(t, topology.Settings{}))
	require.Equal(t, first, b.ensure(t, topology.Settings{Shards: 2, Replicas: 1}))
	require.Empty(t, writes())
}

func TestKeepsWhatAnOperatorTuned(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ensure(t, topology.Settings{Shards: 1})
	tuned := b.config(t, b.names.EventStream())
	tuned.MaxAge, tuned.MaxBytes, tuned.Description = 24*time.Hour, 1<<30, "tuned"
	_, err := b.js.UpdateStream(t.Context(), tuned)
	require.NoError(t, err)
	b.ensure(t, topology.Settings{})
	require.Equal(t, tuned, b.config(t, b.names.EventStream()))
}

func TestRepairsWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	facts := b.ensure(t, topology.Settings{Shards: 1})

	good := b.config(t, b.names.TaskStream(0))
	bad := good
	bad.MaxMsgsPerSubject, bad.AllowDirect = 7, false
	_, err := b.js.UpdateStream(t.Context(), bad)
	require.NoError(t, err)

	consumer, err := b.js.Consumer(t.Context(), b.names.TaskStream(0), subjects.PoolInvoker)
	require.NoError(t, err)
	config := consumer.CachedInfo().Config
	config.AckWait, config.MaxAckPending = time.Hour, 77
	_, err = b.js.UpdateConsumer(t.Context(), b.names.TaskStream(0), config)
	require.NoError(t, err)
	require.NoError(t, b.js.DeleteConsumer(t.Context(), b.names.TaskStream(0), subjects.PoolBackfiller))
	require.NoError(t, b.js.DeleteStream(t.Context(), b.names.ControlStream()))

	b.ensure(t, topology.Settings{})
	b.requireComplete(t, facts)
	require.Equal(t, good, b.config(t, b.names.TaskStream(0)))
	consumer, err = b.js.Consumer(t.Context(), b.names.TaskStream(0), subjects.PoolInvoker)
	require.NoError(t, err)
	require.Equal(t, subjects.TaskAckWait, consumer.CachedInfo().Config.AckWait)
	require.Equal(t, 77, consumer.CachedInfo().Config.MaxAckPending)
}

func TestRefusesWhatDoesNotGoWithTheCluster(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ensure(t, topology.Settings{Shards: 2})

	err := b.fail(t, topology.Settings{Shards: 8, Replicas: 3})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
	require.ErrorContains(t, err, "initialised with 2 shards")
	require.ErrorContains(t, err, "told 8")

	err = b.fail(t, topology.Settings{Replicas: 3})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
	require.ErrorContains(t, err, "this server is on its own")
	require.Contains(t, b.get(t, "cluster"), `"replicas":1`)

	b.put(t, "cluster", `{"formatVersion":7,"shards":2,"replicas":1}`)
	err = b.fail(t, topology.Settings{})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
	require.ErrorContains(t, err, "stores format version 7, and this program version 1")

	b.put(t, "cluster", "gibberish")
	err = b.fail(t, topology.Settings{})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeInternal})
	require.ErrorContains(t, err, "gibberish")
}

func TestRefusesImpossibleSettings(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, s := range []topology.Settings{{Shards: -1}, {Shards: topology.MaxShards + 1}, {Replicas: 2}, {Replicas: -1}} {
		require.ErrorIs(t, b.fail(t, s), &schedule.Error{Code: schedule.CodeInvalidArgument}, "%+v", s)
	}
	_, err := b.js.KeyValue(t.Context(), b.names.ClusterBucket())
	require.ErrorIs(t, err, jetstream.ErrBucketNotFound)
}

func TestReplicasNeedACluster(t *testing.T) {
	t.Parallel()
	b := setup(t)
	err := b.fail(t, topology.Settings{Replicas: 3})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
	require.ErrorContains(t, err, "several replicas need a NATS cluster")
	_, err = b.js.KeyValue(t.Context(), b.names.ClusterBucket())
	require.ErrorIs(t, err, jetstream.ErrBucketNotFound)
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	all := b.ensureAtOnce(t, slices.Repeat([]topology.Settings{{Shards: 6}}, 8))
	require.Len(t, slices.Compact(all), 1)
	require.Equal(t, 6, all[0].Shards)
	b.requireComplete(t, all[0])
}

// TestServerWithoutJetStream must not wait for something that will never happen.
func TestServerWithoutJetStream(t *testing.T) {
	t.Parallel()
	b := setupPlain(t)
	err := b.fail(t, topology.Settings{})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
	require.ErrorContains(t, err, "JetStream is not enabled")
	require.ErrorContains(t, err, "2.14")
}

// TestServerThatIsTooOld has a responder that answers like NATS 2.12.
func TestServerThatIsTooOld(t *testing.T) {
	t.Parallel()
	b := setupPlain(t)
	_, err := b.js.Conn().Subscribe("$JS.API.INFO", func(m *nats.Msg) {
		_ = m.Respond([]byte(`{"type":"io.nats.jetstream.api.v1.account_info_response","api":{"level":2}}`))
	})
	require.NoError(t, err)
	err = b.fail(t, topology.Settings{})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
	require.ErrorContains(t, err, "2.14 or later is needed")
}

// bundle is a separate installation.
type bundle struct {
	js    jetstream.JetStream
	names subjects.Names
}

func setup(t *testing.T) bundle {
	t.Helper()
	_, js := natstest.Connect(t, natstest.Shared(t))
	return bundle{js: js, names: natstest.Names(t)}
}

// setupPlain connects to a NATS server without JetStream.
func setupPlain(t *testing.T) bundle {
	t.Helper()
	plain, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true})
	require.NoError(t, err)
	plain.Start()
	t.Cleanup(func() { plain.Shutdown(); plain.WaitForShutdown() })
	_, js := natstest.Connect(t, plain.ClientURL())
	return bundle{js: js, names: natstest.Names(t)}
}

func (b bundle) ensure(t *testing.T, s topology.Settings) topology.Facts {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	facts, err := topology.Ensure(ctx, b.js, b.names, s)
	require.NoError(t, err)
	return facts
}

func (b bundle) fail(t *testing.T, s topology.Settings) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := topology.Ensure(ctx, b.js, b.names, s)
	require.Error(t, err)
	return err
}

// ensureAtOnce runs one process for each of the settings, all at the same moment.
func (b bundle) ensureAtOnce(t *testing.T, settings []topology.Settings) []topology.Facts {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	facts, errs := make([]topology.Facts, len(settings)), make([]error, len(settings))
	begin := make(chan struct{})
	var group sync.WaitGroup
	for i, s := range settings {
		group.Go(func() {
			<-begin
			facts[i], errs[i] = topology.Ensure(ctx, b.js, b.names, s)
		})
	}
	close(begin)
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return facts
}

// requireComplete checks that everything exists and is configured correctly.
func (b bundle) requireComplete(t *testing.T, facts topology.Facts) {
	t.Helper()
	buckets := []string{b.names.ClusterBucket()}
	for shard := range facts.Shards {
		buckets = append(buckets, b.names.StateBucket(shard))
	}
	for _, name := range buckets {
		bucket, err := b.js.KeyValue(t.Context(), name)
		require.NoError(t, err)
		status, err := bucket.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, facts.Replicas, status.(*jetstream.KeyValueBucketStatus).StreamInfo().Config.Replicas, name)
		require.Equal(t, subjects.TombstoneAge, status.LimitMarkerTTL(), name)
	}
	for _, want := range b.names.StreamConfigs(facts.Shards, facts.Replicas) {
		have := b.config(t, want.Name)
		require.Equal(t, want.Subjects, have.Subjects)
		require.Equal(t, want.Replicas, have.Replicas, want.Name)
		require.Equal(t, want.Retention, have.Retention)
		require.Equal(t, want.AllowMsgSchedules, have.AllowMsgSchedules)
		require.Equal(t, want.MaxAge, have.MaxAge)
	}
	for shard := range facts.Shards {
		for _, of := range b.names.PoolConsumers(shard) {
			want := of.Config
			have, err := b.js.Consumer(t.Context(), of.Stream, want.Durable)
			require.NoError(t, err)
			require.Equal(t, want.AckWait, have.CachedInfo().Config.AckWait)
		}
	}
	require.JSONEq(t, asJSON(t, facts), b.get(t, "cluster"))
}

func (b bundle) config(t *testing.T, stream string) jetstream.StreamConfig {
	t.Helper()
	s, err := b.js.Stream(t.Context(), stream)
	require.NoError(t, err)
	return s.CachedInfo().Config
}

func (b bundle) cluster(t *testing.T) jetstream.KeyValue {
	t.Helper()
	bucket, err := b.js.KeyValue(t.Context(), b.names.ClusterBucket())
	require.NoError(t, err)
	return bucket
}

func (b bundle) get(t *testing.T, key string) string {
	t.Helper()
	entry, err := b.cluster(t).Get(t.Context(), key)
	require.NoError(t, err)
	return string(entry.Value())
}

func (b bundle) put(t *testing.T, key, value string) {
	t.Helper()
	_, err := b.cluster(t).PutString(t.Context(), key, value)
	require.NoError(t, err)
}

// recordWrites returns a function that lists the subjects of all later requests that create, change or write something of this
// installation.
func (b bundle) recordWrites(t *testing.T) func() []string {
	t.Helper()
	var mu sync.Mutex
	var seen []string
	all, err := b.js.Conn().Subscribe(">", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		ours := strings.Contains(strings.ToLower(m.Subject), b.names.Prefix())
		read := strings.Contains(m.Subject, ".INFO.") || strings.Contains(m.Subject, ".DIRECT.GET.")
		// The namespace is offered each time; this is refused without a change.
		offer := strings.HasSuffix(m.Subject, ".namespace.default")
		if ours && !read && !offer {
			seen = append(seen, m.Subject)
		}
	})
	require.NoError(t, err)
	require.NoError(t, b.js.Conn().Flush())
	return func() []string {
		require.NoError(t, b.js.Conn().Flush())
		natstest.Eventually(t, natstest.Patience, "all requests have been looked at", func() bool {
			waiting, _, err := all.Pending()
			require.NoError(t, err)
			return waiting == 0
		})
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}
