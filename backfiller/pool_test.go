package backfiller

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

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
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestMain(m *testing.M) { natstest.Main(m) }

const patience = natstest.Patience

// testBundle is an installation with one schedule and without an invoker: what is handed over stays in the task stream.
type testBundle struct {
	*testing.T
	js         jetstream.JetStream
	names      subjects.Names
	store      *kv.Store
	key        schedule.Key
	definition kv.Record[wire.Definition]
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	_, js := natstest.Connect(t, natstest.Shared(t))
	b := &testBundle{T: t, js: js, names: natstest.Names(t), key: schedule.Key{Namespace: "default", ID: "s"}}
	_, err := topology.Ensure(t.Context(), js, b.names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	b.store, err = kv.Open(t.Context(), js, b.names, 1)
	require.NoError(t, err)
	d := *definition(time.Minute)
	revision, err := kv.Put(t.Context(), b.store, kv.Definition(b.key), &d, 0)
	require.NoError(t, err)
	b.definition = kv.Record[wire.Definition]{Value: d, Revision: revision}
	return b
}

func (b *testBundle) pool() *Pool {
	b.Helper()
	p, err := New(pool.Config{Bus: bus.New(b.js), Store: b.store, Names: b.names, Logger: natstest.Logger(b)})
	require.NoError(b, err)
	return p
}

func (b *testBundle) run(what interface{ Run(context.Context) error }) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- what.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		assert.NoError(b, <-done)
	})
}

// request stores a record and wakes the backfiller.
func (b *testBundle) request(state wire.BackfillState) {
	b.Helper()
	_, err := kv.Put(b.Context(), b.store, kv.Backfill(b.key, state.ID), &state, 0)
	require.NoError(b, err)
	b.wake(state.ID)
}

func (b *testBundle) wake(id string) {
	b.Helper()
	require.NoError(b, task.Publish(b.Context(), natstest.Bus(b, b.js), b.names.Backfill(0, b.key, id), &wire.Wake{Reason: wire.ReasonTriggered}))
}

const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func triggerOf(id string) wire.BackfillState {
	return wire.BackfillState{
		Incarnation: "i", ID: id, RequestTime: now, Trigger: &schedule.Trigger{}, Trace: trace,
	}
}

func rangeOf(id string, from, to time.Time) wire.BackfillState {
	return wire.BackfillState{
		Incarnation: "i", ID: id, RequestTime: now, Range: &schedule.BackfillRange{Start: from, End: to},
	}
}

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

// handOffs are those of a request so far, with the messages they came in.
func (b *testBundle) handOffs(id string) (all []wire.Enqueue, msgs []*jetstream.RawStreamMsg) {
	b.Helper()
	stream, err := b.js.Stream(b.Context(), b.names.TaskStream(0))
	require.NoError(b, err)
	prefix := strings.TrimSuffix(b.names.InvokeWake(0, b.key), subjects.WhatWake)
	info, err := stream.Info(b.Context(), jetstream.WithSubjectFilter(prefix+"*"))
	require.NoError(b, err)
	for subject := range info.State.Subjects {
		if strings.HasPrefix(subject, prefix+id+"-") {
			var e wire.Enqueue
			msg := b.last(subject)
			require.NoError(b, codec.Unmarshal(msg.Data, &e))
			all, msgs = append(all, e), append(msgs, msg)
		}
	}
	return all, msgs
}

func (b *testBundle) exists(id string) bool {
	b.Helper()
	_, err := kv.GetLeader(b.Context(), b.store, kv.Backfill(b.key, id))
	if errors.Is(err, kv.ErrNotFound) {
		return false
	}
	require.NoError(b, err)
	return true
}

func (b *testBundle) armed(id string) bool { return b.last(b.names.BackfillTimer(0, b.key, id)) != nil }

func (b *testBundle) eventually(what string, cond func() bool) {
	b.Helper()
	natstest.Eventually(b, patience, what, cond)
}

