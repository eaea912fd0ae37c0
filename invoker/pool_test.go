package invoker_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestARunFromHandOffToResult(t *testing.T) {
	t.Parallel()
	s := running(t, runTimeout(time.Hour), func(d *wire.Definition) {
		d.Schedule.Action.TaskTimeout = schedule.Duration(time.Minute)
		d.Schedule.Action.HeartbeatTimeout = schedule.Duration(15 * time.Second)
	})
	e := s.handOff("", 1)
	s.deliver(e)
	run := s.take()
	want := e.Starts[0]
	require.Equal(t, want.RequestID, run.msg.Headers().Get("Nats-Msg-Id"))
	require.Equal(t, traceparent, run.msg.Headers().Get("traceparent"))
	require.Equal(t, "application/json", run.msg.Headers().Get("Content-Type"))
	require.Equal(t, s.names.Action("default", "q", want.WorkflowID), run.msg.Subject())
	deadline := run.Deadline
	require.WithinDuration(t, time.Now().Add(time.Hour), deadline, time.Minute)
	require.Equal(t, schedule.ActionRequest{
		Namespace: "default", ScheduleID: "nightly", WorkflowID: want.WorkflowID, RunID: wire.RunID(want.RequestID),
		RequestID: want.RequestID, Type: "record", TaskQueue: "q",
		Callback: s.names.Callback(0, s.key, "q", want.RequestID), Deadline: deadline,
		NominalTime: s.at(1).UTC(), DueTime: s.at(1).UTC(), Input: json.RawMessage(`{"a":1}`),
		Headers:     map[string]string{"h": "v"},
		TaskTimeout: schedule.Duration(time.Minute), HeartbeatTimeout: schedule.Duration(15 * time.Second),
	}, run.ActionRequest)
	s.awaitPhase(1, schedule.PhaseStarted)

	s.finish(run, schedule.StatusCompleted, `"first"`)
	s.awaitPhase(1, schedule.PhaseCompleted)
	s.due(2)
	second := s.take()
	require.JSONEq(t, `"first"`, string(second.LastSuccess))
	s.finish(second, schedule.StatusFailed, "")
	s.awaitPhase(2, schedule.PhaseCompleted)
	s.due(3)
	require.JSONEq(t, `"first"`, string(s.take().LastSuccess), "a failure keeps the last success")
	s.idle()
	require.Equal(t, slices.Concat(once, once, once[:1]), s.events())
}

// once is what one run tells.
var once = []schedule.EventKind{schedule.EventStarted, schedule.EventCompleted}

func TestAHandOffTwiceStartsOnce(t *testing.T) {
	t.Parallel()
	s := running(t)
	e := s.handOff("", 1)
	s.deliver(e)
	run := s.take()
	s.deliver(e)
	s.idle()
	s.finish(run, schedule.StatusCompleted, "")
	s.deliver(e)
	s.idle()
	require.Zero(t, s.queued())
	require.EqualValues(t, 1, s.record().Counters.Actions)
	require.Equal(t, once, s.events())
}

// TestPoolsCompete: pools in several processes get the messages of one schedule at the same time.
func TestPoolsCompete(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, policy(schedule.OverlapAllowAll))
	for range 3 {
		s.run(s.newPool())
	}
	const total = 60
	var mu sync.Mutex
	ran := map[string]int{}
	working, err := s.queue.Consume(func(msg jetstream.Msg) {
		var request schedule.ActionRequest
		if json.Unmarshal(msg.Data(), &request) != nil {
			return
		}
		mu.Lock()
		ran[request.RequestID]++
		mu.Unlock()
		body, _ := json.Marshal(&schedule.Completion{RequestID: request.RequestID, Status: schedule.StatusCompleted})
		for range 2 { // a worker that is not sure repeats itself
			_, _ = s.js.Publish(t.Context(), request.Callback, body)
		}
		_ = msg.Ack()
	})
	require.NoError(t, err)
	defer func() { working.Stop(); <-working.Closed() }()
	for n := range total {
		e := s.handOff("", n+1)
		s.deliver(e)
		if n%3 == 0 {
			s.deliver(e)
		}
	}
	natstest.Eventually(t, patience, "all runs have completed", func() bool {
		state := s.record()
		return state.Counters.Actions == total && !slices.ContainsFunc(state.Starts, func(start wire.BufferedStart) bool {
			return start.Phase != schedule.PhaseCompleted
		})
	})
	s.idle()
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, ran, total)
	for id, count := range ran {
		require.Equal(t, 1, count, id)
	}
	// A start that NATS did not answer in time is told and repeated; it begins once all the same.
	told := slices.DeleteFunc(s.events(), func(kind schedule.EventKind) bool { return kind == schedule.EventRetried })
	require.Len(t, told, 2*total)
	require.Equal(t, wire.Counters{Actions: total}, s.record().Counters)
}

