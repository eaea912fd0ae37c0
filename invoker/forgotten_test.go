package invoker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
)

// TestForgottenBeforeTheFirstRecord: while a process works by the definition it has read, the schedule is deleted, and
// another process forgets it, which has no record yet. None comes into being.
func TestForgottenBeforeTheFirstRecord(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	definition, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
	require.NoError(t, err)
	e := s.handOff("", 1)
	other := s.newPool()
	calls := 0
	pool := s.newPool(clock(func() time.Time {
		if calls++; calls == 2 { // the first is before the definition is read
			require.NoError(t, kv.Delete(t.Context(), s.store, kv.Definition(s.key), definition.Revision))
			s.handle(other, wakeUp)
		}
		return time.Now()
	}))
	s.handle(pool, invoker.Message{Enqueue: &e})
	_, err = kv.GetLeader(t.Context(), s.store, kv.Invoker(s.key))
	require.ErrorIs(t, err, kv.ErrNotFound)
	require.Zero(t, s.queued())
}

// TestFirstRecordAfterAnEarlierSchedule of the same ID, of which there is a trace.
func TestFirstRecordAfterAnEarlierSchedule(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NoError(t, kv.LeaveTrace(t.Context(), s.store, kv.Invoker(s.key)))
	require.NoError(t, kv.LeaveTrace(t.Context(), s.store, kv.Invoker(s.key)), "there is one")
	e := s.handOff("", 1)
	s.handle(s.newPool(), invoker.Message{Enqueue: &e})
	require.Len(t, s.record().Starts, 1)
	require.ErrorIs(t, kv.LeaveTrace(t.Context(), s.store, kv.Invoker(s.key)), kv.ErrConflict)
}
