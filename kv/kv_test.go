package kv_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestMain(m *testing.M) { natstest.Main(m) }

type testBundle struct {
	*testing.T
	js    jetstream.JetStream
	names subjects.Names
	store *kv.Store
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	_, js := natstest.Connect(t, natstest.Shared(t))
	return setupOn(t, js, topology.Settings{Shards: 3})
}

func setupOn(t *testing.T, js jetstream.JetStream, settings topology.Settings) *testBundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	names := natstest.Names(t)
	facts, err := topology.Ensure(ctx, js, names, settings)
	require.NoError(t, err)
	store, err := kv.Open(ctx, js, names, facts.Shards)
	require.NoError(t, err)
	return &testBundle{T: t, js: js, names: names, store: store}
}

var (
	key  = schedule.Key{Namespace: "default", ID: "nightly"}
	when = time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC)
)

func TestEveryRecordComesBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	roundTrip(b, kv.Definition(key), wire.Definition{
		Namespace: "default", ID: "nightly", Incarnation: "i", Version: 3, CreateTime: when,
		Schedule: schedule.Schedule{Spec: schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Hour)}}}},
	})
	roundTrip(b, kv.Generator(key), wire.GeneratorState{
		Incarnation: "i", Mark: when, HandedOff: when, Version: 3, Next: when.Add(time.Hour), Future: []time.Time{when},
	})
	roundTrip(b, kv.Invoker(key), wire.InvokerState{
		Incarnation: "i", Starts: []wire.BufferedStart{{RequestID: "r", Nominal: when, Actual: when, Phase: schedule.PhaseReady}},
		Sources: map[string]wire.SourceProgress{"auto": {Covered: []wire.Span{{From: when, To: when.Add(1)}}, LastFrom: when}},
	})
	roundTrip(b, kv.Result(key), wire.Result{Incarnation: "i", Success: json.RawMessage(`{"n":1}`), CloseTime: when})
	roundTrip(b, kv.StartRate("billing"), wire.StartRate{Next: when, Rate: 2.5})
	roundTrip(b, kv.Backfill(key, "b1"), wire.BackfillState{Incarnation: "i", ID: "b1", RequestTime: when, Trigger: &schedule.Trigger{}})
}

// roundTrip takes a record through its life: created, read, replaced, deleted, created again.
func roundTrip[T any](b *testBundle, k kv.Key[T], value T) {
	b.Helper()
	ctx := b.Context()
	_, err := kv.Get(ctx, b.store, k)
	require.ErrorIs(b, err, kv.ErrNotFound)
	_, err = kv.GetLeader(ctx, b.store, k)
	require.ErrorIs(b, err, kv.ErrNotFound)

	first, err := kv.Put(ctx, b.store, k, &value, 0)
	require.NoError(b, err)
	b.requireRecord(func() (any, error) { return kv.Get(ctx, b.store, k) }, kv.Record[T]{Value: value, Revision: first})
	b.requireRecord(func() (any, error) { return kv.GetLeader(ctx, b.store, k) }, kv.Record[T]{Value: value, Revision: first})

	_, err = kv.Put(ctx, b.store, k, &value, 0)
	require.ErrorIs(b, err, kv.ErrConflict, "it exists")
	second, err := kv.Put(ctx, b.store, k, &value, first)
	require.NoError(b, err)
	_, err = kv.Put(ctx, b.store, k, &value, first)
	require.ErrorIs(b, err, kv.ErrConflict, "it has been written since")
	require.ErrorIs(b, kv.Delete(ctx, b.store, k, first), kv.ErrConflict)
	require.ErrorIs(b, kv.Delete(ctx, b.store, k, 0), kv.ErrConflict, "0 is not any revision")

	require.NoError(b, kv.Delete(ctx, b.store, k, second))
	_, err = kv.Get(ctx, b.store, k)
	require.ErrorIs(b, err, kv.ErrNotFound)
	_, err = kv.GetLeader(ctx, b.store, k)
	require.ErrorIs(b, err, kv.ErrNotFound, "a tombstone is no record")
	require.ErrorIs(b, kv.Delete(ctx, b.store, k, second), kv.ErrConflict)
	_, err = kv.Put(ctx, b.store, k, &value, second)
	require.ErrorIs(b, err, kv.ErrConflict, "a writer from before the deletion")

	third, err := kv.Put(ctx, b.store, k, &value, 0)
	require.NoError(b, err, "over the tombstone")
	b.requireRecord(func() (any, error) { return kv.Get(ctx, b.store, k) }, kv.Record[T]{Value: value, Revision: third})
}

func (b *testBundle) requireRecord(get func() (any, error), want any) {
	b.Helper()
	got, err := get()
	require.NoError(b, err)
	require.Equal(b, want, got)
}

