package systemtest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

// triggered is a schedule that runs only when triggered.
func triggered(overlap schedule.OverlapPolicy) schedule.Schedule {
	return schedule.Schedule{
		Action:   schedule.Action{Type: "record", TaskQueue: "q"},
		Policies: schedule.Policies{Overlap: overlap},
	}
}

func (s *system) trigger(id string) {
	s.t.Helper()
	_, err := s.client.Trigger(s.t.Context(), schedule.TriggerRequest{ID: id})
	require.NoError(s.t, err)
}

// statuses are the statuses of the completed runs, oldest first.
func (s *system) statuses(id string) []schedule.Status {
	var all []schedule.Status
	for _, run := range completed(s.describe(id).Info.RecentActions) {
		all = append(all, run.Status)
	}
	return all
}

func (s *system) awaitStatuses(id string, want ...schedule.Status) {
	s.t.Helper()
	natstest.Eventually(s.t, natstest.Patience, "the runs to end as they should", func() bool {
		return assert.ObjectsAreEqual(want, s.statuses(id))
	})
}

func (s *system) awaitRunning(id string, count int) {
	s.t.Helper()
	natstest.Eventually(s.t, natstest.Patience, "runs to be in progress", func() bool {
		return len(s.describe(id).Info.RunningWorkflows) == count
	})
}

func TestTraceLeadsFromTheRequestToTheWorker(t *testing.T) {
	t.Parallel()
	s := single(t)
	traces := make(chan trace.TraceID, 1)
	s.work(s.conn, "q", func(ctx context.Context, _ *worker.Run) (any, error) {
		traces <- trace.SpanContextFromContext(ctx).TraceID()
		return nil, nil
	})
	s.create("traced", triggered(""))
	msg := nats.NewMsg(s.names.API("default", subjects.ThingSchedule, "trigger"))
	msg.Data = []byte(`{"id":"traced"}`)
	msg.Header.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	_, err := s.conn.RequestMsg(msg, 10*time.Second)
	require.NoError(t, err)
	select {
	case id := <-traces:
		require.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", id.String())
	case <-time.After(patience):
		t.Fatal("the action did not run")
	}
}

func TestNextRunGetsTheLastResult(t *testing.T) {
	t.Parallel()
	s := single(t)
	var failure *schedule.Failure
	calls := 0
	runs := s.work(s.conn, "q", func(_ context.Context, run *worker.Run) (any, error) {
		calls++
		failure = run.LastFailure
		if calls == 2 {
			return nil, errors.New("no luck")
		}
		return map[string]int{"call": calls}, nil
	})
	s.create("results", triggered(""))
	want := []schedule.Status{schedule.StatusCompleted, schedule.StatusFailed, schedule.StatusCompleted}
	for i := range want {
		s.trigger("results")
		s.awaitStatuses("results", want[:i+1]...)
	}
	var last []string
	for _, r := range runs.of("results") {
		last = append(last, r.LastSuccess)
	}
	require.Equal(t, []string{"", `{"call":1}`, `{"call":1}`}, last)
	require.NotNil(t, failure)
	require.Equal(t, "no luck", failure.Message)
}

