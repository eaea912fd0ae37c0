package consistency_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// started makes a schedule with a run that waits for a worker.
func started(s *installation, id string, change ...func(*schedule.CreateRequest)) (schedule.Key, wire.BufferedStart) {
	s.Helper()
	key := s.create(id, time.Hour, change...)
	s.trigger(id)
	var start wire.BufferedStart
	s.eventually("it runs", func() bool {
		record, err := kv.OrZero(kv.GetLeader(s.Context(), s.store, kv.Invoker(key)))
		require.NoError(s, err)
		for _, start = range record.Value.Starts {
			_, known := record.Value.Sources[start.Source]
			return start.Running() && !known
		}
		return false
	})
	return key, start
}

func (s *installation) unqueue(key schedule.Key, start wire.BufferedStart) {
	s.Helper()
	s.purge(s.names.ActionStream(), s.names.Action(key.Namespace, start.TaskQueue, start.WorkflowID))
}

func TestStartWithoutARun(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	key, start := started(s, "a")
	require.Empty(t, s.finds(false), "it is queued")
	s.unqueue(key, start)
	s.mends(consistency.RunLost)
	s.failsAsLost("a", start)
	s.work()
	s.trigger("a")
	s.eventually("the next one runs", func() bool { return s.ran("a") == 1 })
}

func TestLostRunWithATimeout(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	key := s.create("a", time.Hour, func(r *schedule.CreateRequest) { r.Action.RunTimeout = schedule.Duration(time.Hour) })
	s.trigger("a")
	s.eventually("it runs", func() bool { return len(s.describe("a").Info.RunningWorkflows) == 1 })
	record, err := kv.GetLeader(t.Context(), s.store, kv.Invoker(key))
	require.NoError(t, err)
	s.unqueue(key, record.Value.Starts[0])
	timeout := s.names.TimeoutTimer(s.shard(key), key, record.Value.Starts[0].RequestID)
	require.True(t, s.there(s.names.TaskStream(s.shard(key)), timeout))
	s.mends(consistency.RunLost)
	assert.False(t, s.there(s.names.TaskStream(s.shard(key)), timeout), "its timer goes with it")
}

// unpublished makes another start of a start: the action stream would take the same one for a repeat.
func unpublished(start *wire.BufferedStart) {
	start.RequestID += "-2"
	start.RunID, start.StartTime = wire.RunID(start.RequestID), time.Time{}
}

// plantStart makes the run of a new schedule a start that has reached a phase and that nothing wakes.
func (s *installation) plantStart(id string, phase schedule.Phase) {
	s.Helper()
	key, start := started(s, id)
	s.unqueue(key, start)
	put(s, kv.Invoker(key), func(i *wire.InvokerState) {
		unpublished(&i.Starts[0])
		i.Starts[0].Phase = phase
		if phase == schedule.PhaseDeferred {
			i.Starts[0].Attempt = 0
		}
	})
}

func TestReadyStartThatNobodyTries(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.plantStart("a", schedule.PhaseReady)
	s.mends(consistency.StartsStalled)
	s.work()
	s.eventually("it has run", func() bool { return s.ran("a") == 1 })
}

func TestDeferredStartThatWaitsForNothing(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.plantStart("a", schedule.PhaseDeferred)
	s.mends(consistency.StartsStalled)
	s.work()
	s.eventually("it has run", func() bool { return s.ran("a") == 1 })
}

func (s *installation) completion(key schedule.Key, start wire.BufferedStart) *nats.Msg {
	s.Helper()
	body, err := json.Marshal(&schedule.Completion{
		RequestID: start.RequestID, RunID: start.RunID, Status: schedule.StatusCompleted, CloseTime: time.Now(),
	})
	require.NoError(s, err)
	return &nats.Msg{
		Subject: s.names.Callback(s.shard(key), key, start.TaskQueue, start.RequestID), Header: nats.Header{}, Data: body,
	}
}

func (s *installation) plantDeadCompletion(id string) wire.BufferedStart {
	s.Helper()
	key, start := started(s, id)
	s.writeLetter(s.names.DeadLetter(subjects.PoolInvoker), s.completion(key, start), s.names.TaskStream(s.shard(key)), 999999)
	s.unqueue(key, start)
	return start
}

