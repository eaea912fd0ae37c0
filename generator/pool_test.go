package generator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestMain(m *testing.M) { natstest.Main(m) }

const patience = natstest.Patience

// testBundle is an installation without an invoker: what is handed over stays in the task stream.
type testBundle struct {
	*testing.T
	js    jetstream.JetStream
	names subjects.Names
	store *kv.Store
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	_, js := natstest.Connect(t, natstest.Shared(t))
	b := &testBundle{T: t, js: js, names: natstest.Names(t)}
	_, err := topology.Ensure(t.Context(), js, b.names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	b.store, err = kv.Open(t.Context(), js, b.names, 1)
	require.NoError(t, err)
	return b
}

func (b *testBundle) pool(change ...func(*Config)) *Pool {
	b.Helper()
	config := Config{Config: pool.Config{Bus: bus.New(b.js), Store: b.store, Names: b.names, Logger: natstest.Logger(b)}}
	for _, c := range change {
		c(&config)
	}
	p, err := New(config)
	require.NoError(b, err)
	return p
}

func idleAfter(d time.Duration) func(*Config) { return func(c *Config) { c.IdleTime = d } }

// run runs something until stop is called or the test ends.
func (b *testBundle) run(what interface{ Run(context.Context) error }) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- what.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(b, <-done)
	})
	b.Cleanup(stop)
	return stop
}

func keyOf(id string) schedule.Key { return schedule.Key{Namespace: "default", ID: id} }

// define stores a new definition with a spec.
func (b *testBundle) define(id string, spec schedule.Spec) kv.Record[wire.Definition] {
	b.Helper()
	d := wire.Definition{
		Namespace: "default", ID: id, Incarnation: "of-" + id, Version: 1, CreateTime: time.Now().UTC(),
		Schedule: schedule.Schedule{Spec: spec},
	}
	return b.put(d, 0)
}

func (b *testBundle) put(d wire.Definition, revision uint64) kv.Record[wire.Definition] {
	b.Helper()
	revision, err := kv.Put(b.Context(), b.store, kv.Definition(d.Key()), &d, revision)
	require.NoError(b, err)
	return kv.Record[wire.Definition]{Value: d, Revision: revision}
}

func (b *testBundle) wake(id string, w wire.Wake) {
	b.Helper()
	require.NoError(b, task.Publish(b.Context(), natstest.Bus(b, b.js), b.names.Generate(0, keyOf(id), subjects.WhatWake), &w))
}

// last is the last message of a subject of the task stream, nil if there is none.
func (b *testBundle) last(subject string) *jetstream.RawStreamMsg {
	b.Helper()
	stream, err := b.js.Stream(b.Context(), b.names.TaskStream(0))
	require.NoError(b, err)
	msg, err := stream.GetLastMsgForSubject(b.Context(), subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	require.NoError(b, err)
	return msg
}

// subjects lists the subjects of the task stream that match a filter.
func (b *testBundle) subjects(filter string) []string {
	b.Helper()
	stream, err := b.js.Stream(b.Context(), b.names.TaskStream(0))
	require.NoError(b, err)
	info, err := stream.Info(b.Context(), jetstream.WithSubjectFilter(filter))
	require.NoError(b, err)
	var all []string
	for subject := range info.State.Subjects {
		all = append(all, subject)
	}
	return all
}

// handOffs are those of a schedule so far, in no order.
func (b *testBundle) handOffs(id string) []*wire.Enqueue {
	b.Helper()
	prefix := strings.TrimSuffix(b.names.InvokeWake(0, keyOf(id)), subjects.WhatWake)
	var all []*wire.Enqueue
	for _, subject := range b.subjects(prefix + "*") {
		if strings.HasSuffix(subject, "."+subjects.WhatWake) {
			continue
		}
		msg := b.last(subject)
		e := &wire.Enqueue{}
		require.NoError(b, codec.Unmarshal(msg.Data, e))
		for _, start := range e.Starts {
			b.Logf("%s was handed over %v late", id, msg.Time.Sub(start.Actual))
		}
		all = append(all, e)
	}
	return all
}

func (b *testBundle) state(id string) (wire.GeneratorState, bool) {
	b.Helper()
	record, err := kv.GetLeader(b.Context(), b.store, kv.Generator(keyOf(id)))
	if errors.Is(err, kv.ErrNotFound) {
		return wire.GeneratorState{}, false
	}
	require.NoError(b, err)
	return record.Value, true
}

func (b *testBundle) eventually(what string, cond func() bool) {
	b.Helper()
	natstest.Eventually(b, patience, what, cond)
}

func (b *testBundle) armed(id string) bool { return b.last(b.names.DueTimer(0, keyOf(id))) != nil }

func seconds(n int) schedule.Spec {
	return schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Duration(n) * time.Second)}}}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	_, err := New(Config{})
	require.ErrorContains(t, err, "Config.Bus and Config.Store are required")
	b := setup(t)
	for _, lead := range []time.Duration{-1, subjects.TaskAckWait + 1} {
		_, err = New(Config{Config: pool.Config{Bus: bus.New(b.js), Store: b.store, Names: b.names}, Lead: lead})
		require.ErrorContains(t, err, "Config.Lead")
	}
	p := b.pool(idleAfter(-1))
	require.Equal(t, 2*time.Second, p.config.Lead)
}

