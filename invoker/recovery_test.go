package invoker_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// These tests arrange what a process has left behind that died at some point, and let another take its messages.

func clock(now func() time.Time) func(*invoker.Config) {
	return func(c *invoker.Config) { c.Now = now }
}

// publishedBefore puts the start request of an earlier attempt into the action stream.
func (s *installation) publishedBefore(start wire.BufferedStart) {
	s.t.Helper()
	body, err := json.Marshal(&schedule.ActionRequest{
		RequestID: start.RequestID, Callback: s.names.Callback(0, s.key, "q", start.RequestID), NominalTime: start.Nominal,
	})
	require.NoError(s.t, err)
	msg := &nats.Msg{Subject: s.names.Action("default", "q", start.WorkflowID), Header: nats.Header{}, Data: body}
	_, err = s.js.PublishMsg(s.t.Context(), msg, jetstream.WithMsgID(start.RequestID))
	require.NoError(s.t, err)
}

func TestDiedBeforeTheStartWasPublished(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	e := s.handOff("", 1)
	s.put(s.afterHandOff(e))
	s.deliver(e)
	s.run(s.newPool())
	run := s.take()
	s.awaitPhase(1, schedule.PhaseStarted)
	s.finish(run, schedule.StatusCompleted, "")
	s.awaitPhase(1, schedule.PhaseCompleted)
	s.idle()
	require.Zero(t, s.queued())
	require.Equal(t, []schedule.EventKind{schedule.EventStarted, schedule.EventCompleted}, s.events())
}

func TestDiedBeforeTheStartWasRecorded(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	e := s.handOff("", 1)
	s.put(s.afterHandOff(e))
	s.publishedBefore(e.Starts[0])
	run := s.take()
	s.deliver(e)
	s.run(s.newPool())
	s.awaitPhase(1, schedule.PhaseStarted)
	require.Equal(t, 1, s.queued())
	s.finish(run, schedule.StatusCompleted, "")
	s.awaitPhase(1, schedule.PhaseCompleted)
	require.Zero(t, s.queued())
}

// TestCompletedBeforeTheStartWasRecorded: the redelivery comes before the completion, and later than JetStream remembers
// message IDs.
func TestCompletedBeforeTheStartWasRecorded(t *testing.T) {
	t.Parallel()
	for name, attempt := range map[string]int{"first attempt": 1, "backoff just over": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newInstallation(t)
			e := s.handOff("", 1)
			state := s.afterHandOff(e)
			state.Starts[0].Attempt = attempt
			s.put(state)
			callback := s.names.Callback(0, s.key, "q", e.Starts[0].RequestID)
			s.report(e.Starts[0].RequestID, callback, schedule.StatusCompleted, "1")
			s.handle(s.newPool(), wakeUp)
			require.Zero(t, s.queued(), "it has run")
			require.Equal(t, schedule.PhaseReady, s.phase(1))

			s.run(s.newPool())
			s.awaitPhase(1, schedule.PhaseCompleted)
			s.idle()
			require.Zero(t, s.queued())
			require.EqualValues(t, 1, s.record().Counters.Actions)
		})
	}
}

// TestCompletedByAnotherProcess: this process has read the record; another applies the completion and acknowledges it
// before this one looks for it.
func TestCompletedByAnotherProcess(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	s.put(s.afterHandOff(s.handOff("", 1)))
	var calls atomic.Int32
	pool := s.newPool(clock(func() time.Time {
		if calls.Add(1) == 2 { // the first call precedes the reading of the record
			s.completeElsewhere()
		}
		return time.Now()
	}))
	s.handle(pool, wakeUp)
	require.Zero(t, s.queued())
	require.Equal(t, schedule.PhaseCompleted, s.phase(1))
	require.EqualValues(t, 1, s.record().Counters.Actions)
}

// completeElsewhere writes what another process makes of the completion of all that is ready.
func (s *installation) completeElsewhere() {
	record, err := kv.GetLeader(s.t.Context(), s.store, kv.Invoker(s.key))
	require.NoError(s.t, err)
	var in invoker.Input
	for _, start := range record.Value.Starts {
		in.Completions = append(in.Completions, schedule.Completion{RequestID: start.RequestID, Status: schedule.StatusCompleted})
	}
	out := invoker.Transition(s.definition(), record.Value, in, time.Now())
	_, err = kv.Put(s.t.Context(), s.store, kv.Invoker(s.key), &out.State, record.Revision)
	require.NoError(s.t, err)
}