// invokerTook stores the record of an invoker that has taken over a source up to a time.
func (b *testBundle) invokerTook(source string, span wire.Span, waiting int) {
	b.Helper()
	record, err := kv.GetLeader(b.Context(), b.store, kv.Invoker(b.key))
	if !errors.Is(err, kv.ErrNotFound) {
		require.NoError(b, err)
	}
	state := record.Value
	state.Incarnation = "i"
	if state.Sources == nil {
		state.Sources = map[string]wire.SourceProgress{}
	}
	if source != "" {
		state.Sources[source] = wire.SourceProgress{Covered: []wire.Span{span}}
	}
	state.Starts = nil
	for range waiting {
		state.Starts = append(state.Starts, wire.BufferedStart{Phase: schedule.PhasePending})
	}
	_, err = kv.Put(b.Context(), b.store, kv.Invoker(b.key), &state, record.Revision)
	require.NoError(b, err)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	_, err := New(pool.Config{})
	require.ErrorContains(t, err, "Config.Bus and Config.Store are required")
}

func TestTriggerFromRequestToEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.pool())
	b.request(triggerOf("t1"))
	b.eventually("the timer is armed", func() bool { return b.armed("t1") })
	handOffs, msgs := b.handOffs("t1")
	require.Len(t, handOffs, 1)
	require.Len(t, handOffs[0].Starts, 1)
	require.Equal(t, trace, msgs[0].Header.Get(telemetry.HeaderTraceparent), "the trace of the request")
	require.True(t, b.exists("t1"), "nobody has taken it")

	b.invokerTook("t1", handOffs[0].Span, 0)
	b.wake("t1")
	b.eventually("the record is gone", func() bool { return !b.exists("t1") })
	b.eventually("the invoker is woken", func() bool { return b.last(b.names.InvokeWake(0, b.key)) != nil })
	require.False(t, b.armed("t1"), "and the timer is gone")
	require.Nil(t, b.last(b.names.Generate(0, b.key, subjects.WhatFinished)), "the generator has no use for it")
	handOffs, _ = b.handOffs("t1")
	require.Len(t, handOffs, 1)
}

func TestBatchesFollowTheInvoker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.invokerTook("", wire.Span{}, 1000)
	b.run(b.pool())
	b.request(rangeOf("b1", minutes(1), minutes(600)))
	b.eventually("it makes itself known", func() bool { handOffs, _ := b.handOffs("b1"); return len(handOffs) == 1 })
	first := minutes(1).Add(-1)
	b.invokerTook("b1", wire.Span{From: first, To: first}, 0)
	b.wake("b1")
	b.eventually("the first batch", func() bool { handOffs, _ := b.handOffs("b1"); return len(handOffs) == 2 })
	b.invokerTook("b1", wire.Span{From: first, To: minutes(100)}, 0)
	b.wake("b1")
	b.eventually("the second batch", func() bool { handOffs, _ := b.handOffs("b1"); return len(handOffs) == 3 })
	for _, batch := range []int{200, 300, 400, 500, 600} {
		b.invokerTook("b1", wire.Span{From: first, To: minutes(batch)}, 0)
		b.wake("b1")
		b.eventually("the next batch", func() bool { handOffs, _ := b.handOffs("b1"); return len(handOffs) == min(batch/100+2, 7) })
	}
	b.eventually("the record is gone", func() bool { return !b.exists("b1") })
	seen := map[time.Time]int{}
	handOffs, _ := b.handOffs("b1")
	for _, e := range handOffs {
		for _, s := range e.Starts {
			seen[s.Nominal]++
		}
	}
	require.Len(t, seen, 600)
}

// TestBackoffTimerLooksAgain without anybody who wakes it.
func TestBackoffTimerLooksAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.pool())
	b.request(triggerOf("t1"))
	b.eventually("the timer is armed", func() bool { return b.armed("t1") })
	handOffs, _ := b.handOffs("t1")
	b.invokerTook("t1", handOffs[0].Span, 0)
	b.eventually("the record is gone", func() bool { return !b.exists("t1") })
}

func TestRecordOfAScheduleThatIsGone(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*testBundle){
		"deleted": func(b *testBundle) {
			require.NoError(b, kv.Delete(b.Context(), b.store, kv.Definition(b.key), b.definition.Revision))
		},
		"created again": func(b *testBundle) {
			d := b.definition.Value
			d.Incarnation = "j"
			_, err := kv.Put(b.Context(), b.store, kv.Definition(b.key), &d, b.definition.Revision)
			require.NoError(b, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			change(b)
			b.run(b.pool())
			b.request(triggerOf("t1"))
			b.eventually("the record is gone", func() bool { return !b.exists("t1") })
			b.eventually("the invoker is woken", func() bool { return b.last(b.names.InvokeWake(0, b.key)) != nil })
			handOffs, _ := b.handOffs("t1")
			require.Empty(t, handOffs)
			require.False(t, b.armed("t1"))
		})
	}
}

