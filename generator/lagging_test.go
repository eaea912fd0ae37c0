package generator

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
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

func (b *testBundle) handle(p *Pool, id string, wake wire.Wake) {
	b.Helper()
	verdict := p.Handle(b.Context(), keyOf(id), []loop.Message[wire.Wake]{{Body: wake}})
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
	b.handle(p, "s", wire.Wake{Incarnation: d.Value.Incarnation, Version: 1, Reason: wire.ReasonDue})
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
	d := b.put(wire.Definition{
		Namespace: "default", ID: "s", Incarnation: "of-s", Version: 1, CreateTime: now.Add(-time.Minute),
		Schedule: schedule.Schedule{
			Spec:     schedule.Spec{At: []time.Time{now.Add(-40 * time.Second), now.Add(-30 * time.Second)}},
			Policies: schedule.Policies{CatchupMode: schedule.CatchupLatest},
		},
	}, 0)
	state := wire.GeneratorState{Incarnation: "of-s", Version: 1, Mark: d.Value.CreateTime, HandedOff: d.Value.CreateTime}
	revision, err := kv.Put(t.Context(), b.store, kv.Generator(keyOf("s")), &state, 0)
	require.NoError(t, err)
	p := b.behind(kv.Generator(keyOf("s")).String())
	state.Mark, state.HandedOff = now.Add(-20*time.Second), now.Add(-20*time.Second)
	_, err = kv.Put(t.Context(), b.store, kv.Generator(keyOf("s")), &state, revision)
	require.NoError(t, err)
	b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonDue})
	require.Empty(t, b.handOffs("s"))
}

// TestALaggingReplicaRunsNothingTwiceAfterAnUpdate: an update has given a time a later jitter. By a record of before it was
// handed over, it would be due once more.
func TestALaggingReplicaRunsNothingTwiceAfterAnUpdate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	due := time.Now().UTC().Truncate(time.Second).Add(-30 * time.Second)
	b.put(wire.Definition{
		Namespace: "default", ID: "s", Incarnation: "of-s", Version: 2, CreateTime: due.Add(-time.Minute), UpdateTime: due,
		Schedule: schedule.Schedule{Spec: schedule.Spec{At: []time.Time{due}, Jitter: schedule.Duration(20 * time.Second)}},
	}, 0)
	state := wire.GeneratorState{Incarnation: "of-s", Version: 1, Mark: due.Add(-time.Second), HandedOff: due.Add(-time.Second)}
	revision, err := kv.Put(t.Context(), b.store, kv.Generator(keyOf("s")), &state, 0)
	require.NoError(t, err)
	p := b.behind(kv.Generator(keyOf("s")).String())
	state.Mark, state.HandedOff, state.LastNominal = due, due, due
	_, err = kv.Put(t.Context(), b.store, kv.Generator(keyOf("s")), &state, revision)
	require.NoError(t, err)
	b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: 2, Reason: wire.ReasonUpdated})
	require.Empty(t, b.handOffs("s"))
}

// empty is a bucket whose replicas have nothing of one key yet.
type empty struct {
	kv.Buckets
	key string
}

func (e *empty) Get(ctx context.Context, bucket, key string) (kv.Entry, error) {
	if key == e.key {
		return kv.Entry{}, kv.ErrNotFound
	}
	return e.Buckets.Get(ctx, bucket, key)
}

// TestALaggingReplicaBeginsNothingAnew: by a record that is missing, all since the creation would be handed over once more, by the
// newest version. What an older one has given, and is still on its way, would count as covered by that.
func TestALaggingReplicaBeginsNothingAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := time.Now().UTC().Truncate(time.Second)
	d := b.put(wire.Definition{
		Namespace: "default", ID: "s", Incarnation: "of-s", Version: 2, CreateTime: now.Add(-time.Minute), UpdateTime: now.Add(-20 * time.Second),
		Schedule: schedule.Schedule{Spec: schedule.Spec{At: []time.Time{now.Add(-30 * time.Second), now.Add(-10 * time.Second)}}},
	}, 0)
	handedOff := now.Add(-25 * time.Second)
	state := wire.GeneratorState{Incarnation: "of-s", Version: 1, Mark: handedOff, HandedOff: handedOff}
	_, err := kv.Put(t.Context(), b.store, kv.Generator(keyOf("s")), &state, 0)
	require.NoError(t, err)
	buckets, err := kv.OpenBuckets(t.Context(), b.js, b.names, 1)
	require.NoError(t, err)
	replica := &empty{Buckets: buckets, key: kv.Generator(keyOf("s")).String()}
	p := b.pool(func(c *Config) { c.Store = kv.NewStore(replica, b.names, 1) })
	b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: 2, Reason: wire.ReasonUpdated})
	handOffs := b.handOffs("s")
	require.Len(t, handOffs, 1, "and not one from %s", d.Value.CreateTime)
	require.Equal(t, handedOff, handOffs[0].From)
}