func TestCompletionThatIsADeadLetter(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	start := s.plantDeadCompletion("a")
	s.mends(consistency.CompletionDead)
	s.completes("a", start)
}

// writeLetter writes a dead letter of a message on a subject.
func (s *installation) writeLetter(subject string, msg *nats.Msg, stream string, sequence uint64) {
	s.Helper()
	for name, value := range map[string]string{
		deadletter.HeaderReason: "no good", deadletter.HeaderDeliveries: "10", deadletter.HeaderSubject: msg.Subject,
		deadletter.HeaderStream: stream, deadletter.HeaderSequence: fmt.Sprint(sequence),
	} {
		msg.Header.Set(name, value)
	}
	msg.Subject = subject
	_, err := s.js.PublishMsg(s.Context(), msg)
	require.NoError(s, err)
}

func (s *installation) plantDeadRequest(id string) {
	s.Helper()
	key, start := started(s, id)
	stream, err := s.js.Stream(s.Context(), s.names.ActionStream())
	require.NoError(s, err)
	stored, err := stream.GetLastMsgForSubject(s.Context(), s.names.Action(key.Namespace, start.TaskQueue, start.WorkflowID))
	require.NoError(s, err)
	letter := s.names.WorkerDeadLetter(key.Namespace, start.TaskQueue)
	s.writeLetter(letter, &nats.Msg{Subject: stored.Subject, Header: nats.Header{}, Data: stored.Data}, s.names.ActionStream(), stored.Sequence)
	s.unqueue(key, start)
}

func TestStartRequestThatIsADeadLetter(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.plantDeadRequest("a")
	found := s.finds(false)
	require.Equal(t, []consistency.Kind{consistency.RequestDead}, kindsOf(found))
	assert.False(t, found[0].Automatic())
	// For the stream the replay is a repeat for two minutes, and the report says so.
	found = s.finds(true)
	require.Len(t, found, 1)
	assert.False(t, found[0].Repaired)
	assert.NotEmpty(t, found[0].Problem)
}

// plantPassedOver loses a completion as a server might: the consumer does not want it while it is stored, and moves on to a later
// message.
func (s *installation) plantPassedOver(id string) wire.BufferedStart {
	s.Helper()
	key, start := started(s, id)
	s.unqueue(key, start)
	shard := s.shard(key)
	stream, config := s.names.CallbackStream(shard), s.names.ConsumersOfPool(shard, subjects.PoolInvoker)[1].Config
	require.Equal(s, subjects.PoolInvoker, config.Durable)
	later := s.names.Callback(shard, key, start.TaskQueue, "later")
	narrow := config
	narrow.FilterSubjects = []string{later}
	_, err := s.js.UpdateConsumer(s.Context(), stream, narrow)
	require.NoError(s, err)
	_, err = s.js.PublishMsg(s.Context(), s.completion(key, start))
	require.NoError(s, err)
	_, err = s.js.Publish(s.Context(), later, []byte(`{"requestId":"later","status":"completed"}`))
	require.NoError(s, err)
	s.eventually("the later one is handled", func() bool { return !s.there(stream, later) })
	_, err = s.js.UpdateConsumer(s.Context(), stream, config)
	require.NoError(s, err)
	require.True(s, s.there(stream, s.names.Callback(shard, key, start.TaskQueue, start.RequestID)), "the completion is stored")
	return start
}

func TestCompletionThatItsConsumerHasPassedOver(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	start := s.plantPassedOver("a")
	s.mends(consistency.TaskStranded)
	s.completes("a", start)
}

