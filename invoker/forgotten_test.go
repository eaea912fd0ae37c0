package invoker_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/cache"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestForgottenBeforeTheFirstRecord: while a process works by the definition it has read, the schedule is deleted, and
// another process forgets it, which has no record yet. None comes into being.
func TestForgottenBeforeTheFirstRecord(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
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

// TestNoRecordOfAScheduleThatWasReplaced: a process works by the definition it has read, and by a replica that knows of no
// record. Meanwhile the schedule is deleted and forgotten, with its record, and another of the same ID created. The process
// leaves no record of the first, and tells nothing under the IDs of events that have been told.
func TestNoRecordOfAScheduleThatWasReplaced(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	definition, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
	require.NoError(t, err)
	e := s.handOff(schedule.OverlapAllowAll, 1)
	wide := s.handOff(schedule.OverlapAllowAll, 2, 3)
	wide.From, wide.Starts = e.From, slices.Concat(e.Starts, wide.Starts)
	other := s.newPool()
	calls := 0
	pool := s.newPool(clock(func() time.Time {
		if calls++; calls == 2 { // the first is before the definition is read
			s.handle(other, invoker.Message{Enqueue: &e})
			require.NoError(t, kv.Delete(t.Context(), s.store, kv.Definition(s.key), definition.Revision))
			s.handle(other, wakeUp)
			next := definition.Value
			next.Incarnation = "inc-of-another"
			_, err := kv.Put(t.Context(), s.store, kv.Definition(s.key), &next, 0)
			require.NoError(t, err)
		}
		return time.Now()
	}))
	s.handle(pool, invoker.Message{Enqueue: &wide})
	require.Equal(t, whole, s.events(), "by the other process alone, which has withdrawn the run")
	require.NotEqual(t, definition.Value.Incarnation, s.record().Incarnation)
}

// TestFirstRecordAfterAnEarlierSchedule of the same ID, of which there is a trace.
func TestFirstRecordAfterAnEarlierSchedule(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	require.NoError(t, kv.LeaveTrace(t.Context(), s.store, kv.Invoker(s.key)))
	require.NoError(t, kv.LeaveTrace(t.Context(), s.store, kv.Invoker(s.key)), "there is one")
	e := s.handOff("", 1)
	s.handle(s.newPool(), invoker.Message{Enqueue: &e})
	require.Len(t, s.record().Starts, 1)
	require.ErrorIs(t, kv.LeaveTrace(t.Context(), s.store, kv.Invoker(s.key)), kv.ErrConflict)
}

// cannotPurge fails where a process that forgets a schedule has told of it and has not removed its record yet.
type cannotPurge struct{ bus.Bus }

func (cannotPurge) Purge(context.Context, string, string) error { return nats.ErrTimeout }

// atThePurge is a bus on which something happens before a timer is removed.
type atThePurge struct {
	bus.Bus
	before func()
}

func (a *atThePurge) Purge(ctx context.Context, stream, subject string) error {
	if before := a.before; before != nil {
		a.before = nil
		before()
	}
	return a.Bus.Purge(ctx, stream, subject)
}

// TestForgottenWhileAStartIsMade: a process forgets a schedule, and dies when it has told that a start goes with it. Another
// works by the definition it has read before that. It does not begin what has been given up, and tells nothing else under
// the same event IDs.
func TestForgottenWhileAStartIsMade(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, keepOriginal, func(d *wire.Definition) { d.Schedule.Policies.Overlap = schedule.OverlapBufferAll })
	definition, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
	require.NoError(t, err)
	e := s.handOff("", 1, 2)
	for i := range e.Starts { // by hand, so that they are not too late
		e.Starts[i].Manual = true
	}
	s.handle(s.newPool(), invoker.Message{Enqueue: &e})
	first := s.take()
	own := bus.New(s.js)
	t.Cleanup(own.Close)
	other := s.newPool(func(c *invoker.Config) { c.Bus = cannotPurge{own} })
	calls := 0
	invokers := s.newPool(clock(func() time.Time {
		if calls++; calls == 2 { // the first is before the definition is read
			require.NoError(t, kv.Delete(t.Context(), s.store, kv.Definition(s.key), definition.Revision))
			require.ErrorIs(t, other.Handle(t.Context(), s.key, s.group(false, wakeUp)).Err(), nats.ErrTimeout)
		}
		return time.Now()
	}))
	require.NoError(t, first.msg.DoubleAck(t.Context()))
	s.handle(invokers, invoker.Message{Completion: &schedule.Completion{
		RequestID: first.RequestID, Status: schedule.StatusCompleted, CloseTime: time.Now(),
	}})
	require.ElementsMatch(t, []schedule.EventKind{schedule.EventStarted, schedule.EventDeferred, schedule.EventDropped}, s.events())
	require.Zero(t, s.queued(), "what is given up does not begin")
	_, err = kv.GetLeader(t.Context(), s.store, kv.Invoker(s.key))
	require.ErrorIs(t, err, kv.ErrNotFound)
}