func TestGarbageIsADeadLetter(t *testing.T) {
	t.Parallel()
	s := running(t)
	s.due(1)
	run := s.take()
	handOff, err := codec.Marshal(&wire.Enqueue{Source: schedule.SourceAuto})
	require.NoError(t, err)
	garbage := map[string]string{
		run.Callback: "{", s.names.InvokeWake(0, s.key): "?", s.names.InvokeWake(0, s.key) + "-x": "\x01\xc1",
		s.names.InvokeEnqueue(0, s.key, "b", wire.Span{}):    "\x01\xc1",
		s.names.InvokeWake(0, s.key) + "-of-a-later-release": string(handOff),
		s.names.Callback(0, s.key, "q", "other"):             `{"requestId":"r","status":"failed"}`,
	}
	for subject, body := range garbage {
		s.publish(subject, []byte(body))
	}
	letters := func() []*jetstream.RawStreamMsg {
		return append(s.history(s.names.DeadLetterStream()), s.history(s.names.WorkerDeadLetterStream())...)
	}
	natstest.Eventually(t, patience, "dead letters", func() bool { return len(letters()) == len(garbage) })
	for _, letter := range letters() {
		owner, err := s.names.ParseDeadLetter(letter.Subject)
		require.NoError(t, err)
		require.Equal(t, subjects.PoolInvoker, owner.Pool)
		require.Equal(t, subjects.IsCallback(letter.Header.Get(deadletter.HeaderSubject)), owner.TaskQueue != "")
		require.Equal(t, garbage[letter.Header.Get(deadletter.HeaderSubject)], string(letter.Data))
		require.NotEmpty(t, letter.Header.Get(deadletter.HeaderReason))
		stream := s.names.TaskStream(0)
		if subjects.IsCallback(letter.Header.Get(deadletter.HeaderSubject)) {
			stream = s.names.CallbackStream(0)
		}
		require.Equal(t, stream, letter.Header.Get(deadletter.HeaderStream))
		require.NotEmpty(t, letter.Header.Get(deadletter.HeaderSequence))
		require.Equal(t, "1", letter.Header.Get(deadletter.HeaderDeliveries))
		require.Equal(t, traceparent, letter.Header.Get("traceparent"))
	}
	s.finish(run, schedule.StatusCompleted, "")
	s.awaitPhase(1, schedule.PhaseCompleted)
}

func TestACorruptRecordHarmsNoOtherSchedule(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	pool := s.newPool()
	s.run(loop.New(loop.Config{
		Bus: natstest.Bus(t, s.js), Names: s.names, Pool: subjects.PoolInvoker, Shards: 1, Logger: natstest.Logger(t), MaxDeliveries: 2,
	}, pool))
	bucket, err := s.js.KeyValue(t.Context(), s.names.StateBucket(0))
	require.NoError(t, err)
	_, err = bucket.Put(t.Context(), kv.Invoker(s.key).String(), []byte("garbage"))
	require.NoError(t, err)
	s.due(1)
	natstest.Eventually(t, patience, "a dead letter", func() bool { return len(s.history(s.names.DeadLetterStream())) == 1 })
	letter := s.history(s.names.DeadLetterStream())[0]
	require.Equal(t, "2", letter.Header.Get(deadletter.HeaderDeliveries))
	require.Contains(t, letter.Header.Get(deadletter.HeaderReason), "cannot be decoded")

	s.key, s.handed = s.define("healthy"), s.began
	s.due(2)
	require.Equal(t, "healthy", s.take().ScheduleID)
}

func TestRunTimeoutOfARunNobodyTakes(t *testing.T) {
	t.Parallel()
	s := running(t, runTimeout(50*time.Millisecond))
	s.due(1)
	s.awaitPhase(1, schedule.PhaseCompleted)
	require.Equal(t, schedule.StatusTimedOut, s.record().Ended.Runs()[0].Status)
	natstest.Eventually(t, patience, "the run is withdrawn", func() bool { return s.queued() == 0 })
	s.idle()
	require.Equal(t, []schedule.EventKind{schedule.EventStarted, schedule.EventCompleted}, s.events())
	record, err := kv.GetLeader(t.Context(), s.store, kv.Result(s.key))
	require.NoError(t, err)
	require.Equal(t, "timeout", record.Value.Failure.Type)
}