func TestHandsOverWhenDue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("beat", seconds(1)).Value
	b.run(b.pool())
	b.wake("beat", wire.Wake{Incarnation: d.Incarnation, Version: 1, Reason: wire.ReasonCreated})
	b.eventually("3 hand-offs", func() bool {
		return len(b.subjects(strings.TrimSuffix(b.names.InvokeWake(0, keyOf("beat")), "wake")+"*")) >= 3
	})
	var invoker taker
	end := d.CreateTime
	for _, e := range b.handOffs("beat") {
		invoker.take(e)
		end = maxTime(end, e.To)
		require.Equal(t, "of-beat", e.Incarnation)
	}
	var want, got []time.Time
	for t := range compile(b, &d).Between(d.CreateTime, end, "") {
		want = append(want, t.Nominal)
	}
	for _, s := range invoker.starts {
		got = append(got, s.Nominal)
	}
	require.ElementsMatch(t, want, got)
	require.False(t, b.armed("beat"), "it is always within the lead")
	require.Len(t, b.subjects(b.names.Generate(0, keyOf("beat"), "*")), 1, "the message is held")
}

// TestTraceOfAGroup is that of its newest message; what is held begins a new one each time.
func TestTraceOfAGroup(t *testing.T) {
	t.Parallel()
	old := loop.Message[wire.Wake]{Header: nats.Header{"traceparent": {"old"}}, Stored: time.Unix(1, 0)}
	young := loop.Message[wire.Wake]{Header: nats.Header{"traceparent": {"young"}}, Stored: time.Unix(2, 0)}
	held := young
	held.Held = true
	require.Equal(t, 1, newest([]loop.Message[wire.Wake]{old, young}))
	require.Equal(t, 0, newest([]loop.Message[wire.Wake]{old, held}))
	require.Equal(t, 1, newest([]loop.Message[wire.Wake]{held, old}))
}

func TestTimerIsArmedALeadAhead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("hourly", seconds(3600)).Value
	b.run(b.pool(func(c *Config) { c.Lead = 500 * time.Millisecond }))
	b.wake("hourly", wire.Wake{})
	b.eventually("the timer is armed and the record written", func() bool { _, exists := b.state("hourly"); return exists && b.armed("hourly") })
	next := d.CreateTime.Truncate(time.Hour).Add(time.Hour)
	msg := b.last(b.names.DueTimer(0, keyOf("hourly")))
	require.Equal(t, "@at "+next.Add(-500*time.Millisecond).Format(time.RFC3339Nano), msg.Header.Get(task.HeaderAt))
	require.Equal(t, b.names.Generate(0, keyOf("hourly"), subjects.WhatDue), msg.Header.Get(task.HeaderTarget))
	var wake wire.Wake
	require.NoError(t, codec.Unmarshal(msg.Data, &wake))
	require.Equal(t, wire.Wake{Incarnation: "of-hourly", Version: 1, Reason: wire.ReasonDue}, wake)
	state, _ := b.state("hourly")
	require.Equal(t, next, state.Next)
	require.Len(t, state.Future, 10)
	b.eventually("the wake is settled", func() bool { return len(b.subjects(b.names.Generate(0, keyOf("hourly"), "*"))) == 0 })
}