func TestRecordsThatCannotBeMended(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	key, _ := started(s, "a")
	other := s.create("b", time.Hour)
	truncate(s, key, kv.Invoker(key))
	truncate(s, other, kv.Definition(other))
	bucket, err := s.js.KeyValue(t.Context(), s.names.StateBucket(s.shard(other)))
	require.NoError(t, err)
	_, err = bucket.Put(t.Context(), kv.Generator(other).String(), []byte{codec.FormatVersion + 1, 0x80})
	require.NoError(t, err)
	found := s.finds(true)
	require.Equal(t, []consistency.Kind{consistency.RecordDamaged, consistency.RecordDamaged, consistency.RecordForeign}, kindsOf(found))
	for _, f := range found {
		assert.False(t, f.Repairable)
		assert.False(t, f.Repaired)
	}
	// Follow its advice: remove the schedule, then the rest of it.
	require.NoError(t, s.api.Delete(t.Context(), "a"))
	require.NoError(t, bucket.Purge(t.Context(), kv.Definition(other).String()))
	require.NoError(t, bucket.Purge(t.Context(), kv.Generator(other).String()))
	s.eventually("the deletion has got stuck", func() bool {
		return isGone(s, kv.Generator(key)) && !s.there(s.names.TaskStream(s.shard(key)), s.names.Generate(s.shard(key), key, "*"))
	})
	s.purge(s.names.TaskStream(s.shard(key)), s.names.InvokeWake(s.shard(key), key)) // it would be retried for 43 s
	s.eventually("the record is removed", func() bool { s.finds(true); return isGone(s, kv.Invoker(key)) })
	s.eventually("nothing is wrong", func() bool { return len(s.finds(true)) == 0 })
}

func TestTruncatedResultAndBackfill(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.work()
	key := s.create("a", time.Hour)
	s.trigger("a")
	s.eventually("it has run", func() bool { return !isGone(s, kv.Result(key)) && len(s.describe("a").Info.RunningWorkflows) == 0 })
	truncate(s, key, kv.Result(key))
	put(s, kv.Backfill(key, "b1"), func(b *wire.BackfillState) { b.ID = "b1" })
	truncate(s, key, kv.Backfill(key, "b1"))
	s.mends(consistency.RecordDamaged, consistency.RecordDamaged)
	s.trigger("a")
	s.eventually("it runs on", func() bool { return s.ran("a") == 2 })
}

// plantBackfills makes three triggers that nothing wakes: of a schedule, of an earlier schedule with its ID, and of none.
func (s *installation) plantBackfills(key, gone schedule.Key) {
	s.Helper()
	definition, err := kv.GetLeader(s.Context(), s.store, kv.Definition(key))
	require.NoError(s, err)
	plant := func(key schedule.Key, id, incarnation string) {
		put(s, kv.Backfill(key, id), func(b *wire.BackfillState) {
			*b = wire.BackfillState{
				ID: id, Incarnation: incarnation, RequestTime: time.Now().UTC(), Trigger: &schedule.Trigger{},
			}
		})
	}
	plant(key, "b1", definition.Value.Incarnation)
	plant(key, "b2", "another")
	plant(gone, "b3", "i")
}

func TestBackfillsThatNobodyLooksAfter(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.work()
	key, gone := s.create("a", time.Hour), schedule.Key{Namespace: "default", ID: "gone"}
	s.plantBackfills(key, gone)
	s.mends(consistency.BackfillStalled, consistency.BackfillOrphaned, consistency.BackfillOrphaned)
	s.eventually("the trigger has run", func() bool { return s.ran("a") == 1 })
	assert.True(t, isGone(s, kv.Backfill(key, "b2")) && isGone(s, kv.Backfill(gone, "b3")))
}

// plantSource makes the invoker keep room for a backfill that is over.
func (s *installation) plantSource(id string) schedule.Key {
	s.Helper()
	key, _ := started(s, id)
	put(s, kv.Invoker(key), func(i *wire.InvokerState) {
		covered := []wire.Span{{From: time.Unix(1, 0).UTC(), To: time.Unix(2, 0).UTC()}}
		i.Sources = map[string]wire.SourceProgress{"b1": {Covered: covered}}
	})
	return key
}

func TestSourceOfABackfillThatIsOver(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.plantSource("a")
	s.mends(consistency.SourceStale)
}

// leftovers are schedules that are gone and have left something behind.
type leftovers struct{ records, timers, result schedule.Key }