// TestNothingBeginsOnWhatIsBeingForgotten: a process forgets a schedule, and dies when it has given up what waited. The run that
// the record told of goes on, and the record does not tell of it any more. Another process still goes by the definition of
// before, as a replica shows it that lags behind, when a hand-off comes. Nothing begins beside that run.
func TestNothingBeginsOnWhatIsBeingForgotten(t *testing.T) {
	t.Parallel()
	for name, replaced := range map[string]bool{"deleted": false, "replaced": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newInstallation(t, policy(schedule.OverlapBufferAll))
			first, second := s.handOff("", 1), s.handOff("", 2)
			s.put(s.afterHandOff(first))
			s.publishedBefore(first.Starts[0])
			s.take()
			definition, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
			require.NoError(t, err)
			s.gone(definition, replaced)
			dies := s.newPool(func(c *invoker.Config) { c.Bus = &diesWhenForgetting{Bus: s.bus()} })
			require.ErrorIs(t, dies.Handle(t.Context(), s.key, s.group(false, wakeUp)).Err(), nats.ErrTimeout)
			require.Empty(t, s.record().Starts)

			lagging := cache.Definitions()
			lagging.Keep(s.key, definition)
			invokers := s.newPool(func(c *invoker.Config) { c.Definitions = lagging })
			group := s.group(false, invoker.Message{Enqueue: &second})
			group[0].Stored = time.Now()
			require.NoError(t, invokers.Handle(t.Context(), s.key, group).Err())
			require.Len(t, s.left(), 1, "the run of before, and no other")
			require.NotEqual(t, definition.Value.Incarnation, s.record().Incarnation)
		})
	}
}

// gone deletes the definition, and puts that of another schedule of the same ID in its place if it is to be replaced.
func (s *installation) gone(definition kv.Record[wire.Definition], replaced bool) {
	s.t.Helper()
	key := kv.Definition(s.key)
	require.NoError(s.t, kv.DeleteNoting(s.t.Context(), s.store, key, definition.Revision, kv.Note{Deletion: &wire.Deletion{
		Incarnation: definition.Value.Incarnation, Runs: schedule.RunsLeave,
	}}))
	if !replaced {
		return
	}
	next := definition.Value
	next.Incarnation = "inc-of-another"
	_, err := kv.Put(s.t.Context(), s.store, key, &next, 0)
	require.NoError(s.t, err)
}

// bus is one that is closed after the test.
func (s *installation) bus() bus.Bus {
	own := bus.New(s.js)
	s.t.Cleanup(own.Close)
	return own
}

// diesWhenForgetting fails when what waited has been given up, and nobody has been told.
type diesWhenForgetting struct{ bus.Bus }

func (*diesWhenForgetting) PublishAll(context.Context, []*nats.Msg) error { return nats.ErrTimeout }