// TestUpdateWithinTheLead: a pause while the message is held is honoured.
func TestUpdateWithinTheLead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	due := time.Now().Add(3 * time.Second).Truncate(time.Second).UTC()
	record := b.define("once", schedule.Spec{At: []time.Time{due}})
	b.run(b.pool(func(c *Config) { c.Lead = 4 * time.Second }))
	b.wake("once", wire.Wake{})
	b.eventually("it is being waited for", func() bool { state, _ := b.state("once"); return state.Next.Equal(due) })
	record.Value.Version, record.Value.Schedule.State.Paused = 2, true
	b.put(record.Value, record.Revision)
	b.eventually("the due time has passed", func() bool {
		return time.Now().After(due) && len(b.subjects(b.names.Generate(0, keyOf("once"), "*"))) == 0
	})
	require.Empty(t, b.handOffs("once"))
	state, _ := b.state("once")
	require.EqualValues(t, 2, state.Version)
}

func TestDeletedScheduleIsForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	record := b.define("hourly", seconds(3600))
	b.run(b.pool())
	b.wake("hourly", wire.Wake{})
	// Who writes a first record looks at the definition once more. It would meet the deletion, and the record would go before the timer.
	b.eventually("the wake is settled", func() bool { return len(b.subjects(b.names.Generate(0, keyOf("hourly"), "*"))) == 0 })
	require.True(t, b.armed("hourly"))

	require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(keyOf("hourly")), record.Revision))
	b.wake("hourly", wire.Wake{Version: 1, Reason: wire.ReasonGuard}) // who deleted it did not live to say so
	b.eventually("the record is gone", func() bool { _, exists := b.state("hourly"); return !exists })
	require.False(t, b.armed("hourly"))
	msg := b.last(b.names.InvokeDeleted(0, keyOf("hourly")))
	require.NotNil(t, msg, "the invoker is told")
	var wake wire.Wake
	require.NoError(t, codec.Unmarshal(msg.Data, &wake))
	require.Equal(t, wire.ReasonDeleted, wake.Reason)
	require.Greater(t, wake.Version, record.Value.Version, "so that it does not believe a lagging replica")
}

// TestForgetSparesANewScheduleOfTheSameID: the old one is deleted and a new one created while forget is on its way.
func TestForgetSparesANewScheduleOfTheSameID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.pool()
	d := b.define("hourly", seconds(3600)).Value
	_, err := p.transition(t.Context(), &attempt{key: d.Key(), again: true})
	require.NoError(t, err)
	require.True(t, b.armed("hourly"))
	require.ErrorIs(t, p.forget(t.Context(), d.Key(), nil), kv.ErrConflict)
	require.True(t, b.armed("hourly"))
	_, exists := b.state("hourly")
	require.True(t, exists)
	require.Nil(t, b.last(b.names.InvokeDeleted(0, keyOf("hourly"))))
}

func TestNothingToForget(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.pool()
	_, err := p.transition(t.Context(), &attempt{key: keyOf("never-was")})
	require.NoError(t, err)
	require.NotNil(t, b.last(b.names.InvokeDeleted(0, keyOf("never-was"))), "the invoker may have something")
}