// slow is a bucket whose leader answers late about one key.
type slow struct {
	kv.Buckets
	key      string
	asked    func()
	answered func()
}

func (s *slow) GetLeader(ctx context.Context, bucket, key string) (kv.Entry, error) {
	if key == s.key {
		s.asked()
	}
	entry, err := s.Buckets.GetLeader(ctx, bucket, key)
	if key == s.key {
		s.answered()
	}
	return entry, err
}

// watched is a bus of which somebody sees the hand-offs, before they are stored.
type watched struct {
	bus.Bus
	handOff func(*wire.Enqueue)
}

func (w *watched) Publish(ctx context.Context, msg *nats.Msg) error {
	if strings.Contains(msg.Subject, ".invoke.") && strings.Contains(msg.Subject, "."+schedule.SourceAuto+"-") {
		var e wire.Enqueue
		if err := codec.Unmarshal(msg.Data, &e); err != nil {
			return err
		}
		w.handOff(&e)
	}
	return w.Bus.Publish(ctx, msg)
}

// TestNothingIsHandedOverByAnAnswerFromBefore: while the answer about the definition is on its way, an action comes due. The schedule
// may be paused by then.
func TestNothingIsHandedOverByAnAnswerFromBefore(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"first": false, "later": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			now := time.Now().UTC().Truncate(time.Second)
			var asked time.Time
			at := []time.Time{now.Add(-10 * time.Second), now.Add(10 * time.Second)}
			created := at[0].Add(-time.Minute)
			b.put(wire.Definition{
				Namespace: "default", ID: "s", Incarnation: "of-s", Version: 2, CreateTime: created, UpdateTime: created.Add(time.Second),
				Schedule: schedule.Schedule{Spec: schedule.Spec{At: at}},
			}, 0)
			if known {
				state := wire.GeneratorState{Incarnation: "of-s", Version: 1, Mark: created, HandedOff: created}
				_, err := kv.Put(t.Context(), b.store, kv.Generator(keyOf("s")), &state, 0)
				require.NoError(t, err)
			}
			buckets, err := kv.OpenBuckets(t.Context(), b.js, b.names, 1)
			require.NoError(t, err)
			late := &slow{
				Buckets: buckets, key: kv.Definition(keyOf("s")).String(),
				asked: func() { asked = now }, answered: func() { now = now.Add(30 * time.Second) },
			}
			handOffs := 0
			on := &watched{Bus: natstest.Bus(t, b.js), handOff: func(e *wire.Enqueue) {
				handOffs++
				require.False(t, e.To.After(asked), "up to %s, asked at %s", e.To, asked)
			}}
			p := b.pool(func(c *Config) {
				c.Store, c.Bus, c.Now = kv.NewStore(late, b.names, 1), on, func() time.Time { return now }
			})
			wake := wire.Wake{Incarnation: "of-s", Version: 2, Reason: wire.ReasonUpdated}
			require.NoError(t, p.Handle(t.Context(), keyOf("s"), []loop.Message[wire.Wake]{{Body: wake}}).Err())
			require.Equal(t, 1, handOffs)
		})
	}
}

// TestForgetWakesTheBackfiller: a frontend that died has left a request of a schedule that is gone.
func TestForgetWakesTheBackfiller(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("s", seconds(3600))
	p := b.pool()
	b.handle(p, "s", wire.Wake{Version: 1, Reason: wire.ReasonCreated})
	request := wire.BackfillState{Incarnation: d.Value.Incarnation, ID: "t1", Trigger: &schedule.Trigger{}}
	_, err := kv.Put(t.Context(), b.store, kv.Backfill(keyOf("s"), "t1"), &request, 0)
	require.NoError(t, err)
	require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(keyOf("s")), d.Revision))
	b.handle(p, "s", wire.Wake{Version: 2, Reason: wire.ReasonGuard})
	require.NotNil(t, b.last(b.names.Backfill(0, keyOf("s"), "t1")))
}

