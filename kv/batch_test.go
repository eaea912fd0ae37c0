package kv_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func keyNumber(i int) schedule.Key {
	return schedule.Key{Namespace: "default", ID: fmt.Sprintf("s.%03d", i)}
}

// put writes a record that does not exist.
func put[T any](b *testBundle, k kv.Key[T], value T) uint64 {
	b.Helper()
	revision, err := kv.Put(b.Context(), b.store, k, &value, 0)
	require.NoError(b, err)
	return revision
}

// requireSame checks that a record of a batch is what a read of its own gives.
func requireSame[T any](b *testBundle, batch *kv.Batch, k kv.Key[T]) {
	b.Helper()
	want, wantErr := kv.Get(b.Context(), b.store, k)
	got, err := kv.From(b.Context(), batch, k)
	require.Equal(b, want, got)
	require.Equal(b, wantErr, err)
}

func requireSameRecords(b *testBundle, batch *kv.Batch, key schedule.Key) {
	b.Helper()
	requireSame(b, batch, kv.Definition(key))
	requireSame(b, batch, kv.Generator(key))
	requireSame(b, batch, kv.Invoker(key))
}

// TestABatchIsWhatSingleReadsGive: of records that are there, have been deleted, cannot be decoded, or have never been; of
// more than one request asks for, in several shards.
func TestABatchIsWhatSingleReadsGive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const count = 400
	keys := make([]schedule.Key, count)
	for i := range keys {
		keys[i] = keyNumber(i)
		if i%10 == 0 {
			put(b, kv.Definition(keys[i]), wire.Definition{ID: keys[i].ID, Version: uint64(i)})
		}
		if i%20 == 0 {
			put(b, kv.Invoker(keys[i]), wire.InvokerState{Incarnation: keys[i].ID})
		}
	}
	deleted := kv.Definition(keyNumber(10))
	record, err := kv.Get(t.Context(), b.store, deleted)
	require.NoError(t, err)
	require.NoError(t, kv.Delete(t.Context(), b.store, deleted, record.Revision))
	keys = append(keys, key)
	b.write(kv.Generator(key).String(), []byte("\x01nonsense"))

	batch, err := kv.ReadBatch(t.Context(), b.store, keys...)
	require.NoError(t, err)
	for _, key := range keys {
		requireSameRecords(b, batch, key)
	}
	_, err = kv.From(t.Context(), batch, deleted)
	require.ErrorIs(t, err, kv.ErrNotFound)
	_, err = kv.From(t.Context(), batch, kv.Generator(key))
	require.ErrorIs(t, err, kv.ErrCorrupt)
	pools, err := kv.ReadPools(t.Context(), b.store, keyNumber(20))
	require.NoError(t, err)
	requireSame(b, pools, kv.Generator(keyNumber(20)))
	requireSame(b, pools, kv.Invoker(keyNumber(20)))
	none, err := kv.ReadBatch(t.Context(), b.store)
	require.NoError(t, err)
	require.NotNil(t, none)
}

// TestABatchOfLargeRecords is cut off after a megabyte. What is missing is read by itself.
func TestABatchOfLargeRecords(t *testing.T) {
	t.Parallel()
	b := setup(t)
	input, err := json.Marshal(strings.Repeat("x", 300<<10))
	require.NoError(t, err)
	var keys []schedule.Key
	for i := range 15 {
		keys = append(keys, keyNumber(i))
		d := wire.Definition{ID: keys[i].ID}
		d.Schedule.Action.Input = input
		put(b, kv.Definition(keys[i]), d)
	}
	batch, err := kv.ReadBatch(t.Context(), b.store, keys...)
	require.NoError(t, err)
	for _, key := range keys {
		requireSameRecords(b, batch, key)
	}
}

// TestBackfillsOfABatch beside the traces of 1,500 that are over: JetStream looks at 1,024.
func TestBackfillsOfABatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	requireKeys := func(batch *kv.Batch, keys []kv.Key[wire.BackfillState], want []string) {
		t.Helper()
		var got []string
		for _, k := range keys {
			got = append(got, kv.BackfillID(k))
			record, err := kv.From(t.Context(), batch, k)
			require.NoError(t, err)
			require.Equal(t, kv.BackfillID(k), record.Value.ID)
		}
		require.Equal(t, want, got)
	}
	requireBackfills := func(want ...string) {
		t.Helper()
		pending, err := kv.ReadBackfills(t.Context(), b.store, key)
		require.NoError(t, err)
		batch, keys, err := kv.ReadWhole(t.Context(), b.store, key)
		require.NoError(t, err)
		requireKeys(batch, keys, want)
		requireKeys(batch, pending, want)
		requireSameRecords(b, batch, key)
	}
	requireBackfills()
	put(b, kv.Definition(key), wire.Definition{ID: key.ID})
	put(b, kv.Invoker(key), wire.InvokerState{Incarnation: "i"})
	requireBackfills()
	for _, id := range []string{"b2", "b1", "b3"} {
		put(b, kv.Backfill(key, id), wire.BackfillState{ID: id})
	}
	put(b, kv.Backfill(schedule.Key{Namespace: "default", ID: "nightly2"}, "other"), wire.BackfillState{ID: "other"})
	requireBackfills("b1", "b2", "b3")

	record, err := kv.Get(t.Context(), b.store, kv.Backfill(key, "b2"))
	require.NoError(t, err)
	require.NoError(t, kv.Delete(t.Context(), b.store, kv.Backfill(key, "b2"), record.Revision))
	requireBackfills("b1", "b3")
	b.bury(1500)
	requireBackfills("b1", "b3")

	ids := []string{"none", "b1", "b2", "b3"}
	for i := range 300 {
		ids = append(ids, fmt.Sprint("over-", i))
	}
	pending, err := kv.PendingBackfills(t.Context(), b.store, key, ids)
	require.NoError(t, err)
	require.Equal(t, []string{"b1", "b3"}, pending)
	pending, err = kv.PendingBackfills(t.Context(), b.store, key, nil)
	require.NoError(t, err)
	require.Empty(t, pending)
}