func TestGarbageIsADeadLetterAndOthersGoOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.define("corrupt", seconds(3600))
	b.define("invalid", schedule.Spec{Intervals: []schedule.Interval{{Every: -1}}})
	b.define("fine", seconds(3600))
	bucket, err := b.js.KeyValue(t.Context(), b.names.StateBucket(0))
	require.NoError(t, err)
	_, err = bucket.Put(t.Context(), kv.Generator(keyOf("corrupt")).String(), []byte("nonsense"))
	require.NoError(t, err)
	b.run(loop.New(loop.Config{
		Bus: natstest.Bus(t, b.js), Names: b.names, Pool: subjects.PoolGenerator, Shards: 1, Logger: natstest.Logger(t), MaxDeliveries: 2,
	}, b.pool()))

	_, err = b.js.Publish(t.Context(), b.names.Generate(0, keyOf("fine"), subjects.WhatGuard), []byte("nonsense"))
	require.NoError(t, err)
	for _, id := range []string{"corrupt", "invalid", "fine"} {
		b.wake(id, wire.Wake{})
	}
	b.eventually("the good one is armed", func() bool { return b.armed("fine") })
	dlq, err := b.js.Stream(t.Context(), b.names.DeadLetterStream())
	require.NoError(t, err)
	b.eventually("the others are dead letters", func() bool {
		info, err := dlq.Info(t.Context())
		return err == nil && info.State.Msgs == 3
	})
	origins := map[string]string{}
	for sequence := range uint64(3) {
		msg, err := dlq.GetMsg(t.Context(), sequence+1)
		require.NoError(t, err)
		origins[msg.Header.Get(deadletter.HeaderSubject)] = msg.Header.Get(deadletter.HeaderReason)
	}
	assert.Contains(t, origins[b.names.Generate(0, keyOf("fine"), subjects.WhatGuard)], "format version")
	assert.Contains(t, origins[b.names.Generate(0, keyOf("corrupt"), subjects.WhatWake)], "cannot be decoded")
	assert.Contains(t, origins[b.names.Generate(0, keyOf("invalid"), subjects.WhatWake)], "every")
}

// TestTwoPoolsCompete has two pools at one schedule, with more wakes than needed. What they hand over covers everything
// once, and in the end one of them has the schedule to itself.
func TestTwoPoolsCompete(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("beat", seconds(1)).Value
	b.run(b.pool())
	b.run(b.pool())
	whats := []string{subjects.WhatWake, subjects.WhatDue, subjects.WhatGuard}
	for i := range 30 {
		subject := b.names.Generate(0, keyOf("beat"), whats[i%len(whats)])
		require.NoError(t, task.Publish(t.Context(), natstest.Bus(t, b.js), subject, &wire.Wake{}))
		natstest.Eventually(t, patience, "a moment has passed", func() bool {
			return time.Since(d.CreateTime) > time.Duration(i)*100*time.Millisecond
		})
	}
	b.eventually("only one message is held", func() bool {
		c, err := b.js.Consumer(t.Context(), b.names.TaskStream(0), subjects.PoolGenerator)
		require.NoError(t, err)
		return c.CachedInfo().NumAckPending == 1 && c.CachedInfo().NumPending == 0
	})
	var invoker taker
	end := d.CreateTime
	for _, e := range b.handOffs("beat") {
		invoker.take(e)
		end = maxTime(end, e.To)
	}
	counts := map[string]int{}
	for _, s := range invoker.starts {
		counts[s.RequestID]++
	}
	want := 0
	for time := range compile(t, &d).Between(d.CreateTime, end, "") {
		want++
		start := wire.NewStart(&d, schedule.SourceAuto, time.Nominal, time.Actual)
		assert.Equal(t, 1, counts[start.RequestID], time.Nominal)
	}
	require.Len(t, counts, want)
	require.GreaterOrEqual(t, want, 3)
}

func TestIdleScheduleCloses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("idle", schedule.Spec{}).Value
	b.run(b.pool(idleAfter(300 * time.Millisecond)))
	b.wake("idle", wire.Wake{})
	b.eventually("the definition is gone", func() bool {
		_, err := kv.GetLeader(t.Context(), b.store, kv.Definition(d.Key()))
		return errors.Is(err, kv.ErrNotFound)
	})
	b.eventually("the record is gone", func() bool { _, exists := b.state("idle"); return !exists })
	require.False(t, b.armed("idle"))
	require.NotNil(t, b.last(b.names.InvokeDeleted(0, keyOf("idle"))))
	events, err := b.js.Stream(t.Context(), b.names.EventStream())
	require.NoError(t, err)
	_, err = events.GetLastMsgForSubject(t.Context(), b.names.Event(d.Key(), schedule.EventClosed))
	require.NoError(t, err)
}

