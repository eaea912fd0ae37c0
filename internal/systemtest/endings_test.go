package systemtest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

func TestRetriesOfTheAction(t *testing.T) {
	t.Parallel()
	s := single(t)
	s.work(s.conn, "q", func(ctx context.Context, run *worker.Run) (any, error) {
		var mode string
		if err := run.Decode(&mode); err != nil {
			return nil, err
		}
		switch {
		case mode == "third" && run.Attempt == 3:
			return "at last", nil
		case mode == "fatal":
			return nil, &worker.Error{Type: "no_such_account", Message: "no such account"}
		case mode == "slow":
			<-ctx.Done()
			return nil, context.Cause(ctx)
		case mode == "large":
			return strings.Repeat("x", worker.MaxResultBytes), nil
		}
		return nil, errors.New("not yet")
	})
	short := schedule.Duration(20 * time.Millisecond)
	for mode, want := range map[string]struct {
		status  schedule.Status
		attempt int
		failure string
		change  func(*schedule.Action)
	}{
		"third": {schedule.StatusCompleted, 3, "", nil},
		"never": {schedule.StatusFailed, 4, "not yet", nil},
		"fatal": {schedule.StatusFailed, 1, "no such account", nil},
		"large": {schedule.StatusFailed, 1, "bytes", nil},
		"slow": {schedule.StatusTimedOut, 0, "", func(a *schedule.Action) {
			a.RunTimeout = schedule.Duration(300 * time.Millisecond)
		}},
	} {
		t.Run(mode, func(t *testing.T) {
			sched := triggered("")
			sched.Action.Input, _ = json.Marshal(mode)
			sched.Action.RetryPolicy = &schedule.RetryPolicy{
				InitialInterval: short, MaximumInterval: short, MaximumAttempts: 4, NonRetryableErrorTypes: []string{"no_such_account"},
			}
			if want.change != nil {
				want.change(&sched.Action)
			}
			s.create(mode, sched)
			s.trigger(mode)
			s.awaitStatuses(mode, want.status)
			reply, err := s.client.Runs(t.Context(), schedule.RunsRequest{ID: mode})
			require.NoError(t, err)
			require.Len(t, reply.Runs, 1)
			run := reply.Runs[0]
			if want.attempt > 0 { // NATS may tell of a time-out before the worker does
				assert.Equal(t, want.attempt, run.Attempt)
				assert.NotEmpty(t, run.Worker)
			}
			if want.failure != "" {
				require.NotNil(t, run.Failure)
				assert.Contains(t, run.Failure.Message, want.failure)
			}
			if mode == "third" {
				assert.Equal(t, `"at last"`, string(run.Result))
			}
			s.requireCountersFromEvents(mode)
		})
	}
}

// A run whose worker is never heard of again ends by its timeout, and the schedule continues.
func TestRunTimeoutWithoutAWorker(t *testing.T) {
	t.Parallel()
	s := single(t)
	sched := triggered(schedule.OverlapBufferAll)
	sched.Action.RunTimeout = schedule.Duration(time.Second)
	s.create("t", sched)
	s.trigger("t")
	s.trigger("t")
	s.awaitStatuses("t", schedule.StatusTimedOut, schedule.StatusTimedOut)
	s.requireCountersFromEvents("t")
	runs := s.work(s.conn, "q", nil)
	s.trigger("t")
	s.awaitStatuses("t", schedule.StatusTimedOut, schedule.StatusTimedOut, schedule.StatusCompleted)
	require.Len(t, runs.of("t"), 1, "what has timed out is not run any more")
}

// A record that cannot be read blocks only its own schedule. Once it is repaired, the dead letters are sent again.
func TestPoisonedRecordBlocksNobodyElse(t *testing.T) {
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", nil)
	s.create("poisoned", triggered(""))
	s.trigger("poisoned")
	s.awaitStatuses("poisoned", schedule.StatusCompleted)
	key := schedule.Key{Namespace: "default", ID: "poisoned"}
	bucket, err := s.js.KeyValue(t.Context(), s.names.StateBucket(s.store.ShardOf(key)))
	require.NoError(t, err)
	name := kv.Invoker(key).String()
	entry, err := bucket.Get(t.Context(), name)
	require.NoError(t, err)
	_, err = bucket.Put(t.Context(), name, []byte("garbage"))
	require.NoError(t, err)
	_, err = s.client.Trigger(t.Context(), schedule.TriggerRequest{ID: "poisoned"})
	require.NoError(t, err)

	for i := range 20 {
		s.create(id(i), triggered(""))
		s.trigger(id(i))
	}
	for i := range 20 {
		s.awaitStatuses(id(i), schedule.StatusCompleted)
	}
	require.Len(t, runs.of("poisoned"), 1)
	_, err = bucket.Put(t.Context(), name, entry.Value())
	require.NoError(t, err)
	natstest.Eventually(t, natstest.Patience, "the second run", func() bool { return len(runs.of("poisoned")) == 2 })
}

// Actions that waited while everything was down are made up for, in order and one at a time.
func TestCatchUpInOrderUnderTheOverlapPolicy(t *testing.T) {
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", func(ctx context.Context, _ *worker.Run) (any, error) {
		wait(ctx, 50*time.Millisecond)
		return nil, nil
	})
	sched := every(time.Second)
	sched.Policies = schedule.Policies{Overlap: schedule.OverlapBufferAll, CatchupWindow: schedule.Duration(10 * time.Second)}
	s.create("c", sched)
	natstest.Eventually(t, natstest.Patience, "the first action", func() bool { return len(runs.of("c")) > 0 })
	s.stop()
	stopped := time.Now()
	wait(t.Context(), 4*time.Second)
	s.start()
	started := time.Now()
	natstest.Eventually(t, natstest.Patience, "actions after the start", func() bool {
		all := runs.of("c")
		return all[len(all)-1].Nominal.After(started.Add(time.Second))
	})
	var last ran
	caughtUp := 0
	for _, r := range runs.of("c") { // by nominal time
		assert.False(t, r.At.Before(last.At), "%s before %s", r.Nominal, last.Nominal)
		last = r
		if r.Nominal.After(stopped) && r.Nominal.Before(started) {
			caughtUp++
		}
	}
	require.GreaterOrEqual(t, caughtUp, 3)
	require.Zero(t, s.describe("c").Info.MissedCatchupWindow)
	s.requireCountersFromEvents("c")
}