func (s *installation) plantLeftovers() leftovers {
	s.Helper()
	left := leftovers{
		schedule.Key{Namespace: "default", ID: "records"}, schedule.Key{Namespace: "default", ID: "ti.mers"},
		schedule.Key{Namespace: "other", ID: "result"},
	}
	b := natstest.Bus(s, s.js)
	for _, key := range []schedule.Key{left.records, left.timers} {
		stream := s.shard(key)
		arm := func(timerSubject, target string) {
			body, err := codec.Marshal(&wire.Wake{Reason: wire.ReasonDue})
			require.NoError(s, err)
			require.NoError(s, task.ArmMessage(s.Context(), b, timerSubject, target, time.Now().Add(8760*time.Hour), nil, body))
		}
		arm(s.names.DueTimer(stream, key), s.names.Generate(stream, key, subjects.WhatDue))
		arm(s.names.RetryTimer(stream, key), s.names.InvokeWake(stream, key))
		arm(s.names.TimeoutTimer(stream, key, "r1"), s.names.Timeout(stream, key, "r1")) // its run may continue
	}
	put(s, kv.Generator(left.records), func(g *wire.GeneratorState) { g.Incarnation = "i" })
	put(s, kv.Invoker(left.records), func(i *wire.InvokerState) { i.Incarnation = "i" })
	put(s, kv.Result(left.records), func(r *wire.Result) { r.Incarnation = "i" })
	put(s, kv.Result(left.result), func(r *wire.Result) { r.Incarnation = "i" })
	return left
}

// areGone waits until everything that must go is gone, and checks that the rest is still there.
func (s *installation) areGone(left leftovers) {
	s.Helper()
	s.eventually("all of it is gone", func() bool {
		return isGone(s, kv.Generator(left.records)) && isGone(s, kv.Invoker(left.records)) &&
			isGone(s, kv.Result(left.records)) && isGone(s, kv.Result(left.result))
	})
	for _, key := range []schedule.Key{left.records, left.timers} {
		shard := s.shard(key)
		stream := s.names.TaskStream(shard)
		s.eventually("its timers are gone", func() bool {
			return !s.there(stream, s.names.DueTimer(shard, key)) && !s.there(stream, s.names.RetryTimer(shard, key))
		})
		assert.True(s, s.there(stream, s.names.TimeoutTimer(shard, key, "r1")))
	}
}

func TestWhatIsLeftOfADeletedSchedule(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	left := s.plantLeftovers()
	s.mends(consistency.RecordOrphaned, consistency.RecordOrphaned, consistency.RecordOrphaned,
		consistency.TimerOrphaned, consistency.TimerOrphaned)
	s.areGone(left)
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	for i, namespace := range []string{"one", "two"} {
		key := schedule.Key{Namespace: namespace, ID: fmt.Sprint(i)}
		put(s, kv.Result(key), func(r *wire.Result) { r.Incarnation = "i" })
	}
	report, err := s.checker.Check(t.Context(), "two", false)
	require.NoError(t, err)
	require.Len(t, report.Findings, 1)
	require.Equal(t, "two", report.Findings[0].Namespace)
	require.Equal(t, 1, report.Schedules)
}

// TestWakeForAScheduleThatIsBackAgain: the repair of a timer of a schedule that is gone does no harm to a schedule that has been
// created in between.
func TestWakeForAScheduleThatIsBackAgain(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	key := s.create("a", time.Hour)
	shard := s.shard(key)
	due := s.names.DueTimer(shard, key)
	s.eventually("its timer is set", func() bool { return s.there(s.names.TaskStream(shard), due) })
	wake := &wire.Wake{Version: math.MaxUint64, Reason: wire.ReasonRetry}
	bus := natstest.Bus(t, s.js)
	require.NoError(t, task.PublishAndPurge(t.Context(), bus, s.names.Generate(shard, key, subjects.WhatGuard), due, wake))
	require.NoError(t, task.PublishAndPurge(t.Context(), bus, s.names.InvokeWake(shard, key), "", wake))
	s.eventually("the wakes are handled", func() bool {
		return !s.there(s.names.TaskStream(shard), s.names.Generate(shard, key, "*")) &&
			!s.there(s.names.TaskStream(shard), s.names.InvokeWake(shard, key))
	})
	assert.True(t, s.there(s.names.TaskStream(shard), due), "it is set anew")
	s.describe("a")
	require.Empty(t, s.finds(false))
}