// interrupted is a bus on which something happens before the first message of a subject is stored.
type interrupted struct {
	bus.Bus
	subject string
	before  func()
	sent    []*nats.Msg
}

func (i *interrupted) Publish(ctx context.Context, msg *nats.Msg) error {
	if before := i.before; msg.Subject == i.subject && before != nil {
		i.before = nil
		before()
	}
	i.sent = append(i.sent, msg)
	return i.Bus.Publish(ctx, msg)
}

// interrupted is a pool to which something happens before it arms the timer of a schedule.
func (b *testBundle) interrupted(id string, before func()) (*Pool, *interrupted) {
	b.Helper()
	on := &interrupted{Bus: natstest.Bus(b, b.js), subject: b.names.DueTimer(0, keyOf(id)), before: before}
	return b.pool(func(c *Config) { c.Bus = on }), on
}

// TestATimerArmedLateIsRemoved: the schedule is deleted and forgotten while another process is about to arm its timer.
func TestATimerArmedLateIsRemoved(t *testing.T) {
	t.Parallel()
	for _, fresh := range []bool{true, false} {
		b := setup(t)
		d := b.define("s", seconds(3600))
		if !fresh {
			b.handle(b.pool(), "s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonCreated})
			d.Value.Version++
			d = b.put(d.Value, d.Revision)
		}
		p, _ := b.interrupted("s", func() {
			require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(keyOf("s")), d.Revision))
			b.handle(b.pool(), "s", wire.Wake{Incarnation: "of-s", Version: d.Value.Version + 1, Reason: wire.ReasonDeleted})
		})
		b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: d.Value.Version, Reason: wire.ReasonUpdated})
		_, found := b.state("s")
		require.False(t, found)
		require.False(t, b.armed("s"))
	}
}

// TestATimerArmedLateWakesNoLater: an update that makes the schedule due sooner is seen by another process, while this one
// is about to arm the timer by the definition of before.
func TestATimerArmedLateWakesNoLater(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rare := seconds(100 * 3600)
	rare.Intervals[0].Phase = schedule.Duration(30 * time.Minute) // never when the other is due
	d := b.define("s", rare)
	b.handle(b.pool(), "s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonCreated})
	armedFor := func() string { return b.last(b.names.DueTimer(0, keyOf("s"))).Header.Get(task.HeaderAt) }
	later, sooner := armedFor(), ""
	p, _ := b.interrupted("s", func() {
		d.Value.Version, d.Value.Schedule.Spec = 2, seconds(3600)
		b.put(d.Value, d.Revision)
		b.handle(b.pool(), "s", wire.Wake{Incarnation: "of-s", Version: 2, Reason: wire.ReasonUpdated})
		sooner = armedFor()
	})
	b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonFinished})
	require.NotEqual(t, later, sooner)
	require.Equal(t, sooner, armedFor())
}

// unreadable is a bucket of which one key cannot be read from the leader.
type unreadable struct {
	kv.Buckets
	key string
}

func (u *unreadable) GetLeader(ctx context.Context, bucket, key string) (kv.Entry, error) {
	if key == u.key {
		return kv.Entry{}, nats.ErrTimeout
	}
	return u.Buckets.GetLeader(ctx, bucket, key)
}

// overtaken is a pool that arms the timer of a schedule for a time long after it is due, since another process, which has dealt with
// an update, was faster by a moment. The update makes it due every so often.
func (b *testBundle) overtaken(every int) (p *Pool, old wire.Wake) {
	b.Helper()
	rare := seconds(100 * 3600)
	rare.Intervals[0].Phase = schedule.Duration(30 * time.Minute)
	d := b.define("s", rare)
	old = wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonFinished}
	b.handle(b.pool(), "s", old)
	p, _ = b.interrupted("s", func() {
		d.Value.Version, d.Value.Schedule.Spec = 2, seconds(every)
		b.put(d.Value, d.Revision)
		wake := wire.Wake{Incarnation: "of-s", Version: 2, Reason: wire.ReasonUpdated}
		b.pool().Handle(b.Context(), keyOf("s"), []loop.Message[wire.Wake]{{Body: wake}})
	})
	return p, old
}