// TestScheduleDoesNotCloseBeforeItsActionIsTaken, however long the invoker is away; nor while something is going on.
func TestScheduleDoesNotCloseBeforeItsActionIsTaken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.pool(idleAfter(time.Millisecond))
	d := b.define("once", schedule.Spec{}).Value
	d.Schedule.Spec.At = []time.Time{d.CreateTime.Truncate(time.Second).Add(-time.Hour)}
	d.CreateTime = d.CreateTime.Add(-2 * time.Hour)
	record, err := kv.Get(t.Context(), b.store, kv.Definition(d.Key()))
	require.NoError(t, err)
	b.put(d, record.Revision)

	step := func() (open bool) {
		err := kv.RetryConflicts(func(bool) error {
			_, err := p.transition(t.Context(), &attempt{key: d.Key(), again: true})
			return err
		})
		require.NoError(t, err)
		_, err = kv.GetLeader(t.Context(), b.store, kv.Definition(d.Key()))
		return err == nil
	}
	require.True(t, step())
	require.Len(t, b.handOffs("once"), 1)
	for range 5 {
		require.True(t, step(), "nobody has taken it")
	}
	state, _ := b.state("once")
	taken := wire.InvokerState{
		Incarnation: d.Incarnation,
		Sources:     map[string]wire.SourceProgress{schedule.SourceAuto: {Covered: []wire.Span{{From: d.CreateTime, To: state.HandedOff}}}},
		Starts:      []wire.BufferedStart{{RequestID: "r", Phase: schedule.PhaseStarted, Actual: d.Schedule.Spec.At[0]}},
	}
	whole := taken.Sources[schedule.SourceAuto].Covered[0]
	early, late := d.CreateTime.Add(time.Second), d.CreateTime.Add(2*time.Second)
	revision := uint64(0)
	for name, covered := range map[string][]wire.Span{
		"the first hand-off has been overtaken": {{From: early, To: whole.To}},
		"another one has been overtaken":        {{From: whole.From, To: early}, {From: late, To: whole.To}},
	} {
		overtaken := wire.InvokerState{
			Incarnation: d.Incarnation, Sources: map[string]wire.SourceProgress{schedule.SourceAuto: {Covered: covered}},
		}
		revision, err = kv.Put(t.Context(), b.store, kv.Invoker(d.Key()), &overtaken, revision)
		require.NoError(t, err)
		require.True(t, step(), name)
	}
	revision, err = kv.Put(t.Context(), b.store, kv.Invoker(d.Key()), &taken, revision)
	require.NoError(t, err)
	require.True(t, step(), "it is running")
	run := wire.NewRun(&taken.Starts[0])
	taken.Starts, taken.Ended = nil, taken.Ended.With(&run, 1)
	_, err = kv.Put(t.Context(), b.store, kv.Invoker(d.Key()), &taken, revision)
	require.NoError(t, err)
	backfill := kv.Backfill(d.Key(), "b")
	revision, err = kv.Put(t.Context(), b.store, backfill, &wire.BackfillState{Incarnation: d.Incarnation, ID: "b"}, 0)
	require.NoError(t, err)
	require.True(t, step(), "a backfill is in progress")
	require.NotNil(t, b.last(b.names.Backfill(0, d.Key(), "b")), "perhaps nobody knows of it")
	require.NoError(t, kv.Delete(t.Context(), b.store, backfill, revision))
	require.False(t, step())
}

// ending is a bucket where something happens before the keys are listed.
type ending struct {
	kv.Buckets
	before func()
}

func (e *ending) Keys(ctx context.Context, bucket, filter string) ([]string, error) {
	e.before()
	return e.Buckets.Keys(ctx, bucket, filter)
}