func TestTerminateTakesTheRunOutOfTheQueue(t *testing.T) {
	t.Parallel()
	s := running(t, policy(schedule.OverlapTerminateOther))
	s.due(1)
	s.awaitPhase(1, schedule.PhaseStarted)
	s.due(2)
	s.awaitPhase(2, schedule.PhaseStarted)
	require.Equal(t, 1, s.queued())
	require.Equal(t, s.at(2).UTC(), s.take().NominalTime)
	s.idle()
	controls := s.history(s.names.ControlStream())
	require.Len(t, controls, 1)
	var control schedule.Control
	require.NoError(t, json.Unmarshal(controls[0].Data, &control))
	first := s.start(1)
	require.Equal(t, schedule.Control{
		Kind: schedule.ControlTerminate, RequestID: first.RequestID, RunID: wire.RunID(first.RequestID), WorkflowID: first.WorkflowID,
	}, control)
	require.Equal(t, schedule.PhaseCompleted, s.phase(1))
	require.Empty(t, s.record().Controls)
}

func TestCancelIsDelivered(t *testing.T) {
	t.Parallel()
	s := running(t, policy(schedule.OverlapCancelOther))
	s.due(1)
	run := s.take()
	s.due(2)
	natstest.Eventually(t, patience, "a control", func() bool { return len(s.history(s.names.ControlStream())) == 1 })
	s.idle()
	require.Equal(t, 1, s.queued(), "a canceled run ends by itself")
	s.finish(run, schedule.StatusCanceled, "")
	require.Equal(t, s.at(2).UTC(), s.take().NominalTime)
}

// TestSuccessorOfTheSameWorkflowID: a worker reports before it acknowledges, so the next run of the same workflow ID
// finds its predecessor in the stream.
func TestSuccessorOfTheSameWorkflowID(t *testing.T) {
	t.Parallel()
	s := running(t, policy(schedule.OverlapBufferAll), keepOriginal)
	s.due(1)
	first := s.take()
	s.due(2)
	s.awaitPhase(2, schedule.PhaseDeferred)
	s.report(first.RequestID, first.Callback, schedule.StatusCompleted, "")
	second := s.take()
	require.Equal(t, first.WorkflowID, second.WorkflowID)
	require.NotEqual(t, first.RequestID, second.RequestID)
	require.NoError(t, first.msg.DoubleAck(t.Context()), "its acknowledgement does no harm")
	s.awaitPhase(2, schedule.PhaseStarted)
	require.Equal(t, 1, s.queued())
	require.Zero(t, s.record().Counters.BufferDropped)
}

func TestAStartOfARunningWorkflowIDIsDropped(t *testing.T) {
	t.Parallel()
	s := running(t, policy(schedule.OverlapAllowAll), keepOriginal)
	s.due(1)
	s.awaitPhase(1, schedule.PhaseStarted)
	s.due(2)
	natstest.Eventually(t, patience, "it is dropped", func() bool { return s.record().Counters.BufferDropped == 1 })
	require.Equal(t, s.at(1).UTC(), s.take().NominalTime)
	require.Equal(t, 1, s.queued())
}

func TestPauseOnFailureIsWritten(t *testing.T) {
	t.Parallel()
	s := running(t, policy(schedule.OverlapBufferAll), pauseOnFailure)
	s.due(1)
	run := s.take()
	s.due(2)
	s.awaitPhase(2, schedule.PhaseDeferred)
	s.finish(run, schedule.StatusFailed, "")
	s.awaitPhase(2, "")
	d := s.definition()
	require.True(t, d.Schedule.State.Paused)
	require.Equal(t, "pause on failure", d.PausedBy)
	require.WithinDuration(t, time.Now(), d.PauseTime, time.Minute)
	require.Equal(t, "paused on failure: run "+run.RunID+" of "+run.WorkflowID+" failed", d.Schedule.State.Notes)
	require.EqualValues(t, 2, d.Version)
	require.Zero(t, s.queued())
	s.idle()
	require.Contains(t, s.events(), schedule.EventPaused)
	stream, err := s.js.Stream(t.Context(), s.names.TaskStream(0))
	require.NoError(t, err)
	_, err = stream.GetLastMsgForSubject(t.Context(), s.names.GenerateWake(0, s.key, 2))
	require.NoError(t, err, "the generator is woken")
	_, err = stream.GetLastMsgForSubject(t.Context(), s.names.GuardTimer(0, s.key, 2))
	require.ErrorIs(t, err, jetstream.ErrMsgNotFound)
}