// TestATimerArmedLateIsMendedAfterAFailure: the record is refused to the process that has armed the timer for too late, and then it
// cannot read that of the other. The message that both had may be gone.
func TestATimerArmedLateIsMendedAfterAFailure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p, old := b.overtaken(3600)
	buckets, err := kv.OpenBuckets(t.Context(), b.js, b.names, 1)
	require.NoError(t, err)
	p.config.Store = kv.NewStore(&unreadable{buckets, kv.Generator(keyOf("s")).String()}, b.names, 1)
	verdict := p.Handle(t.Context(), keyOf("s"), []loop.Message[wire.Wake]{{Body: old}})
	require.ErrorIs(t, verdict.Err(), nats.ErrTimeout)
	natstest.Eventually(t, patience, "the schedule is looked at again", func() bool {
		return b.last(b.names.Generate(0, keyOf("s"), subjects.WhatDue)) != nil
	})
}

// TestATimerArmedLateIsMendedBeforeAHold: the other process holds a message until the schedule is due. This one must not do the same:
// its own message may be gone, and the timer is for too late.
func TestATimerArmedLateIsMendedBeforeAHold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p, old := b.overtaken(1)
	b.handle(p, "s", old)
	natstest.Eventually(t, patience, "the schedule is looked at again", func() bool {
		return b.last(b.names.Generate(0, keyOf("s"), subjects.WhatDue)) != nil
	})
}

// TestARepeatOfForgettingSparesTheNextTimer: a message that the network repeats, or brings late, must not remove the timer
// of a schedule that has been created since.
func TestARepeatOfForgettingSparesTheNextTimer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("s", seconds(3600))
	p, on := b.interrupted("s", nil)
	b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonCreated})
	require.True(t, b.armed("s"))
	require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(keyOf("s")), d.Revision))
	on.sent = nil
	b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: 2, Reason: wire.ReasonDeleted})
	require.False(t, b.armed("s"))
	forgetting := on.sent
	require.NotEmpty(t, forgetting)
	b.define("s", seconds(3600))
	b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonCreated})
	for _, msg := range forgetting {
		require.NoError(t, on.Bus.Publish(t.Context(), msg))
	}
	require.True(t, b.armed("s"))
}

// removing is a bus on which something happens before it removes the first message.
type removing struct {
	bus.Bus
	before func()
}

func (r *removing) Remove(ctx context.Context, stream string, sequence uint64) error {
	r.interrupt()
	return r.Bus.Remove(ctx, stream, sequence)
}

func (r *removing) Purge(ctx context.Context, stream, subject string) error {
	r.interrupt()
	return r.Bus.Purge(ctx, stream, subject)
}

func (r *removing) interrupt() {
	if before := r.before; before != nil {
		r.before = nil
		before()
	}
}

// TestForgettingSparesTheTimerOfTheNextSchedule: it is made while the timer of the one before, which has no record, is about to be
// removed. Nothing would ever wake it again.
func TestForgettingSparesTheTimerOfTheNextSchedule(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, task.Arm(t.Context(), natstest.Bus(t, b.js), b.names.DueTimer(0, keyOf("s")),
		b.names.Generate(0, keyOf("s"), subjects.WhatDue), time.Now().Add(time.Hour), &wire.Wake{Incarnation: "earlier"}))
	on := &removing{Bus: natstest.Bus(t, b.js), before: func() {
		require.True(t, b.armed("s"))
		b.define("s", seconds(3600))
		b.handle(b.pool(), "s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonCreated})
	}}
	p := b.pool(func(c *Config) { c.Bus = on })
	b.handle(p, "s", wire.Wake{Incarnation: "earlier", Version: 2, Reason: wire.ReasonDeleted, Told: true})
	_, found := b.state("s")
	require.True(t, found)
	require.True(t, b.armed("s"))
}

// askForATrigger defines a schedule whose second version asks for a trigger.
func (b *testBundle) askForATrigger(id, trigger string) {
	b.Helper()
	d := b.define(id, seconds(3600))
	d.Value.Version = 2
	d.Value.Requests = []wire.BackfillState{{Version: 2, Incarnation: "of-" + id, ID: trigger, Trigger: &schedule.Trigger{}}}
	b.put(d.Value, d.Revision)
}