// TestASuspendedProcess: it has written that a start is ready, and stands still for minutes. Meanwhile another process
// starts the run, which ends.
func TestASuspendedProcess(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	e := s.handOff("", 1)
	var asleep atomic.Bool
	pool := s.newPool(clock(func() time.Time {
		if asleep.Load() {
			return time.Now().Add(3 * time.Minute)
		}
		if record, err := kv.GetLeader(t.Context(), s.store, kv.Invoker(s.key)); err == nil && len(record.Value.Starts) > 0 {
			asleep.Store(true)
			s.completeElsewhere()
		}
		return time.Now()
	}))
	s.handle(pool, invoker.Message{Enqueue: &e})
	require.True(t, asleep.Load())
	require.Zero(t, s.queued(), "it must not start what has run")
	require.Equal(t, schedule.PhaseCompleted, s.phase(1))
}

// TestASuspendedProcessBehindItsTimer: the same, where the process has armed the timeout timer of the run just before.
func TestASuspendedProcessBehindItsTimer(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, runTimeout(time.Hour))
	e := s.handOff("", 1)
	timer := s.names.TimeoutTimer(0, s.key, e.Starts[0].RequestID)
	stream, err := s.js.Stream(t.Context(), s.names.TaskStream(0))
	require.NoError(t, err)
	var asleep atomic.Bool
	pool := s.newPool(clock(func() time.Time {
		if asleep.Load() {
			return time.Now().Add(3 * time.Minute)
		}
		if _, err := stream.GetLastMsgForSubject(t.Context(), timer); err == nil {
			asleep.Store(true)
			s.completeElsewhere()
			return time.Now().Add(3 * time.Minute)
		}
		return time.Now()
	}))
	s.handle(pool, invoker.Message{Enqueue: &e})
	require.True(t, asleep.Load())
	require.Zero(t, s.queued(), "it must not start what has run")
	require.Equal(t, schedule.PhaseCompleted, s.phase(1))
}

// dying is a bucket that refuses every write of a key for as long as it is dying.
type dying struct {
	kv.Buckets
	key   string
	dying atomic.Bool
}

func (d *dying) Update(ctx context.Context, bucket, key string, value []byte, last uint64) (uint64, error) {
	if key == d.key && d.dying.Load() {
		return 0, errors.New("the process has died")
	}
	return d.Buckets.Update(ctx, bucket, key, value, last)
}

// TestDiedAfterThePause: pause-on-failure is in the definition, but the completion has not been recorded. It is told, once,
// also where somebody ends the pause before the completion comes again.
func TestDiedAfterThePause(t *testing.T) {
	t.Parallel()
	for _, unpaused := range []bool{false, true} {
		s := newInstallation(t, pauseOnFailure)
		buckets, err := kv.OpenBuckets(t.Context(), s.js, s.names, 1)
		require.NoError(t, err)
		bucket := &dying{Buckets: buckets, key: kv.Invoker(s.key).String()}
		stop := s.run(s.newPool(func(c *invoker.Config) { c.Store = kv.NewStore(bucket, s.names, 1) }))
		s.due(1)
		run := s.take()
		s.idle()
		bucket.dying.Store(true)
		s.finish(run, schedule.StatusFailed, "")
		natstest.Eventually(t, patience, "it is paused", func() bool { return s.definition().Schedule.State.Paused })
		natstest.Eventually(t, patience, "it is told", func() bool { return slices.Contains(s.events(), schedule.EventPaused) })
		stop()
		record, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
		require.NoError(t, err)
		require.Len(t, record.Value.Events, 1)
		require.EqualValues(t, 2, record.Value.Events[0].Version)
		require.Equal(t, wire.PausedEventID(record.Value.Incarnation, 2), record.Value.Events[0].Event.ID)
		want := 1
		if unpaused { // the run has failed since
			want = 2
			record.Value.Version++
			record.Value.Schedule.State.Paused = false
			_, err = kv.Put(t.Context(), s.store, kv.Definition(s.key), &record.Value, record.Revision)
			require.NoError(t, err)
		}
		s.run(s.newPool())
		s.awaitPhase(1, schedule.PhaseCompleted)
		s.idle()
		require.Len(t, slices.DeleteFunc(s.events(), func(k schedule.EventKind) bool { return k != schedule.EventPaused }), want)
	}
}

