package systemtest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

func TestTriggerWithOverrides(t *testing.T) {
	t.Parallel()
	s := single(t)
	seen := make(chan *worker.Run, 2)
	s.work(s.conn, "q", func(_ context.Context, run *worker.Run) (any, error) {
		seen <- run
		return nil, nil
	})
	sched := triggered(schedule.OverlapBufferAll)
	sched.Action.Input = json.RawMessage(`"usual"`)
	sched.Action.Headers = map[string]string{"a": "1", "b": "2"}
	s.create("o", sched)
	_, err := s.client.Trigger(t.Context(), schedule.TriggerRequest{ID: "o", Trigger: schedule.Trigger{
		Input: json.RawMessage(`"for once"`), Headers: map[string]string{"b": "3"},
		Memo: map[string]json.RawMessage{"ticket": json.RawMessage(`4711`)}, Note: "asked for by finance",
	}})
	require.NoError(t, err)
	s.awaitStatuses("o", schedule.StatusCompleted)
	s.trigger("o")
	s.awaitStatuses("o", schedule.StatusCompleted, schedule.StatusCompleted)
	once, usual := <-seen, <-seen
	assert.Equal(t, `"for once"`, string(once.Input))
	assert.Equal(t, map[string]string{"a": "1", "b": "3"}, once.Headers)
	assert.Equal(t, `4711`, string(once.Memo["ticket"]))
	assert.Equal(t, `"usual"`, string(usual.Input))
	assert.Equal(t, sched.Action.Headers, usual.Headers)
	natstest.Eventually(t, natstest.Patience, "the triggers to be over", func() bool { return len(s.describe("o").Info.Backfills) == 0 })
	for _, event := range s.eventsOf("o") {
		if event.Kind == schedule.EventTriggered && event.Reason != "" {
			assert.Equal(t, "asked for by finance", event.Reason)
			assert.NotEmpty(t, event.Identity)
		}
	}
	s.requireCountersFromEvents("o")
}

func TestSkipNextAndUnskip(t *testing.T) {
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", nil)
	s.create("s", every(time.Second))
	natstest.Eventually(t, natstest.Patience, "the first action", func() bool { return len(runs.of("s")) > 0 })
	reply, err := s.client.Skip(t.Context(), schedule.SkipRequest{ID: "s", Skip: schedule.Skip{Count: 4}})
	require.NoError(t, err)
	require.Len(t, reply.Skips, 4)
	restored := reply.Skips[3]
	after, err := s.client.Unskip(t.Context(), schedule.UnskipRequest{ID: "s", Unskip: schedule.Unskip{Times: []time.Time{restored}}})
	require.NoError(t, err)
	require.NotContains(t, after.Skips, restored)
	natstest.Eventually(t, natstest.Patience, "an action after those skipped", func() bool {
		all := runs.of("s")
		return all[len(all)-1].Nominal.After(restored)
	})
	nominal := map[time.Time]bool{}
	for _, r := range runs.of("s") {
		nominal[r.Nominal] = true
	}
	for _, skipped := range reply.Skips[:3] {
		assert.False(t, nominal[skipped], "%s was to be skipped", skipped)
	}
	assert.True(t, nominal[restored], "what is unskipped runs")
	assert.EqualValues(t, 3, s.describe("s").Info.SkippedOnRequest)
	s.requireCountersFromEvents("s")
}

func TestUpdateWithConflictToken(t *testing.T) {
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", nil)
	created := s.create("u", triggered(""))
	change := triggered("")
	change.Action.TaskQueue = "other"
	updated, err := s.client.Update(t.Context(), schedule.UpdateRequest{ID: "u", Schedule: change, ConflictToken: created.ConflictToken})
	require.NoError(t, err)
	require.Equal(t, "other", updated.Action.TaskQueue)
	require.NotEqual(t, created.ConflictToken, updated.ConflictToken)
	_, err = s.client.Update(t.Context(), schedule.UpdateRequest{ID: "u", Schedule: triggered(""), ConflictToken: created.ConflictToken})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
	other := s.work(s.conn, "other", nil)
	s.trigger("u")
	s.awaitStatuses("u", schedule.StatusCompleted)
	require.Len(t, other.of("u"), 1)
	require.Empty(t, runs.of("u"))
}

// An update applies to waiting starts: a start deferred under the old policy follows the new one, with the new action.
func TestUpdateDuringARunAndADeferredStart(t *testing.T) {
	t.Parallel()
	s := single(t)
	g := newGate(t)
	s.work(s.conn, "q", g.handle)
	s.create("u", triggered(schedule.OverlapBufferAll))
	s.trigger("u")
	g.await("u", 1)
	s.trigger("u")
	natstest.Eventually(t, natstest.Patience, "the second to wait", func() bool { return s.describe("u").Info.BufferSize == 1 })
	change := triggered(schedule.OverlapAllowAll)
	change.Action.Input = json.RawMessage(`"new"`)
	_, err := s.client.Update(t.Context(), schedule.UpdateRequest{ID: "u", Schedule: change})
	require.NoError(t, err)
	second := g.await("u", 2)[1]
	require.Equal(t, `"new"`, string(second.Input))
	g.letAll()
	s.awaitStatuses("u", schedule.StatusCompleted, schedule.StatusCompleted)
}