// TestNoRecord: a wake of a request that has no record tells the others again. The timer stays, since it may be the guard of a record
// that is about to be written: without it nothing would wake the backfiller should the writer die then.
func TestNoRecord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	far := time.Now().Add(time.Hour)
	require.NoError(t, task.Arm(t.Context(), natstest.Bus(t, b.js), b.names.BackfillTimer(0, b.key, "t1"), b.names.Backfill(0, b.key, "t1"), far, &wire.Wake{}))
	group := []loop.Message[wire.Wake]{{Task: subjects.Task{Key: b.key, What: "t1"}, Deliveries: 1}}
	require.Equal(t, loop.Done(), b.pool().Handle(t.Context(), b.key, group))
	require.NotNil(t, b.last(b.names.InvokeWake(0, b.key)))
	require.True(t, b.armed("t1"))
	require.Nil(t, b.last(b.names.Generate(0, b.key, subjects.WhatFinished)))
}

// TestGuardOfARecordThatIsStillToCome: a guard that fires before the record is written takes along the one that a repeat of the
// request has just armed.
func TestGuardOfARecordThatIsStillToCome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	guard := wire.Wake{Incarnation: "i", Reason: wire.ReasonGuard, GuardAgain: schedule.Duration(time.Hour)}
	fires := func(guard wire.Wake) {
		group := []loop.Message[wire.Wake]{{Task: subjects.Task{Key: b.key, What: "t1"}, Body: guard, Deliveries: 1}}
		require.Equal(t, loop.Done(), b.pool().Handle(t.Context(), b.key, group))
	}
	fires(guard)
	again := b.last(b.names.BackfillTimer(0, b.key, "t1"))
	require.NotNil(t, again)
	var wake wire.Wake
	require.NoError(t, codec.Unmarshal(again.Data, &wake))
	require.Equal(t, wire.Wake{Incarnation: "i", Reason: wire.ReasonGuard}, wake, "once more, and not for ever")

	require.NoError(t, natstest.Bus(t, b.js).Purge(t.Context(), b.names.TaskStream(0), b.names.BackfillTimer(0, b.key, "t1")))
	fires(wake)
	require.False(t, b.armed("t1"))

	b.invokerTook("t1", wire.Span{From: now.Add(-1), To: now}, 0)
	trigger := triggerOf("t1")
	_, err := kv.Put(t.Context(), b.store, kv.Backfill(b.key, "t1"), &trigger, 0)
	require.NoError(t, err)
	fires(guard)
	require.False(t, b.exists("t1"), "a request that is there is carried out")
	require.False(t, b.armed("t1"))
}

// TestDiedBeforeItToldTheGenerator: who has removed the record may have died then.
func TestDiedBeforeItToldTheGenerator(t *testing.T) {
	t.Parallel()
	b := setup(t)
	group := []loop.Message[wire.Wake]{{Task: subjects.Task{Key: b.key, What: "t1"}, Deliveries: 2}}
	require.Equal(t, loop.Done(), b.pool().Handle(t.Context(), b.key, group))
	require.NotNil(t, b.last(b.names.Generate(0, b.key, subjects.WhatFinished)))
}

// TestTriggerOfAFrontend: its start has been handed over already, which the record does not say.
func TestTriggerOfAFrontend(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.pool())
	b.invokerTook("t1", wire.Span{From: now.Add(-1), To: now}, 0)
	b.request(triggerOf("t1"))
	b.eventually("the record is gone", func() bool { return !b.exists("t1") })
	handOffs, _ := b.handOffs("t1")
	require.Empty(t, handOffs)
	stream, err := b.js.Stream(t.Context(), b.names.EventStream())
	require.NoError(t, err)
	_, err = stream.GetLastMsgForSubject(t.Context(), b.names.Event(b.key, schedule.EventTriggered))
	require.NoError(t, err, "the frontend may not have lived to tell")
}

