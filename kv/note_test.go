package kv_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestTrace: what is noted is written with the deletion, and a record is written over it at its revision.
func TestTrace(t *testing.T) {
	t.Parallel()
	for name, note := range map[string]kv.Note{
		"nothing": {},
		"runs":    {Deletion: &wire.Deletion{Incarnation: "i", Runs: schedule.RunsCancel}},
		"all":     {Deletion: &wire.Deletion{Incarnation: "i", RequestID: " ä b+%20\t\"é/ ", Runs: schedule.RunsLeave}},
		"closed":  {Deletion: &wire.Deletion{Incarnation: "i", RequestID: "r"}, Closed: "i"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			k, value := kv.Definition(key), wire.Definition{Incarnation: "i"}
			none, err := kv.Trace(t.Context(), b.store, k)
			require.NoError(t, err)
			require.Zero(t, none, "never written")
			revision, err := kv.Put(t.Context(), b.store, k, &value, 0)
			require.NoError(t, err)
			none, err = kv.Trace(t.Context(), b.store, k)
			require.NoError(t, err)
			require.Zero(t, none, "it is there")

			require.NoError(t, kv.DeleteNoting(t.Context(), b.store, k, revision, note))
			trace, err := kv.Trace(t.Context(), b.store, k)
			require.NoError(t, err)
			require.Equal(t, note, trace.Value)
			last, err := kv.LastEnding(t.Context(), b.store, key)
			require.NoError(t, err)
			require.Equal(t, note, last)

			value.Predecessor, value.PredecessorClosed = note.Deletion, note.Closed
			_, err = kv.Put(t.Context(), b.store, k, &value, trace.Revision)
			require.NoError(t, err)
			last, err = kv.LastEnding(t.Context(), b.store, key)
			require.NoError(t, err)
			require.Equal(t, note, last)
		})
	}
}

// TestNoteOfAnEarlierRelease says what becomes of the runs, and no more.
func TestNoteOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	note := kv.NoteIn(nats.Header{"Carillon-Note": {"terminate"}})
	require.Equal(t, kv.Note{Deletion: &wire.Deletion{Runs: schedule.RunsTerminate}}, note)
	require.Equal(t, schedule.RunsTerminate, note.Deletion.RunsOf("any"))
	require.Zero(t, kv.NoteIn(nats.Header{"Carillon-Deletion": {"i"}}))
	require.Zero(t, kv.NoteIn(nil))
}

// betweenReads are buckets in which something happens once, before a trace is read.
type betweenReads struct {
	kv.Buckets
	before func()
}

func (b *betweenReads) Trace(ctx context.Context, bucket, key string) (kv.Note, uint64, error) {
	if before := b.before; before != nil {
		b.before = nil
		before()
	}
	return b.Buckets.Trace(ctx, bucket, key)
}

// TestLastDeletionWhileTheNextIsCreated: the next schedule of the ID is created when its definition has been looked for in vain, and
// before the trace is read, which it is written over.
func TestLastDeletionWhileTheNextIsCreated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k, value := kv.Definition(key), wire.Definition{Incarnation: "i"}
	deletion := &wire.Deletion{Incarnation: "i", RequestID: "r1"}
	revision, err := kv.Put(t.Context(), b.store, k, &value, 0)
	require.NoError(t, err)
	require.NoError(t, kv.DeleteNoting(t.Context(), b.store, k, revision, kv.Note{Deletion: deletion}))
	inner, err := kv.OpenBuckets(t.Context(), b.js, b.names, 3)
	require.NoError(t, err)
	buckets := &betweenReads{Buckets: inner, before: func() {
		_, err := kv.Put(t.Context(), b.store, k, &wire.Definition{Incarnation: "next", Predecessor: deletion}, 0)
		require.NoError(t, err)
	}}
	last, err := kv.LastDeletion(t.Context(), kv.NewStore(buckets, b.names, 3), key)
	require.NoError(t, err)
	require.Nil(t, buckets.before)
	require.Equal(t, deletion, last)
}
