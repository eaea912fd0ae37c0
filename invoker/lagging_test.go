package invoker_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// lagging is a bucket whose replicas have heard of no write of a key since it was frozen.
type lagging struct {
	kv.Buckets
	key    string
	frozen atomic.Pointer[kv.Entry]
}

func (l *lagging) Get(ctx context.Context, bucket, key string) (kv.Entry, error) {
	if old := l.frozen.Load(); old != nil && key == l.key {
		return *old, nil
	}
	return l.Buckets.Get(ctx, bucket, key)
}

// TestALaggingReplicaLosesNoCompletion: to a replica that does not know of the run, its completion is one of nobody.
func TestALaggingReplicaLosesNoCompletion(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	buckets, err := kv.OpenBuckets(t.Context(), s.js, s.names, 1)
	require.NoError(t, err)
	replica := &lagging{Buckets: buckets, key: kv.Invoker(s.key).String()}
	s.run(s.newPool(func(c *invoker.Config) { c.Store = kv.NewStore(replica, s.names, 1) }))
	s.due(1)
	s.finish(s.take(), schedule.StatusCompleted, "")
	s.awaitPhase(1, schedule.PhaseCompleted)
	s.idle()

	old, err := buckets.Get(t.Context(), s.names.StateBucket(0), replica.key)
	require.NoError(t, err)
	replica.frozen.Store(&old)
	s.due(2)
	run := s.take()
	s.awaitPhase(2, schedule.PhaseStarted)
	s.finish(run, schedule.StatusCompleted, "")
	s.awaitPhase(2, schedule.PhaseCompleted)
}

// TestALaggingReplicaPausesNothing: it knows of the run whose failure has paused the schedule, and not of that. Somebody has
// unpaused the schedule since, and the failure comes again.
func TestALaggingReplicaPausesNothing(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, func(d *wire.Definition) { d.Schedule.Policies.PauseOnFailure = true })
	buckets, err := kv.OpenBuckets(t.Context(), s.js, s.names, 1)
	require.NoError(t, err)
	replica := &lagging{Buckets: buckets, key: kv.Invoker(s.key).String()}
	invokers, e := s.newPool(), s.handOff("", 1)
	s.handle(invokers, invoker.Message{Enqueue: &e})
	failed := completionOf(s.take())
	failed.Completion.Status = schedule.StatusFailed
	old, err := buckets.Get(t.Context(), s.names.StateBucket(0), replica.key)
	require.NoError(t, err)
	s.handle(invokers, failed)
	record, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
	require.NoError(t, err)
	require.True(t, record.Value.Schedule.State.Paused)
	record.Value.Version++
	record.Value.Schedule.State.Paused = false
	_, err = kv.Put(t.Context(), s.store, kv.Definition(s.key), &record.Value, record.Revision)
	require.NoError(t, err)

	replica.frozen.Store(&old)
	s.handle(s.newPool(func(c *invoker.Config) { c.Store = kv.NewStore(replica, s.names, 1) }), failed)
	require.Equal(t, record.Value.Version, s.definition().Version)
	require.False(t, s.definition().Schedule.State.Paused)
}

// TestALaggingReplicaBringsNoDeletedScheduleBack: a completion that comes after the deletion of its schedule must not make
// a record, which nobody would ever remove.
func TestALaggingReplicaBringsNoDeletedScheduleBack(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	buckets, err := kv.OpenBuckets(t.Context(), s.js, s.names, 1)
	require.NoError(t, err)
	replica := &lagging{Buckets: buckets, key: kv.Definition(s.key).String()}
	invokers := s.newPool(func(c *invoker.Config) { c.Store = kv.NewStore(replica, s.names, 1) })
	start := s.start(1)

	old, err := buckets.Get(t.Context(), s.names.StateBucket(0), replica.key)
	require.NoError(t, err)
	replica.frozen.Store(&old)
	require.NoError(t, kv.Delete(t.Context(), s.store, kv.Definition(s.key), old.Revision))
	s.handle(invokers, invoker.Message{Completion: &schedule.Completion{
		RequestID: start.RequestID, Status: schedule.StatusCompleted,
	}})
	_, err = kv.GetLeader(t.Context(), s.store, kv.Invoker(s.key))
	require.ErrorIs(t, err, kv.ErrNotFound)
}

// TestAResultIsNotLeftBehind: it was written while another process forgot the schedule, and the record was in vain.
func TestAResultIsNotLeftBehind(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	start := s.start(1)
	record, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
	require.NoError(t, err)
	_, err = kv.Put(t.Context(), s.store, kv.Result(s.key), &wire.Result{Incarnation: record.Value.Incarnation}, 0)
	require.NoError(t, err)
	require.NoError(t, kv.Delete(t.Context(), s.store, kv.Definition(s.key), record.Revision))
	s.handle(s.newPool(), invoker.Message{Completion: &schedule.Completion{
		RequestID: start.RequestID, Status: schedule.StatusCompleted,
	}})
	_, err = kv.GetLeader(t.Context(), s.store, kv.Result(s.key))
	require.ErrorIs(t, err, kv.ErrNotFound)
}