// TestCorruptRecordDoesNotTakeOthersAlong: requests of one schedule are handled together.
func TestCorruptRecordDoesNotTakeOthersAlong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bucket, err := b.js.KeyValue(t.Context(), b.names.StateBucket(0))
	require.NoError(t, err)
	_, err = bucket.Put(t.Context(), kv.Backfill(b.key, "a").String(), []byte("nonsense"))
	require.NoError(t, err)
	b.wake("a")
	b.request(triggerOf("b"))
	b.request(triggerOf("c"))
	b.run(loop.New(loop.Config{
		Bus: natstest.Bus(t, b.js), Names: b.names, Pool: subjects.PoolBackfiller, Shards: 1, Logger: natstest.Logger(t), MaxDeliveries: 2,
	}, b.pool()))
	dlq, err := b.js.Stream(t.Context(), b.names.DeadLetterStream())
	require.NoError(t, err)
	b.eventually("the corrupt one is a dead letter", func() bool {
		info, err := dlq.Info(t.Context())
		return err == nil && info.State.Msgs == 1
	})
	for _, id := range []string{"b", "c"} {
		b.eventually("the others are handed over", func() bool { handOffs, _ := b.handOffs(id); return len(handOffs) == 1 })
	}
	msg, err := dlq.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, b.names.Backfill(0, b.key, "a"), msg.Header.Get(deadletter.HeaderSubject))
}

// TestTwoPoolsCompete for the same requests: each start once.
func TestTwoPoolsCompete(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.pool())
	b.run(b.pool())
	b.request(rangeOf("b1", minutes(1), minutes(100)))
	b.eventually("it makes itself known", func() bool { handOffs, _ := b.handOffs("b1"); return len(handOffs) == 1 })
	first := minutes(1).Add(-1)
	b.invokerTook("b1", wire.Span{From: first, To: first}, 0)
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for range 10 {
				b.wake("b1")
			}
		})
	}
	running.Wait()
	b.eventually("the range is handed over", func() bool { handOffs, _ := b.handOffs("b1"); return len(handOffs) == 2 })
	b.eventually("the wakes are used up", func() bool { return b.last(b.names.Backfill(0, b.key, "b1")) == nil })
	handOffs, _ := b.handOffs("b1")
	require.Len(t, handOffs, 2, "repeats replace each other")
	require.Equal(t, 100, len(handOffs[0].Starts)+len(handOffs[1].Starts), "one of them is the announcement")
}

// TestTheEndIsToldOnce: a process died when it had told the end of a backfill, and no other took its place until JetStream had
// forgotten the ID of the event.
func TestTheEndIsToldOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stream, err := b.js.Stream(t.Context(), b.names.EventStream())
	require.NoError(t, err)
	natstest.ForgetSoon(t, b.js, b.names.EventStream())
	publish := func(kind schedule.EventKind, id string) (repeated bool) {
		ack, err := b.js.Publish(t.Context(), b.names.Event(b.key, kind), nil, jetstream.WithMsgID(id))
		require.NoError(t, err)
		return ack.Duplicate
	}
	count := func() uint64 {
		info, err := stream.Info(t.Context())
		require.NoError(t, err)
		return info.State.Msgs
	}
	state := rangeOf("b1", start, minutes(1))
	state.RequestTime, state.Mark, state.Done, state.Handed = time.Now().Add(-time.Hour), minutes(1), true, 1
	b.invokerTook("b1", wire.Span{To: minutes(1)}, 0)
	require.False(t, publish(schedule.EventBackfillCompleted, "i-backfill_completed-b1"))
	require.False(t, publish(schedule.EventDeferred, "a later one"))
	natstest.Eventually(t, patience, "the IDs are forgotten", func() bool { return !publish(schedule.EventDeferred, "a later one") })
	before := count()
	b.request(state)
	b.run(b.pool())
	b.eventually("the request is over", func() bool { return !b.exists("b1") })
	require.Equal(t, before, count())
}

// TestARequestOfADefinitionIsKept: until the generator has noted that it has made the record.
func TestARequestOfADefinitionIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	state := triggerOf("t1")
	state.Version, state.Mark, state.Done = 1, now, true
	b.invokerTook("t1", wire.Span{To: now}, 0)
	b.request(state)
	b.run(b.pool())
	b.eventually("it will look again", func() bool { return b.armed("t1") })
	require.True(t, b.exists("t1"))
	_, err := kv.Put(t.Context(), b.store, kv.Generator(b.key), &wire.GeneratorState{Incarnation: "i", Version: 1}, 0)
	require.NoError(t, err)
	b.eventually("the request is over", func() bool { return !b.exists("t1") })
}