func TestCorruptRecord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := kv.Generator(key)
	revision := b.write(k.String(), []byte("\x01nonsense"))
	_, err := kv.Get(t.Context(), b.store, k)
	require.ErrorIs(t, err, kv.ErrCorrupt)
	require.ErrorIs(t, err, codec.ErrFormat)
	_, err = kv.GetLeader(t.Context(), b.store, k)
	require.ErrorIs(t, err, kv.ErrCorrupt)
	require.NoError(t, kv.Delete(t.Context(), b.store, k, revision), "an operator can remove it")
}

// write puts bytes in the place of a record of the schedule key.
func (b *testBundle) write(name string, data []byte) uint64 {
	b.Helper()
	bucket, err := b.js.KeyValue(b.Context(), b.names.StateBucket(b.store.ShardOf(key)))
	require.NoError(b, err)
	revision, err := bucket.Put(b.Context(), name, data)
	require.NoError(b, err)
	return revision
}

// TestNameThatCannotBeAKey: such a one reaches the pools when somebody publishes on a task subject made by hand.
func TestNameThatCannotBeAKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	odd := schedule.Key{Namespace: "no!namespace", ID: "x"}
	_, err := kv.Get(t.Context(), b.store, kv.Definition(odd))
	require.ErrorIs(t, err, kv.ErrNotFound)
	_, err = kv.DefinitionFor(t.Context(), b.store, odd)
	require.ErrorIs(t, err, kv.ErrNotFound)
}

func TestErrorsOfNATSAreNotOurs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k, value := kv.Generator(key), wire.GeneratorState{}
	_, get := kv.Get(ctx, b.store, k)
	_, getLeader := kv.GetLeader(ctx, b.store, k)
	_, put := kv.Put(ctx, b.store, k, &value, 0)
	_, list := kv.Schedules(ctx, b.store, "default")
	_, traces := kv.SchedulesAndTraces(ctx, b.store, "default")
	for _, err := range []error{get, getLeader, put, kv.Delete(ctx, b.store, k, 1), list, traces} {
		require.ErrorIs(t, err, context.Canceled)
		for _, ours := range []error{kv.ErrConflict, kv.ErrNotFound, kv.ErrCorrupt} {
			require.NotErrorIs(t, err, ours)
		}
	}
	_, err := kv.Open(t.Context(), b.js, b.names, 4)
	require.ErrorContains(t, err, b.names.StateBucket(3))
}

// TestListOnAClosedConnection must not look like a short list.
func TestListOnAClosedConnection(t *testing.T) {
	t.Parallel()
	conn, js := natstest.Connect(t, natstest.Shared(t))
	b := setupOn(t, js, topology.Settings{Shards: 1})
	conn.Close()
	_, err := kv.Schedules(t.Context(), b.store, "default")
	require.Error(t, err)
	_, err = kv.SchedulesAndTraces(t.Context(), b.store, "default")
	require.Error(t, err)
}

// awkward IDs: all that may be in one.
var awkward = []string{
	"a", "a.b", "a.*", "a.>", "*", ">", " ", "$KV", "definition", "backfill", "a.definition", "ü", "🔔", "=2E", "A",
	strings.Repeat("x", 255), strings.Repeat("🔔", 63), strings.Repeat(".", 255),
}

func TestListsKeepNamespacesAndSchedulesApart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	namespaces := []string{"a", "aa", "a-a", "default"}
	for _, namespace := range namespaces {
		for _, id := range awkward {
			key := schedule.Key{Namespace: namespace, ID: id}
			_, err := kv.Put(ctx, b.store, kv.Definition(key), &wire.Definition{Namespace: namespace, ID: id}, 0)
			require.NoError(t, err)
			_, err = kv.Put(ctx, b.store, kv.Generator(key), &wire.GeneratorState{}, 0)
			require.NoError(t, err)
			for i := range 2 {
				_, err = kv.Put(ctx, b.store, kv.Backfill(key, fmt.Sprint("b", i)), &wire.BackfillState{ID: id}, 0)
				require.NoError(t, err)
			}
		}
	}
	for _, namespace := range append(namespaces, "none") {
		var want []schedule.Key
		if namespace != "none" {
			for _, id := range slices.Sorted(slices.Values(awkward)) {
				want = append(want, schedule.Key{Namespace: namespace, ID: id})
			}
		}
		keys, err := kv.Schedules(ctx, b.store, namespace)
		require.NoError(t, err)
		require.Equal(t, want, keys)
		keys, err = kv.SchedulesAndTraces(ctx, b.store, namespace)
		require.NoError(t, err)
		require.Equal(t, want, keys)
	}
	for _, id := range awkward {
		key := schedule.Key{Namespace: "a", ID: id}
		record, err := kv.Get(ctx, b.store, kv.Definition(key))
		require.NoError(t, err)
		require.Equal(t, key, record.Value.Key())
		backfills, err := kv.Backfills(ctx, b.store, key)
		require.NoError(t, err)
		require.Equal(t, []kv.Key[wire.BackfillState]{kv.Backfill(key, "b0"), kv.Backfill(key, "b1")}, backfills)
	}
}

func TestListsLeaveOutWhatIsDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	revision, err := kv.Put(ctx, b.store, kv.Backfill(key, "b0"), &wire.BackfillState{}, 0)
	require.NoError(t, err)
	require.NoError(t, kv.Delete(ctx, b.store, kv.Backfill(key, "b0"), revision))
	backfills, err := kv.Backfills(ctx, b.store, key)
	require.NoError(t, err)
	require.Empty(t, backfills)

	revision, err = kv.Put(ctx, b.store, kv.Definition(key), &wire.Definition{}, 0)
	require.NoError(t, err)
	require.NoError(t, kv.Delete(ctx, b.store, kv.Definition(key), revision))
	keys, err := kv.Schedules(ctx, b.store, key.Namespace)
	require.NoError(t, err)
	require.Empty(t, keys)
	keys, err = kv.SchedulesAndTraces(ctx, b.store, key.Namespace)
	require.NoError(t, err)
	require.Equal(t, []schedule.Key{key}, keys, "a trace is left")
}

// TestDefinitionForAsksTheLeaderWhenItMust. Here the only replica is the leader; whether it is asked once more shows by the
// number of requests.
func TestDefinitionForAsksTheLeaderWhenItMust(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	bucket := b.names.StateBucket(b.store.ShardOf(key))
	asked, err := b.js.Conn().SubscribeSync("$JS.API.DIRECT.GET.KV_" + bucket + ".>")
	require.NoError(t, err)
	asks := func(wakes ...wire.Wake) bool {
		_, err := kv.DefinitionFor(ctx, b.store, key, wakes...)
		if !errors.Is(err, kv.ErrNotFound) {
			require.NoError(t, err)
		}
		require.NoError(t, b.js.Conn().Flush())
		n, _, err := asked.Pending()
		require.NoError(t, err)
		for range n {
			_, err := asked.NextMsg(time.Second)
			require.NoError(t, err)
		}
		return n > 1
	}
	_, err = kv.GetLeader(ctx, b.store, kv.Definition(key)) // by now it is known that there is one replica
	require.ErrorIs(t, err, kv.ErrNotFound)
	_, err = asked.NextMsg(time.Second)
	require.NoError(t, err)
	assert.True(t, asks(), "a replica's word that there is none is not enough")
	_, err = kv.Put(ctx, b.store, kv.Definition(key), &wire.Definition{Incarnation: "i", Version: 3}, 0)
	require.NoError(t, err)
	assert.False(t, asks(), "no wake")
	assert.False(t, asks(wire.Wake{}), "one that says nothing")
	assert.False(t, asks(wire.Wake{Incarnation: "i", Version: 3}, wire.Wake{Version: 2}, wire.Wake{Incarnation: "i"}))
	assert.True(t, asks(wire.Wake{Version: 4}), "newer")
	assert.True(t, asks(wire.Wake{}, wire.Wake{Incarnation: "i", Version: 4}), "one of several is newer")
	assert.True(t, asks(wire.Wake{Incarnation: "j", Version: 1}), "another incarnation")
	b.write(kv.Definition(key).String(), []byte("nonsense"))
	_, err = kv.DefinitionFor(ctx, b.store, key, wire.Wake{Version: 4})
	assert.ErrorIs(t, err, kv.ErrCorrupt)
}

func TestRetryConflicts(t *testing.T) {
	t.Parallel()
	conflict, unconfirmed := fmt.Errorf("wrapped: %w", kv.ErrConflict), fmt.Errorf("before that: %w", kv.ErrUnconfirmed)
	for name, test := range map[string]struct {
		errs  []error
		calls int
		want  string
	}{
		"at once":       {[]error{nil}, 1, ""},
		"after two":     {[]error{conflict, conflict, nil}, 3, ""},
		"another error": {[]error{conflict, errors.New("away")}, 2, "away"},
		"unconfirmed":   {[]error{unconfirmed, conflict, unconfirmed, nil}, 4, ""},
		"conflicts only": {
			[]error{unconfirmed, conflict, conflict, conflict, conflict}, 5,
			"kv: gave up after 5 attempts; the last one: wrapped: kv: record has another revision",
		},
		"never confirmed": {
			[]error{unconfirmed, unconfirmed, unconfirmed, unconfirmed, unconfirmed}, 5,
			"kv: gave up after 5 attempts; the last one: before that: kv: a replica says so, and the leader has not confirmed it",
		},
	} {
		calls := 0
		err := kv.RetryConflicts(func(again bool) error {
			assert.Equal(t, calls > 0, again, name)
			calls++
			return test.errs[calls-1]
		})
		assert.Equal(t, test.calls, calls, name)
		if test.want == "" {
			assert.NoError(t, err, name)
		} else {
			assert.EqualError(t, err, test.want, name)
		}
		assert.NotErrorIs(t, err, kv.ErrConflict, "the loop would not know what to do with it")
		assert.NotErrorIs(t, err, kv.ErrUnconfirmed, name)
	}
}

