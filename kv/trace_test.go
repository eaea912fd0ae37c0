package kv_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
)

// TestLeaveTrace: a trace refuses a first record, and is none.
func TestLeaveTrace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k, value := kv.Generator(key), wire.GeneratorState{Incarnation: "i"}
	for range 2 {
		require.NoError(t, kv.LeaveTrace(t.Context(), b.store, k))
		_, err := kv.GetLeader(t.Context(), b.store, k)
		require.ErrorIs(t, err, kv.ErrNotFound)
	}
	stream, err := b.js.Stream(t.Context(), "KV_"+b.names.StateBucket(0))
	require.NoError(t, err)
	require.EqualValues(t, 1, stream.CachedInfo().State.LastSeq, "it takes one write, and the second time none")
	_, err = kv.Insert(t.Context(), b.store, k, &value)
	require.ErrorIs(t, err, kv.ErrConflict)

	_, err = kv.Put(t.Context(), b.store, k, &value, 0)
	require.NoError(t, err)
	require.ErrorIs(t, kv.LeaveTrace(t.Context(), b.store, k), kv.ErrConflict, "there is a record")
}

func TestPutFirst(t *testing.T) {
	t.Parallel()
	const never, trace, record = "never written", "a trace", "a record"
	gone := func(context.Context) error { return kv.ErrConflict }
	deletedMeanwhile := func() func(context.Context) error {
		asked := 0
		return func(context.Context) error {
			if asked++; asked > 1 {
				return kv.ErrConflict
			}
			return nil
		}
	}
	for name, test := range map[string]struct {
		before  string
		known   time.Duration
		there   func(context.Context) error
		written bool
	}{
		"never written":                        {before: never, there: gone, written: true},
		"never written, known long ago":        {before: never, known: kv.TraceAge, there: gone},
		"a trace of the schedule":              {before: trace, there: gone},
		"a trace of an earlier schedule":       {before: trace, there: func(context.Context) error { return nil }, written: true},
		"deleted while it is written":          {before: trace, there: deletedMeanwhile()},
		"a record of another process":          {before: record, there: func(context.Context) error { return nil }},
		"a record, and the schedule is gone":   {before: record, there: gone},
		"never written, and still there later": {before: never, known: time.Hour, there: func(context.Context) error { return nil }, written: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			k := kv.Generator(key)
			switch test.before {
			case trace:
				require.NoError(t, kv.LeaveTrace(t.Context(), b.store, k))
			case record:
				_, err := kv.Put(t.Context(), b.store, k, &wire.GeneratorState{Incarnation: "other"}, 0)
				require.NoError(t, err)
			}
			revision, err := kv.PutFirst(t.Context(), b.store, k, &wire.GeneratorState{Incarnation: "own"}, test.known, test.there)
			found, readErr := kv.OrZero(kv.GetLeader(t.Context(), b.store, k))
			require.NoError(t, readErr)
			if test.written {
				require.NoError(t, err)
				require.Equal(t, revision, found.Revision)
				require.Equal(t, "own", found.Value.Incarnation)
				return
			}
			require.ErrorIs(t, err, kv.ErrConflict)
			require.NotEqual(t, "own", found.Value.Incarnation)
			require.Equal(t, test.before == record, found.Revision != 0)
		})
	}
}