func TestDeleteRemovesTheRecords(t *testing.T) {
	t.Parallel()
	s := running(t, policy(schedule.OverlapBufferAll))
	s.due(1)
	s.finish(s.take(), schedule.StatusCompleted, "1")
	s.awaitPhase(1, schedule.PhaseCompleted)
	s.due(2)
	run := s.take()
	s.due(3, 4)
	s.awaitPhase(4, schedule.PhaseDeferred)
	s.idle()
	definition, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
	require.NoError(t, err)
	require.NoError(t, kv.Delete(t.Context(), s.store, kv.Definition(s.key), definition.Revision))
	s.wake()
	s.idle()
	_, err = kv.GetLeader(t.Context(), s.store, kv.Invoker(s.key))
	require.ErrorIs(t, err, kv.ErrNotFound)
	_, err = kv.GetLeader(t.Context(), s.store, kv.Result(s.key))
	require.ErrorIs(t, err, kv.ErrNotFound)
	events := s.events()
	require.Equal(t, []schedule.EventKind{schedule.EventDropped, schedule.EventDropped}, events[len(events)-2:])

	require.Equal(t, 1, s.queued(), "the run goes on")
	s.finish(run, schedule.StatusCompleted, "")
	s.idle()
	require.Empty(t, s.history(s.names.DeadLetterStream()))
	require.Len(t, s.events(), len(events))
}

// TestBackfills: the hand-offs of a backfill count while it has a record or is known, and not after.
func TestBackfills(t *testing.T) {
	t.Parallel()
	s := running(t, policy(schedule.OverlapAllowAll))
	from := func(n int) wire.Enqueue {
		e := s.handOff("", n)
		e.Source, e.Starts = "b1", []wire.BufferedStart{wire.NewStart(s.definition(), "b1", s.at(n), s.at(n))}
		return e
	}
	s.deliver(from(1))
	s.idle()
	require.Empty(t, s.record().Starts, "there is no such backfill")

	revision, err := kv.Put(t.Context(), s.store, kv.Backfill(s.key, "b1"), &wire.BackfillState{ID: "b1"}, 0)
	require.NoError(t, err)
	second := from(2)
	second.Complete = true
	s.deliver(second)
	require.Equal(t, s.at(2).UTC(), s.take().NominalTime)
	natstest.Eventually(t, patience, "the backfiller is woken", func() bool {
		stream, err := s.js.Stream(t.Context(), s.names.TaskStream(0))
		require.NoError(t, err)
		_, err = stream.GetLastMsgForSubject(t.Context(), s.names.Backfill(0, s.key, "b1"))
		return err == nil
	})
	require.NoError(t, kv.Delete(t.Context(), s.store, kv.Backfill(s.key, "b1"), revision))
	s.wake()
	natstest.Eventually(t, patience, "it is forgotten", func() bool { return len(s.record().Sources) == 0 })
	s.deliver(second)
	s.idle()
	require.Empty(t, s.record().Sources)
	require.Len(t, s.record().Starts, 1)
}

// TestALargeRecord: a thousand starts with their events are more than one message holds.
func TestALargeRecord(t *testing.T) {
	t.Parallel()
	s := running(t, policy(schedule.OverlapBufferAll))
	s.due(1)
	run := s.take()
	seconds := make([]int, invoker.BufferLimit)
	for i := range seconds {
		seconds[i] = i + 2
	}
	e := s.handOff("", seconds...)
	for i := 1; i < len(e.Starts); i++ {
		e.Starts[i].WorkflowID = fmt.Sprint(i) + strings.Repeat("x", 3000)
	}
	s.deliver(e)
	natstest.Eventually(t, patience, "all wait", func() bool { return len(s.record().Starts) == 1+len(seconds) })
	s.idle()
	require.Len(t, s.events(), 1+len(seconds))
	s.finish(run, schedule.StatusCompleted, "")
	require.Equal(t, s.at(2).UTC(), s.take().NominalTime)
}