// TestEventsLongAgoAreNotRepeated: the record keeps the events of the last transition. Another process that takes the
// next message hours later must not publish them again, when JetStream has forgotten their IDs.
func TestEventsLongAgoAreNotRepeated(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	natstest.ForgetSoon(t, s.js, s.names.EventStream())

	anHourAgo := clock(func() time.Time { return time.Now().Add(-time.Hour) })
	e := s.handOff("", 1)
	s.handle(s.newPool(anHourAgo), invoker.Message{Enqueue: &e})
	require.NotEmpty(t, s.record().Outbox)
	before := s.events()
	require.Equal(t, []schedule.EventKind{schedule.EventStarted}, before)
	s.awaitForgetful()

	s.handle(s.newPool(), wakeUp)
	require.Equal(t, before, s.events())

	// One that never arrived is published, however old; also where a later one of its kind did arrive, since what is
	// published at once may be lost in part.
	record, err := kv.GetLeader(t.Context(), s.store, kv.Invoker(s.key))
	require.NoError(t, err)
	for _, id := range []string{"inc-nightly-76", "inc-nightly-77"} {
		lost := record.Value.Outbox[0]
		lost.ID, lost.Kind = id, schedule.EventSkipped
		record.Value.Outbox = append(record.Value.Outbox, lost)
	}
	_, err = kv.Put(t.Context(), s.store, kv.Invoker(s.key), &record.Value, record.Revision)
	require.NoError(t, err)
	arrived := record.Value.Outbox[len(record.Value.Outbox)-1]
	require.NoError(t, events.NewPublisher(natstest.Bus(t, s.js), s.names, nil).Publish(t.Context(), arrived))
	s.handle(s.newPool(), wakeUp)
	require.Equal(t, append(before, schedule.EventSkipped, schedule.EventSkipped), s.events())
}

// TestEventsOfAnotherIncarnation: the events of each schedule of an ID have numbers of their own. What a process knows of those of
// one says nothing of those of the next, which another process has left.
func TestEventsOfAnotherIncarnation(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, policy(schedule.OverlapAllowAll))
	overtaken := &overtakenBuckets{}
	buckets, err := kv.OpenBuckets(t.Context(), s.js, s.names, 1)
	require.NoError(t, err)
	overtaken.Buckets = buckets
	invokers := s.newPool(func(c *invoker.Config) { c.Store = kv.NewStore(overtaken, s.names, 1) })
	e := s.handOff("", 1, 2, 3)
	s.handle(invokers, invoker.Message{Enqueue: &e})
	require.Len(t, s.events(), 3)

	record, err := kv.GetLeader(t.Context(), s.store, kv.Definition(s.key))
	require.NoError(t, err)
	next := record.Value
	next.Incarnation = "inc-of-another"
	_, err = kv.Put(t.Context(), s.store, kv.Definition(s.key), &next, record.Revision)
	require.NoError(t, err)
	lost := schedule.Event{
		ID: "inc-of-another-1", Time: time.Now().UTC(), Namespace: "default", ScheduleID: s.key.ID, Kind: schedule.EventSkipped,
	}
	overtaken.by = func() { // another process is faster, and dies before it has told what it has decided
		record, err := kv.GetLeader(t.Context(), s.store, kv.Invoker(s.key))
		require.NoError(t, err)
		state := wire.InvokerState{Incarnation: next.Incarnation, LimitVersion: 1, EventSequence: 1, Outbox: []schedule.Event{lost}}
		_, err = kv.Put(t.Context(), s.store, kv.Invoker(s.key), &state, record.Revision)
		require.NoError(t, err)
	}
	s.handle(invokers, wakeUp)
	require.Contains(t, s.events(), schedule.EventSkipped)
}