// An update just before an action is due, when its timer has already fired, applies to that action.
func TestUpdateWithinTheLead(t *testing.T) {
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", nil)
	sched := every(4 * time.Second)
	created := s.create("u", sched)
	due := created.Info.CreateTime.Truncate(4 * time.Second).Add(4 * time.Second)
	wait(t.Context(), time.Until(due.Add(-500*time.Millisecond)))
	sched.Spec.Intervals[0].Phase = schedule.Duration(2 * time.Second)
	_, err := s.client.Update(t.Context(), schedule.UpdateRequest{ID: "u", Schedule: sched})
	require.NoError(t, err)
	if time.Now().After(due.Add(-100 * time.Millisecond)) {
		t.Skip("the machine is too busy to be within the lead")
	}
	natstest.Eventually(t, natstest.Patience, "the first action", func() bool { return len(runs.of("u")) > 0 })
	require.Equal(t, due.Add(2*time.Second).UTC(), runs.of("u")[0].Nominal.UTC())
}

func TestPatchDoesAllOrNothing(t *testing.T) {
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", nil)
	created := s.create("p", every(time.Hour))
	from := created.Info.CreateTime.Truncate(time.Hour)
	patch := schedule.PatchRequest{
		ID: "p", Pause: &schedule.Note{Note: "while we look"}, Trigger: &schedule.Trigger{Overlap: schedule.OverlapAllowAll},
		Backfills: []schedule.BackfillRange{{Start: from.Add(-2 * time.Hour), End: from, Overlap: schedule.OverlapAllowAll}},
		Skip:      &schedule.Skip{Count: 1}, ConflictToken: created.ConflictToken, RequestID: "patch-1",
	}
	for range 2 { // the repeat changes nothing
		d, err := s.client.Patch(t.Context(), patch)
		require.NoError(t, err)
		require.True(t, d.State.Paused)
		require.Len(t, d.Info.Skips, 1)
		require.Equal(t, created.ConflictToken+1, d.ConflictToken)
	}
	natstest.Eventually(t, natstest.Patience, "the trigger and the backfill", func() bool {
		return len(completed(s.describe("p").Info.RecentActions)) == 4
	})
	require.Len(t, runs.of("p"), 4)
	patch.RequestID = "patch-2"
	_, err := s.client.Patch(t.Context(), patch)
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition}, "the token is stale")
	require.Len(t, runs.of("p"), 4)
	info := s.describe("p").Info
	require.Equal(t, schedule.NoticePaused, info.Reasons[0].Code)
	require.NotEmpty(t, info.PausedBy)
	s.requireCountersFromEvents("p")
}

func TestPauseOnFailureSaysWhy(t *testing.T) {
	t.Parallel()
	s := single(t)
	s.work(s.conn, "q", func(context.Context, *worker.Run) (any, error) { return nil, errors.New("disk full") })
	sched := every(time.Second)
	sched.Policies.PauseOnFailure = true
	s.create("f", sched)
	natstest.Eventually(t, natstest.Patience, "the pause", func() bool { return s.describe("f").State.Paused })
	d := s.describe("f")
	require.Contains(t, d.State.Notes, "disk full")
	require.Equal(t, "pause on failure", d.Info.PausedBy)
	require.Equal(t, schedule.NoticePaused, d.Info.Reasons[0].Code)
	require.NoError(t, s.client.Unpause(t.Context(), "f", "cleaned up"))
	natstest.Eventually(t, natstest.Patience, "the next failure", func() bool { return s.describe("f").State.Paused })
	s.requireCountersFromEvents("f")
}

func TestLimitedActions(t *testing.T) {
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", nil)
	sched := every(time.Second)
	sched.State = schedule.State{LimitedActions: true, RemainingActions: 2}
	sched.Policies.Overlap = schedule.OverlapAllowAll
	s.create("l", sched)
	natstest.Eventually(t, natstest.Patience, "the actions to be used up", func() bool {
		return s.describe("l").State.RemainingActions == 0 && len(completed(s.describe("l").Info.RecentActions)) == 2
	})
	s.trigger("l") // a manual one takes none
	natstest.Eventually(t, natstest.Patience, "the triggered run", func() bool { return len(runs.of("l")) == 3 })
	require.Equal(t, schedule.NoticeNoActionsLeft, s.describe("l").Info.Reasons[0].Code)
	sched.State.RemainingActions = 1
	_, err := s.client.Update(t.Context(), schedule.UpdateRequest{ID: "l", Schedule: sched})
	require.NoError(t, err)
	natstest.Eventually(t, natstest.Patience, "one action more", func() bool { return len(runs.of("l")) == 4 })
	natstest.Eventually(t, natstest.Patience, "none left", func() bool { return s.describe("l").State.RemainingActions == 0 })
	s.requireCountersFromEvents("l")
}

func TestKeepOriginalWorkflowID(t *testing.T) {
	t.Parallel()
	s := single(t)
	g := newGate(t)
	s.work(s.conn, "q", g.handle)
	sched := triggered(schedule.OverlapAllowAll)
	sched.Policies.KeepOriginalWorkflowID, sched.Action.WorkflowID = true, "the-one"
	s.create("k", sched)
	s.trigger("k")
	require.Equal(t, "the-one", g.await("k", 1)[0].WorkflowID)
	s.trigger("k") // it is running already, whatever the policy says
	natstest.Eventually(t, natstest.Patience, "the second to be refused", func() bool { return s.describe("k").Info.BufferDropped == 1 })
	g.letAll()
	s.awaitStatuses("k", schedule.StatusCompleted)
	s.trigger("k")
	s.awaitStatuses("k", schedule.StatusCompleted, schedule.StatusCompleted)
	s.requireCountersFromEvents("k")
}
