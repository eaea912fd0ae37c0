package systemtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// minutely is due every minute. A test sees only a backfill of its past.
func minutely() schedule.Schedule {
	sched := every(time.Minute)
	sched.Spec.EndTime = time.Now().Add(-time.Hour).UTC()
	return sched
}

func (s *system) backfill(id string, from time.Time, count int, policy schedule.OverlapPolicy) string {
	s.t.Helper()
	reply, err := s.client.Backfill(s.t.Context(), schedule.BackfillRequest{ID: id, BackfillRange: schedule.BackfillRange{
		Start: from, End: from.Add(time.Duration(count-1) * time.Minute), Overlap: policy,
	}})
	require.NoError(s.t, err)
	return reply.BackfillID
}

// awaitBackfills waits until all triggers and backfills of a schedule are over.
func (s *system) awaitBackfills(id string, patience time.Duration) {
	s.t.Helper()
	natstest.Eventually(s.t, patience, "the backfills to be over", func() bool {
		info := s.describe(id).Info
		return len(info.Backfills) == 0 && info.BufferSize == 0 && len(info.RunningWorkflows) == 0
	})
}

// requireEachOnce compares runs with count minutes from a time on.
func requireEachOnce(t *testing.T, runs []ran, from time.Time, count int) {
	t.Helper()
	require.NoError(t, exactlyOnce(runs, time.Minute, from.Add(-time.Minute), from.Add(time.Duration(count-1)*time.Minute)))
}

func TestBackfillOfAPausedSchedule(t *testing.T) {
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", nil)
	sched := minutely()
	sched.State.Paused = true
	s.create("b", sched)
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	const count = 1200 // more than the buffer has room for
	id := s.backfill("b", from, count, schedule.OverlapAllowAll)
	s.awaitBackfills("b", patience)
	requireEachOnce(t, runs.of("b"), from, count)
	s.requireCountersFromEvents("b")
	var completed []schedule.Event
	for _, event := range s.eventsOf("b") {
		if event.Kind == schedule.EventBackfillCompleted {
			completed = append(completed, event)
		}
	}
	require.Len(t, completed, 1)
	assert.Equal(t, id, completed[0].Source)
	assert.Equal(t, count, completed[0].Count)
}

// A backfill that goes one by one shows its progress, waits for room without polling, and can be ended.
func TestBackfillInOrderWithProgressAndCancel(t *testing.T) {
	t.Parallel()
	s := single(t)
	g := newGate(t)
	s.work(s.conn, "q", g.handle)
	s.create("b", minutely())
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	const count = 2000
	id := s.backfill("b", from, count, schedule.OverlapBufferAll)
	g.await("b", 1)
	var progress schedule.BackfillProgress
	natstest.Eventually(t, natstest.Patience, "the buffer to be full", func() bool {
		info := s.describe("b").Info
		if len(info.Backfills) == 1 {
			progress = info.Backfills[0]
		}
		return info.BufferSize >= 400
	})
	assert.Equal(t, id, progress.BackfillID)
	assert.Equal(t, count, progress.Total)
	assert.False(t, progress.HighWaterMark.IsZero())
	require.LessOrEqual(t, s.describe("b").Info.BufferSize, 450, "slots are kept for automated starts")

	require.NoError(t, s.client.CancelBackfill(t.Context(), schedule.CancelBackfillRequest{ID: "b", BackfillID: id}))
	natstest.Eventually(t, natstest.Patience, "the buffer to be empty", func() bool {
		info := s.describe("b").Info
		return info.BufferSize == 0 && len(info.Backfills) == 0
	})
	g.letAll()
	s.awaitBackfills("b", patience)
	require.Len(t, g.arrived("b"), 1, "only the run in progress goes on")
	require.ErrorIs(t, s.client.CancelBackfill(t.Context(), schedule.CancelBackfillRequest{ID: "b", BackfillID: id}),
		&schedule.Error{Code: schedule.CodeNotFound}, "it is over")
	require.Equal(t, 1, s.kindsOf("b")[schedule.EventBackfillCanceled])
	s.requireCountersFromEvents("b")
}

// A hundred backfills share the room; one more is refused.
func TestAHundredBackfillsAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes too long for short mode")
	}
	t.Parallel()
	s := single(t)
	g := newGate(t)
	s.work(s.conn, "q", g.handle)
	s.create("b", minutely())
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s.trigger("b") // later starts have to wait
	g.await("b", 1)
	each := 8 // more than there is room for at once
	if testing.Short() {
		each = 2 // see TestUpdateDuringABackfill
	}
	for i := range schedule.MaxBackfills {
		s.backfill("b", from.Add(time.Duration(i*each)*time.Minute), each, schedule.OverlapBufferAll)
	}
	_, err := s.client.Backfill(t.Context(), schedule.BackfillRequest{
		ID: "b", BackfillRange: schedule.BackfillRange{Start: from, End: from},
	})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeResourceExhausted})
	g.letAll()
	s.awaitBackfills("b", patience)
	var times []time.Time
	for _, run := range g.arrived("b")[1:] {
		times = append(times, run.NominalTime)
	}
	slices.SortFunc(times, time.Time.Compare)
	require.Len(t, times, each*schedule.MaxBackfills)
	require.Len(t, slices.Compact(times), each*schedule.MaxBackfills, "none twice")
	s.requireCountersFromEvents("b")
}

// An update in the middle of a backfill applies to the rest of it: nothing runs twice, nothing is left out.
func TestUpdateDuringABackfill(t *testing.T) {
	t.Parallel()
	s := single(t)
	g := newGate(t)
	s.work(s.conn, "q", g.handle)
	s.create("b", minutely())
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	count := 600 // more than there is room for at once
	if testing.Short() {
		count = 100 // the race detector makes hundreds of waiting starts expensive
	}
	s.backfill("b", from, count, schedule.OverlapBufferAll)
	g.await("b", 1)
	change := minutely()
	change.Action.Headers = map[string]string{"since": "update"}
	_, err := s.client.Update(t.Context(), schedule.UpdateRequest{ID: "b", Schedule: change})
	require.NoError(t, err)
	g.letAll()
	s.awaitBackfills("b", patience)
	seen := map[string]int{}
	for i, run := range g.arrived("b") {
		seen[run.NominalTime.String()]++
		assert.Equal(t, from.Add(time.Duration(i)*time.Minute), run.NominalTime.UTC(), "in order")
		if i > 0 {
			assert.Equal(t, "update", run.Headers["since"], fmt.Sprint(i))
		}
	}
	require.Len(t, seen, count)
	s.requireCountersFromEvents("b")
}
