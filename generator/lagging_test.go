package generator

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// lagging is a bucket whose replicas go on answering with an old entry of one key.
type lagging struct {
	kv.Buckets
	key string
	old kv.Entry
}

func (l *lagging) Get(ctx context.Context, bucket, key string) (kv.Entry, error) {
	if key == l.key {
		return l.old, nil
	}
	return l.Buckets.Get(ctx, bucket, key)
}

// behind is a pool whose replicas know a record as it is now, whatever is written later.
func (b *testBundle) behind(key string) *Pool {
	b.Helper()
	buckets, err := kv.OpenBuckets(b.Context(), b.js, b.names, 1)
	require.NoError(b, err)
	old, err := buckets.GetLeader(b.Context(), b.names.StateBucket(0), key)
	require.NoError(b, err)
	replica := &lagging{Buckets: buckets, key: key, old: old}
	return b.pool(func(c *Config) { c.Store = kv.NewStore(replica, b.names, 1) })
}

func (b *testBundle) handle(p *Pool, id string, wake schedule.Wake) {
	b.Helper()
	verdict := p.Handle(b.Context(), keyOf(id), []loop.Message[schedule.Wake]{{Body: wake}})
	require.Equal(b, loop.Done(), verdict)
}

// TestALaggingReplicaBringsNoDeletedScheduleBack: a message that comes after the deletion must make neither a record nor a
// timer.
func TestALaggingReplicaBringsNoDeletedScheduleBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("s", seconds(3600))
	p := b.behind(kv.Definition(keyOf("s")).String())
	require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(keyOf("s")), d.Revision))
	b.handle(p, "s", schedule.Wake{Incarnation: d.Value.Incarnation, Version: 1, Reason: schedule.ReasonDue})
	_, found := b.state("s")
	require.False(t, found)
	require.False(t, b.armed("s"))
}

// TestALaggingReplicaGivesNothingUp: by an old mark, what has been handed over since would be late, and some of it be given
// up for what is newer.
func TestALaggingReplicaGivesNothingUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := time.Now().UTC().Truncate(time.Second)
	d := b.put(schedule.Definition{
		Namespace: "default", ID: "s", Incarnation: "of-s", Version: 1, CreateTime: now.Add(-time.Minute),
		Schedule: schedule.Schedule{
			Spec:     schedule.Spec{At: []time.Time{now.Add(-40 * time.Second), now.Add(-30 * time.Second)}},
			Policies: schedule.Policies{CatchupMode: schedule.CatchupLatest},
		},
	}, 0)
	state := schedule.GeneratorState{Incarnation: "of-s", Version: 1, Mark: d.Value.CreateTime, HandedOff: d.Value.CreateTime}
	revision, err := kv.Put(t.Context(), b.store, kv.Generator(keyOf("s")), &state, 0)
	require.NoError(t, err)
	p := b.behind(kv.Generator(keyOf("s")).String())
	state.Mark, state.HandedOff = now.Add(-20*time.Second), now.Add(-20*time.Second)
	_, err = kv.Put(t.Context(), b.store, kv.Generator(keyOf("s")), &state, revision)
	require.NoError(t, err)
	b.handle(p, "s", schedule.Wake{Incarnation: "of-s", Version: 1, Reason: schedule.ReasonDue})
	require.Empty(t, b.handOffs("s"))
}

// TestForgetWakesTheBackfiller: a frontend that died has left a request of a schedule that is gone.
func TestForgetWakesTheBackfiller(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("s", seconds(3600))
	p := b.pool()
	b.handle(p, "s", schedule.Wake{Version: 1, Reason: schedule.ReasonCreated})
	request := schedule.BackfillState{Incarnation: d.Value.Incarnation, ID: "t1", Trigger: &schedule.Trigger{}}
	_, err := kv.Put(t.Context(), b.store, kv.Backfill(keyOf("s"), "t1"), &request, 0)
	require.NoError(t, err)
	require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(keyOf("s")), d.Revision))
	b.handle(p, "s", schedule.Wake{Version: 2, Reason: schedule.ReasonGuard})
	require.NotNil(t, b.last(b.names.Backfill(0, keyOf("s"), "t1")))
}