// TestScheduleDoesNotCloseBehindItsLastTrigger: the invoker takes it over, and its record goes, while a generator looks at both.
func TestScheduleDoesNotCloseBehindItsLastTrigger(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("never", schedule.Spec{}).Value
	trigger := kv.Backfill(d.Key(), "b")
	revision, err := kv.Put(t.Context(), b.store, trigger, &wire.BackfillState{Incarnation: d.Incarnation, ID: "b"}, 0)
	require.NoError(t, err)
	buckets, err := kv.OpenBuckets(t.Context(), b.js, b.names, 1)
	require.NoError(t, err)
	slow := &ending{Buckets: buckets, before: func() {
		_, err := kv.Put(t.Context(), b.store, kv.Invoker(d.Key()), &wire.InvokerState{
			Incarnation: d.Incarnation, Starts: []wire.BufferedStart{{RequestID: "r", Phase: schedule.PhaseStarted}},
		}, 0)
		require.NoError(t, err)
		require.NoError(t, kv.Delete(t.Context(), b.store, trigger, revision))
	}}
	p := b.pool(idleAfter(time.Millisecond), func(c *Config) {
		c.Store = kv.NewStore(slow, b.names, 1)
		c.Now = func() time.Time { return time.Now().Add(time.Hour) }
	})
	wake := wire.Wake{Incarnation: d.Incarnation, Version: 1, Reason: wire.ReasonIdle}
	b.handle(b.pool(), "never", wake)
	b.handle(p, "never", wake)
	_, err = kv.GetLeader(t.Context(), b.store, kv.Definition(d.Key()))
	require.NoError(t, err)
}

// TestLooksOnceMoreBeforeItCloses: a trigger is stored beside the definition, which says that before the last look. Whoever has stored
// one takes that away, and the schedule is not closed.
func TestLooksOnceMoreBeforeItCloses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("idle", schedule.Spec{}).Value
	wake := wire.Wake{Incarnation: d.Incarnation, Version: 1, Reason: wire.ReasonIdle}
	b.handle(b.pool(), "idle", wake)
	p := b.pool(idleAfter(time.Millisecond), func(c *Config) { c.Now = func() time.Time { return time.Now().Add(time.Hour) } })
	step := func() error {
		_, err := p.transition(t.Context(), &attempt{key: d.Key(), wakes: []wire.Wake{wake}})
		return err
	}
	marked := func() kv.Record[wire.Definition] {
		record, err := kv.GetLeader(t.Context(), b.store, kv.Definition(d.Key()))
		require.NoError(t, err)
		require.True(t, record.Value.Closing)
		require.EqualValues(t, 1, record.Value.Version)
		return record
	}
	require.ErrorIs(t, step(), errClosing)
	record := marked()
	record.Value.Closing = false
	b.put(record.Value, record.Revision)
	require.ErrorIs(t, step(), errClosing, "once more, by the definition as it is now")
	trigger := kv.Backfill(d.Key(), "b")
	revision, err := kv.Put(t.Context(), b.store, trigger, &wire.BackfillState{Incarnation: d.Incarnation, ID: "b"}, 0)
	require.NoError(t, err)
	require.NoError(t, step())
	marked()
	require.NoError(t, kv.Delete(t.Context(), b.store, trigger, revision))
	require.NoError(t, step())
	_, err = kv.GetLeader(t.Context(), b.store, kv.Definition(d.Key()))
	require.ErrorIs(t, err, kv.ErrNotFound)
}

// TestLimitedActionsAreReadFromTheInvoker.
func TestLimitedActionsAreReadFromTheInvoker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.pool()
	d := b.define("limited", seconds(3600)).Value
	d.LimitVersion, d.CreateTime = 1, d.CreateTime.Add(-2*time.Hour)
	d.Schedule.State = schedule.State{LimitedActions: true, RemainingActions: 5}
	record, err := kv.Get(t.Context(), b.store, kv.Definition(d.Key()))
	require.NoError(t, err)
	b.put(d, record.Revision)
	_, err = kv.Put(t.Context(), b.store, kv.Invoker(d.Key()), &wire.InvokerState{
		Incarnation: d.Incarnation, LimitVersion: 1, LimitUsed: 2,
	}, 0)
	require.NoError(t, err)
	_, err = p.transition(t.Context(), &attempt{key: d.Key(), again: true})
	require.NoError(t, err)
	handOffs := b.handOffs("limited")
	require.Len(t, handOffs, 1)
	state, _ := b.state("limited")
	require.Len(t, state.Future, 3-len(handOffs[0].Starts), fmt.Sprint(state))
}