// TestARequestIsGuarded: the process that makes a record of a request dies before it has told the backfiller.
func TestARequestIsGuarded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.askForATrigger("s", "t1")
	on := &interrupted{Bus: natstest.Bus(t, b.js), subject: b.names.Backfill(0, keyOf("s"), "t1")}
	guarded := false
	on.before = func() { guarded = b.last(b.names.BackfillTimer(0, keyOf("s"), "t1")) != nil }
	b.handle(b.pool(func(c *Config) { c.Bus = on }), "s", wire.Wake{Incarnation: "of-s", Version: 2, Reason: wire.ReasonUpdated})
	require.True(t, guarded)
	require.Nil(t, b.last(b.names.BackfillTimer(0, keyOf("s"), "t1")), "it is not needed any more")
}

// TestARequestIsGuardedAnew: a process stands still between the guard and the record until the guard has fired, and the backfiller
// has found no record. The schedule may have been replaced meanwhile: nobody but the guard would remove the record then.
func TestARequestIsGuardedAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.askForATrigger("s", "t1")
	guard, wake := b.names.BackfillTimer(0, keyOf("s"), "t1"), b.names.Backfill(0, keyOf("s"), "t1")
	stoodStill := time.Duration(0)
	now := func() time.Time { return time.Now().Add(stoodStill) }
	on := &interrupted{Bus: natstest.Bus(t, b.js), subject: guard, before: func() { stoodStill = requestGuard }}
	woken := &interrupted{Bus: on, subject: wake}
	woken.before = func() {
		at, err := time.Parse(time.RFC3339Nano, strings.TrimPrefix(b.last(guard).Header.Get(task.HeaderAt), "@at "))
		require.NoError(t, err)
		require.Greater(t, at.Sub(now()), requestGuard/2, "the guard of the record")
	}
	p := b.pool(func(c *Config) { c.Bus, c.Now = woken, now })
	b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: 2, Reason: wire.ReasonUpdated})
	require.NotNil(t, b.last(wake))
}

// TestARequestIsNotMadeFromMemory: another process has made the record of a request, and it has been carried out and forgotten so long
// ago that no trace of it is left. The generator's record that a process remembers from before that says nothing of it.
func TestARequestIsNotMadeFromMemory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.pool()
	d := b.define("s", seconds(3600))
	b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonCreated})
	d.Value.Version = 2
	d.Value.Requests = []wire.BackfillState{{Version: 2, Incarnation: "of-s", ID: "t1", Trigger: &schedule.Trigger{}}}
	b.put(d.Value, d.Revision)
	wake := wire.Wake{Incarnation: "of-s", Version: 2, Reason: wire.ReasonUpdated}
	b.handle(b.pool(), "s", wake)
	request := kv.Backfill(keyOf("s"), "t1")
	_, err := kv.GetLeader(t.Context(), b.store, request)
	require.NoError(t, err)
	bucket := b.names.StateBucket(0)
	stream, err := b.js.Stream(t.Context(), subjects.BucketStream(bucket))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(subjects.BucketSubject(bucket, subjects.BackfillKeys(keyOf("s"))))))
	wake.Reason = wire.ReasonDue
	b.handle(p, "s", wake)
	_, err = kv.GetLeader(t.Context(), b.store, request)
	require.ErrorIs(t, err, kv.ErrNotFound)
}

// TestALaggingReplicaPutsNothingToSleep: an old timer fires at the moment at which an unpause has replaced it, and removes the new one.
// Its message is all that wakes the schedule then. A process that takes it for paused still must not drop it.
func TestALaggingReplicaPutsNothingToSleep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("s", seconds(3600))
	d.Value.Schedule.State.Paused = true
	d = b.put(d.Value, d.Revision)
	b.handle(b.pool(), "s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonCreated})
	p, fired := b.behind(kv.Generator(keyOf("s")).String()), wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonDue}
	b.handle(p, "s", fired) // from now on it knows the definition
	require.False(t, b.armed("s"))
	d.Value.Version, d.Value.Schedule.State.Paused = 2, false
	b.put(d.Value, d.Revision)
	b.handle(b.pool(), "s", wire.Wake{Incarnation: "of-s", Version: 2, Reason: wire.ReasonUpdated})
	require.True(t, b.armed("s"))
	require.NoError(t, natstest.Bus(t, b.js).Purge(t.Context(), b.names.TaskStream(0), b.names.DueTimer(0, keyOf("s"))))
	b.handle(p, "s", fired)
	require.True(t, b.armed("s"))
}