// TestOfManyWritersOneWins on one node.
func TestOfManyWritersOneWins(t *testing.T) {
	t.Parallel()
	competition(setup(t))
}

// TestConflictsOnACluster, where the server answers with another code.
func TestConflictsOnACluster(t *testing.T) {
	t.Parallel()
	cluster := natstest.Cluster(t, 3)
	_, js := natstest.Connect(t, cluster.URLs())
	b := setupOn(t, js, topology.Settings{Shards: 1, Replicas: 3})
	// Reads from any replica may lag behind, so only what does not depend on them.
	k, value := kv.Generator(key), wire.GeneratorState{Incarnation: "i"}
	first, err := kv.Put(t.Context(), b.store, k, &value, 0)
	require.NoError(t, err)
	_, err = kv.Put(t.Context(), b.store, k, &value, 0)
	require.ErrorIs(t, err, kv.ErrConflict)
	second, err := kv.Put(t.Context(), b.store, k, &value, first)
	require.NoError(t, err)
	_, err = kv.Put(t.Context(), b.store, k, &value, first)
	require.ErrorIs(t, err, kv.ErrConflict)
	require.ErrorIs(t, kv.Delete(t.Context(), b.store, k, first), kv.ErrConflict)
	asked, err := js.Conn().SubscribeSync("$JS.API.STREAM.MSG.GET.>")
	require.NoError(t, err)
	for range 2 { // the first finds out how many replicas there are
		record, err := kv.GetLeader(t.Context(), b.store, k)
		require.NoError(t, err)
		require.Equal(t, second, record.Revision, "the leader has the newest")
		_, err = asked.NextMsg(time.Second)
		require.NoError(t, err, "the leader is asked")
	}
	require.NoError(t, kv.Delete(t.Context(), b.store, k, second))
	_, err = kv.GetLeader(t.Context(), b.store, k)
	require.ErrorIs(t, err, kv.ErrNotFound)
	competition(b)
}

// competition has writers create, replace and delete one record together. Each step has one winner, and the others are
// told that they conflict and nothing else.
func competition(b *testBundle) {
	b.Helper()
	k, value := kv.Generator(key), wire.GeneratorState{Incarnation: "i"}
	ctx := b.Context()
	for range 20 {
		revision := race(b, func() (uint64, error) { return kv.Put(ctx, b.store, k, &value, 0) })
		revision = race(b, func() (uint64, error) { return kv.Put(ctx, b.store, k, &value, revision) })
		race(b, func() (uint64, error) { return 0, kv.Delete(ctx, b.store, k, revision) })
	}
}

func race(b *testBundle, step func() (uint64, error)) (revision uint64) {
	b.Helper()
	const writers = 8
	var mu sync.Mutex
	var running sync.WaitGroup
	won := 0
	for range writers {
		running.Go(func() {
			got, err := step()
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
				revision = got
				return
			}
			assert.ErrorIs(b, err, kv.ErrConflict)
		})
	}
	running.Wait()
	require.Equal(b, 1, won)
	return revision
}

// TestInsert refuses a key that had a record not long ago, where Put takes it.
func TestInsert(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k, value := kv.Backfill(key, "t1"), wire.BackfillState{Incarnation: "i", ID: "t1"}
	revision, err := kv.Insert(t.Context(), b.store, k, &value)
	require.NoError(t, err)
	b.requireRecord(func() (any, error) { return kv.Get(t.Context(), b.store, k) },
		kv.Record[wire.BackfillState]{Value: value, Revision: revision})
	_, err = kv.Insert(t.Context(), b.store, k, &value)
	require.ErrorIs(t, err, kv.ErrConflict)
	require.NoError(t, kv.Delete(t.Context(), b.store, k, revision))
	_, err = kv.Insert(t.Context(), b.store, k, &value)
	require.ErrorIs(t, err, kv.ErrConflict, "the trace that is left")
	_, err = kv.Put(t.Context(), b.store, k, &value, 0)
	require.NoError(t, err)
}