// untilCanceled runs until its context ends.
func untilCanceled(ctx context.Context, _ *worker.Run) (any, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestCancelOther(t *testing.T) {
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", untilCanceled)
	s.create("c", triggered(schedule.OverlapCancelOther))
	s.trigger("c")
	natstest.Eventually(t, natstest.Patience, "the first to run", func() bool { return len(runs.of("c")) == 1 })
	s.trigger("c")
	s.awaitStatuses("c", schedule.StatusCanceled)
	natstest.Eventually(t, natstest.Patience, "the second to run", func() bool { return len(runs.of("c")) == 2 })
	s.awaitRunning("c", 1)
}

func TestTerminateOther(t *testing.T) {
	t.Parallel()
	s := single(t)
	s.create("t", triggered(schedule.OverlapTerminateOther))
	s.trigger("t") // nobody works: the run waits in its task queue
	s.awaitRunning("t", 1)
	first := s.describe("t").Info.RunningWorkflows[0]
	s.trigger("t")
	s.awaitStatuses("t", schedule.StatusTerminated)
	s.awaitRunning("t", 1)
	runs := s.work(s.conn, "q", nil)
	s.awaitStatuses("t", schedule.StatusTerminated, schedule.StatusCompleted)
	require.Len(t, runs.of("t"), 1, "the terminated run must not be taken by a worker")
	require.NotEqual(t, first.RequestID, runs.of("t")[0].RequestID)
}

func TestSkipAndBufferOne(t *testing.T) {
	t.Parallel()
	s := single(t)
	release := make(chan struct{})
	runs := s.work(s.conn, "q", func(ctx context.Context, _ *worker.Run) (any, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil, nil
	})
	for id, policy := range map[string]schedule.OverlapPolicy{"skip": schedule.OverlapSkip, "one": schedule.OverlapBufferOne} {
		s.create(id, triggered(policy))
		s.trigger(id)
		s.awaitRunning(id, 1)
	}
	for range 3 {
		s.trigger("skip")
		s.trigger("one")
	}
	skipped := func(id string) int64 { return s.describe(id).Info.OverlapSkipped }
	natstest.Eventually(t, natstest.Patience, "starts to be skipped", func() bool { return skipped("skip") == 3 && skipped("one") == 2 })
	require.Equal(t, 1, s.describe("one").Info.BufferSize)
	close(release)
	s.awaitStatuses("one", schedule.StatusCompleted, schedule.StatusCompleted)
	s.awaitStatuses("skip", schedule.StatusCompleted)
	require.Len(t, runs.of("skip"), 1)
	require.Len(t, runs.of("one"), 2)
}

func TestPauseAndUnpause(t *testing.T) {
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", nil)
	s.create("p", every(time.Second))
	natstest.Eventually(t, natstest.Patience, "the first action", func() bool { return len(runs.of("p")) > 0 })
	require.NoError(t, s.client.Pause(t.Context(), "p", "maintenance"))
	paused := time.Now()
	require.Equal(t, "maintenance", s.describe("p").State.Notes)
	s.trigger("p") // manual requests run all the same
	natstest.Eventually(t, natstest.Patience, "the triggered action", func() bool {
		runs := completed(s.describe("p").Info.RecentActions)
		return len(runs) > 0 && runs[len(runs)-1].Manual
	})
	wait(t.Context(), time.Until(paused.Add(2500*time.Millisecond)))
	require.NoError(t, s.client.Unpause(t.Context(), "p", "done"))
	unpaused := time.Now()
	natstest.Eventually(t, natstest.Patience, "an action after the pause", func() bool {
		all := runs.of("p")
		return all[len(all)-1].Nominal.After(unpaused)
	})
	for _, r := range runs.of("p") {
		automated := r.Nominal.Truncate(time.Second).Equal(r.Nominal)
		assert.False(t, automated && r.Nominal.After(paused.Add(100*time.Millisecond)) && r.Nominal.Before(unpaused),
			"ran while paused: %v", r.Nominal)
	}
}

func TestDeleteAndCreateAgain(t *testing.T) {
	t.Parallel()
	s := single(t)
	release := make(chan struct{})
	s.work(s.conn, "q", func(ctx context.Context, _ *worker.Run) (any, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return "from a run of the first", nil
	})
	s.create("again", triggered(schedule.OverlapBufferAll))
	s.trigger("again")
	s.trigger("again")
	s.awaitRunning("again", 1)
	require.NoError(t, s.client.Delete(t.Context(), "again"))
	_, err := s.client.Describe(t.Context(), "again")
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeNotFound})
	s.create("again", triggered(schedule.OverlapBufferAll))
	close(release) // the run of the first ends; the second must not hear of it
	s.trigger("again")
	s.awaitStatuses("again", schedule.StatusCompleted)
	info := s.describe("again").Info
	require.EqualValues(t, 1, info.ActionCount)
	require.Zero(t, info.BufferSize)
}

func TestGarbageBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", nil)
	s.create("g", triggered(""))
	key := schedule.Key{Namespace: "default", ID: "g"}
	shard := s.store.ShardOf(key)
	garbage := map[string]string{
		subjects.PoolGenerator:  s.names.Generate(shard, key, subjects.WhatWake),
		subjects.PoolInvoker:    s.names.InvokeWake(shard, key),
		subjects.PoolBackfiller: s.names.Backfill(shard, key, "b"),
		"callback":              s.names.Callback(shard, key, "q", "no-such-request"),
		"worker":                s.names.Action("default", "q", "no-such-workflow"),
	}
	readers := slices.DeleteFunc(subjects.Pools(), func(pool string) bool {
		return pool == subjects.PoolHistory // its tasks have no body that could be garbage
	})
	for _, pool := range readers {
		require.Contains(t, garbage, pool)
	}
	for pool, subject := range garbage {
		_, err := s.js.Publish(t.Context(), subject, []byte("garbage "+pool))
		require.NoError(t, err)
	}
	letters := append(s.deadLetters(s.names.DeadLetterStream(), uint64(len(readers))), s.deadLetters(s.names.WorkerDeadLetterStream(), 2)...)
	for _, letter := range letters {
		assert.NotEmpty(t, letter.Header.Get(deadletter.HeaderReason))
		assert.NotEmpty(t, letter.Header.Get(deadletter.HeaderSubject))
		assert.Contains(t, string(letter.Data), "garbage ")
	}
	s.trigger("g")
	s.awaitStatuses("g", schedule.StatusCompleted)
	require.Len(t, runs.of("g"), 1)
}

// deadLetters waits for that many dead letters in a stream and returns them.
func (s *system) deadLetters(name string, count uint64) []*jetstream.RawStreamMsg {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), name)
	require.NoError(s.t, err)
	natstest.Eventually(s.t, natstest.Patience, "dead letters", func() bool {
		info, err := stream.Info(s.t.Context())
		return err == nil && info.State.Msgs == count
	})
	var letters []*jetstream.RawStreamMsg
	for sequence := range count {
		letter, err := stream.GetMsg(s.t.Context(), sequence+1)
		require.NoError(s.t, err)
		letters = append(letters, letter)
	}
	return letters
}

func TestEventsTellTheStory(t *testing.T) {
	t.Parallel()
	s := single(t)
	s.work(s.conn, "q", nil)
	s.create("story", triggered(""))
	s.trigger("story")
	s.awaitStatuses("story", schedule.StatusCompleted)
	stream, err := s.js.Stream(t.Context(), s.names.EventStream())
	require.NoError(t, err)
	for _, kind := range []schedule.EventKind{schedule.EventCreated, schedule.EventStarted, schedule.EventCompleted} {
		subject := s.names.Event(schedule.Key{Namespace: "default", ID: "story"}, kind)
		var msg *jetstream.RawStreamMsg
		natstest.Eventually(t, natstest.Patience, "an event that comes after the record", func() bool {
			msg, err = stream.GetLastMsgForSubject(t.Context(), subject)
			return !errors.Is(err, jetstream.ErrMsgNotFound)
		})
		require.NoError(t, err, kind)
		var event schedule.Event
		require.NoError(t, json.Unmarshal(msg.Data, &event))
		require.Equal(t, kind, event.Kind)
		require.Equal(t, "story", event.ScheduleID)
	}
}

func TestCatchUpAfterAStop(t *testing.T) {
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", nil)
	all, latest := every(time.Second), every(time.Second)
	all.Policies.Overlap, latest.Policies.Overlap = schedule.OverlapBufferAll, schedule.OverlapBufferAll
	latest.Policies.CatchupMode = schedule.CatchupLatest
	created := s.create("all", all).Info.CreateTime
	s.create("latest", latest)
	natstest.Eventually(t, natstest.Patience, "first actions", func() bool {
		return len(runs.of("all")) > 0 && len(runs.of("latest")) > 0
	})
	s.stop()
	stopped := time.Now()
	wait(t.Context(), 4*time.Second)
	starting := time.Now()
	s.start()
	started := time.Now()
	natstest.Eventually(t, natstest.Patience, "actions after the start", func() bool {
		after := func(id string) bool {
			all := runs.of(id)
			return all[len(all)-1].Nominal.After(started.Add(time.Second))
		}
		return after("all") && after("latest")
	})
	require.NoError(t, exactlyOnce(upTo(runs.of("all"), started), time.Second, created, started))
	made := 0
	for _, r := range runs.of("latest") {
		if r.Nominal.After(stopped) && r.Nominal.Before(starting.Add(-2*time.Second)) {
			made++
		}
	}
	require.Zero(t, made, "what is superseded must not run")
	require.GreaterOrEqual(t, s.describe("latest").Info.MissedCatchupWindow, int64(2))
	require.Zero(t, s.describe("all").Info.MissedCatchupWindow)
}