// bury leaves the traces of many backfills that are over, as Delete does.
func (b *testBundle) bury(count int) {
	b.Helper()
	bucket := b.names.StateBucket(b.store.ShardOf(key))
	for i := range count {
		_, err := b.js.PublishMsgAsync(&nats.Msg{
			Subject: "$KV." + bucket + "." + kv.Backfill(key, fmt.Sprint("over-", i)).String(),
			Header:  nats.Header{"KV-Operation": {"PURGE"}, jetstream.MsgRollup: {jetstream.MsgRollupSubject}},
		})
		require.NoError(b, err)
	}
	select {
	case <-b.js.PublishAsyncComplete():
	case <-time.After(time.Minute):
		b.Fatal("not all traces were stored")
	}
}

// TestWholeThatIsCutOff by its size, after the first of four large records.
func TestWholeThatIsCutOff(t *testing.T) {
	t.Parallel()
	b := setup(t)
	large := strings.Repeat("x", 700<<10)
	for _, id := range []string{"b1", "b2", "b3"} {
		put(b, kv.Backfill(key, id), wire.BackfillState{ID: id, Trigger: &schedule.Trigger{Note: large}})
	}
	put(b, kv.Definition(key), wire.Definition{ID: large})
	batch, keys, err := kv.ReadWhole(t.Context(), b.store, key)
	require.NoError(t, err)
	require.Len(t, keys, 3)
	for _, k := range keys {
		requireSame(b, batch, k)
	}
	requireSameRecords(b, batch, key)
}

func TestABatchThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := kv.ReadBatch(ctx, b.store, key)
	require.ErrorIs(t, err, context.Canceled)
	_, err = kv.ReadBackfills(ctx, b.store, key)
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = kv.ReadWhole(ctx, b.store, key)
	require.ErrorIs(t, err, context.Canceled)
	_, err = kv.PendingBackfills(ctx, b.store, key, []string{"b1"})
	require.ErrorIs(t, err, context.Canceled)
}

// TestTracesAreNoRecords: neither those that a client leaves, nor those that the server makes where a record has expired.
func TestTracesAreNoRecords(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		header nats.Header
		trace  bool
	}{
		"a record":                {},
		"a record that expires":   {header: nats.Header{"Nats-TTL": {"1h0m0s"}}},
		"deleted":                 {header: nats.Header{"KV-Operation": {"DEL"}}, trace: true},
		"purged":                  {header: nats.Header{"KV-Operation": {"PURGE"}}, trace: true},
		"expired":                 {header: nats.Header{"Nats-Marker-Reason": {"MaxAge"}}, trace: true},
		"purged by the server":    {header: nats.Header{"Nats-Marker-Reason": {"Purge"}}, trace: true},
		"removed from the stream": {header: nats.Header{"Nats-Marker-Reason": {"Remove"}}, trace: true},
	} {
		require.Equal(t, test.trace, kv.IsTombstone(test.header), name)
	}
}

// TestAnExpiredRecordIsGone: the server leaves a trace that no client has written. It is no record in a batch, and none by the word
// of the leader, which is asked in another way where there are several replicas.
func TestAnExpiredRecordIsGone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	shard := b.store.ShardOf(key)
	bucket, record := b.names.StateBucket(shard), kv.Definition(key).String()
	_, err := b.js.PublishMsg(t.Context(), &nats.Msg{
		Subject: subjects.BucketSubject(bucket, record), Header: nats.Header{jetstream.MsgTTLHeader: {"1s"}}, Data: []byte("{}"),
	})
	require.NoError(t, err)
	natstest.Eventually(t, natstest.Patience, "the server has left a trace", func() bool {
		last, err := bus.LeaderLast(t.Context(), b.js, subjects.BucketStream(bucket), subjects.BucketSubject(bucket, record))
		return err == nil && last.Header.Get(jetstream.MarkerReasonHeader) != ""
	})
	now, err := kv.Now(t.Context(), b.store)
	require.NoError(t, err)
	batch, err := kv.ReadDefinitions(t.Context(), b.store, now, key)
	require.NoError(t, err)
	_, err = kv.From(t.Context(), batch, kv.Definition(key))
	require.ErrorIs(t, err, kv.ErrNotFound)
	_, err = kv.GetLeader(t.Context(), b.store, kv.Definition(key))
	require.ErrorIs(t, err, kv.ErrNotFound)
}