// TestALaggingReplicaStartsNothingByAnOldDefinition: what an update, or a pause, that was acknowledged has taken away is not
// handed over any more, and what it has brought is not lost.
func TestALaggingReplicaStartsNothingByAnOldDefinition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := time.Now().UTC().Truncate(time.Second)
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	d := b.put(wire.Definition{
		Namespace: "default", ID: "s", Incarnation: "of-s", Version: 1, CreateTime: at(-60),
		Schedule: schedule.Schedule{Spec: schedule.Spec{At: []time.Time{at(-2)}}},
	}, 0)
	state := wire.GeneratorState{Incarnation: "of-s", Version: 1, Mark: at(-20), HandedOff: at(-20)}
	_, err := kv.Put(t.Context(), b.store, kv.Generator(keyOf("s")), &state, 0)
	require.NoError(t, err)
	p := b.behind(kv.Definition(keyOf("s")).String())
	d.Value.Version, d.Value.UpdateTime = 2, at(-10)
	d.Value.Schedule.Spec.At = []time.Time{at(-3)}
	b.put(d.Value, d.Revision)
	b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonDue})
	handOffs := b.handOffs("s")
	require.Len(t, handOffs, 1)
	require.Len(t, handOffs[0].Starts, 1)
	require.Equal(t, at(-3), handOffs[0].Starts[0].Nominal.UTC())
}

// diesAtTheRecord is the buckets of a process that dies just after it has written, or tried to write, the record of a schedule.
type diesAtTheRecord struct {
	kv.Buckets
	key    string
	before func() // happens just before that
	dead   bool
}

func (d *diesAtTheRecord) write(key string, write func() (uint64, error)) (uint64, error) {
	if d.dead {
		return 0, nats.ErrConnectionClosed
	}
	if key == d.key {
		d.before()
		d.dead = true
	}
	return write()
}

func (d *diesAtTheRecord) Create(ctx context.Context, bucket, key string, data []byte) (uint64, error) {
	return d.write(key, func() (uint64, error) { return d.Buckets.Create(ctx, bucket, key, data) })
}

func (d *diesAtTheRecord) Update(ctx context.Context, bucket, key string, data []byte, revision uint64) (uint64, error) {
	return d.write(key, func() (uint64, error) { return d.Buckets.Update(ctx, bucket, key, data, revision) })
}

func (d *diesAtTheRecord) GetLeader(ctx context.Context, bucket, key string) (kv.Entry, error) {
	if d.dead {
		return kv.Entry{}, nats.ErrConnectionClosed
	}
	return d.Buckets.GetLeader(ctx, bucket, key)
}

// TestNoRecordOfAScheduleThatIsForgotten: a process is about to write the first record of a schedule that has no times. Meanwhile that
// is deleted and forgotten by another process. The first one dies after its write, and its message has been replaced by another
// one, so that nobody gets it again.
func TestNoRecordOfAScheduleThatIsForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("s", schedule.Spec{})
	buckets, err := kv.OpenBuckets(t.Context(), b.js, b.names, 1)
	require.NoError(t, err)
	dies := &diesAtTheRecord{Buckets: buckets, key: kv.Generator(keyOf("s")).String(), before: func() {
		require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(keyOf("s")), d.Revision))
		b.handle(b.pool(), "s", wire.Wake{Incarnation: "of-s", Version: 2, Reason: wire.ReasonDeleted})
	}}
	p := b.pool(func(c *Config) { c.Store = kv.NewStore(dies, b.names, 1) })
	wake := wire.Wake{Incarnation: "of-s", Version: 1, Reason: wire.ReasonCreated}
	require.Error(t, p.Handle(t.Context(), keyOf("s"), []loop.Message[wire.Wake]{{Body: wake}}).Err())
	_, found := b.state("s")
	require.False(t, found)
}