// overtakenBuckets let another process come first, once, before the record of the invoker is written.
type overtakenBuckets struct {
	kv.Buckets
	by func()
}

func (b *overtakenBuckets) Update(ctx context.Context, bucket, key string, value []byte, last uint64) (uint64, error) {
	if by := b.by; by != nil && strings.HasSuffix(key, ".invoker") {
		b.by = nil
		by()
	}
	return b.Buckets.Update(ctx, bucket, key, value, last)
}

// awaitForgetful waits until the event stream has forgotten the message IDs it knows now.
func (s *installation) awaitForgetful() {
	s.t.Helper()
	subject := s.names.Event(schedule.Key{Namespace: "default", ID: "probe"}, schedule.EventDeferred)
	publish := func() bool {
		ack, err := s.js.Publish(s.t.Context(), subject, nil, jetstream.WithMsgID("probe"))
		require.NoError(s.t, err)
		return !ack.Duplicate
	}
	require.True(s.t, publish())
	natstest.Eventually(s.t, patience, "message IDs are forgotten", publish)
	stream, err := s.js.Stream(s.t.Context(), s.names.EventStream())
	require.NoError(s.t, err)
	require.NoError(s.t, stream.Purge(s.t.Context(), jetstream.WithPurgeSubject(subject)))
}

// TestAResultLeftByAnAttemptCutShort: the result was written, the record was not.
func TestAResultLeftByAnAttemptCutShort(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	left := wire.Result{Incarnation: "inc-nightly", Success: json.RawMessage("1"), CloseTime: s.at(1)}
	_, err := kv.Put(t.Context(), s.store, kv.Result(s.key), &left, 0)
	require.NoError(t, err)
	s.run(s.newPool())
	s.due(1)
	s.finish(s.take(), schedule.StatusCompleted, "2")
	s.awaitPhase(1, schedule.PhaseCompleted)
	record, err := kv.GetLeader(t.Context(), s.store, kv.Result(s.key))
	require.NoError(t, err)
	require.JSONEq(t, "2", string(record.Value.Success))
	require.True(t, s.record().HasResult)
}

// TestControlsLeftBehind: a terminate that was decided is delivered by whoever comes next.
func TestControlsLeftBehind(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, policy(schedule.OverlapTerminateOther))
	e := s.handOff("", 1)
	state := s.afterHandOff(e)
	second := s.handOff("", 2)
	in := invoker.Input{Enqueues: []invoker.Traced[wire.Enqueue]{{Body: second}}}
	state = invoker.Transition(s.definition(), state, in, time.Now()).State
	require.Len(t, state.Controls, 1)
	s.publishedBefore(state.Starts[0])
	s.put(state)
	s.wake()
	s.run(s.newPool())
	s.awaitPhase(2, schedule.PhaseStarted)
	require.Equal(t, schedule.PhaseCompleted, s.phase(1))
	require.Equal(t, 1, s.queued())
	require.Equal(t, s.at(2).UTC(), s.take().NominalTime)
	require.Empty(t, s.record().Controls)
}

// TestTheRestOfARoundMuchLater: a process that stood still behind a round does not take for fresh what it has left. Somebody else may
// have published it since, so it looks; then it goes on.
func TestTheRestOfARoundMuchLater(t *testing.T) {
	t.Parallel()
	s := newInstallation(t, policy(schedule.OverlapAllowAll))
	seconds := make([]int, invoker.RoundLimit+2)
	for i := range seconds {
		seconds[i] = i + 1
	}
	e, now := s.handOff("", seconds...), time.Now()
	pool := s.newPool(clock(func() time.Time { return now }))
	s.handle(pool, invoker.Message{Enqueue: &e})
	require.Equal(t, invoker.RoundLimit, s.queued())
	s.publishedBefore(e.Starts[len(seconds)-1])
	now = now.Add(subjects.DuplicateWindow)
	s.handle(pool, wakeUp)
	require.Equal(t, len(seconds), s.queued(), "each once")
	require.Equal(t, schedule.PhaseStarted, s.phase(len(seconds)))
}
