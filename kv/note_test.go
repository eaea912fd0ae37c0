package kv_test

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestTrace: what is noted is written with the deletion, and a record is written over it at its revision.
func TestTrace(t *testing.T) {
	t.Parallel()
	for name, note := range map[string]kv.Note{
		"nothing": {},
		"runs":    {Runs: schedule.RunsCancel},
		"all":     {Runs: schedule.RunsLeave, Deletion: &schedule.Deletion{Incarnation: "i", RequestID: " ä b+%20\t\"é/ "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			k, value := kv.Definition(key), schedule.Definition{Incarnation: "i"}
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
			last, err := kv.LastDeletion(t.Context(), b.store, key)
			require.NoError(t, err)
			require.Equal(t, note.Deletion, last)

			value.Predecessor = note.Deletion
			_, err = kv.Put(t.Context(), b.store, k, &value, trace.Revision)
			require.NoError(t, err)
			last, err = kv.LastDeletion(t.Context(), b.store, key)
			require.NoError(t, err)
			require.Equal(t, note.Deletion, last)
		})
	}
}

// TestNoteOfAnEarlierRelease says what becomes of the runs, and no more.
func TestNoteOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	require.Equal(t, kv.Note{Runs: schedule.RunsTerminate}, kv.NoteIn(nats.Header{"Carillon-Note": {"terminate"}}))
	require.Zero(t, kv.NoteIn(nats.Header{"Carillon-Deletion": {"i"}}))
	require.Zero(t, kv.NoteIn(nil))
}
