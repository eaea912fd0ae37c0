package systemtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Everything is down for longer than the catch-up window. Actions within the window are made up for, the others are reported as
// missed. Every due time is accounted for under each policy, and the missed ones form one unbroken row.
func TestCatchUpAfterAStopLongerThanTheWindow(t *testing.T) {
	if testing.Short() {
		t.Skip("stops for longer than the shortest catch-up window")
	}
	t.Parallel()
	s := single(t)
	runs := s.work(s.conn, "q", nil)
	const window = schedule.MinCatchupWindow
	policies := []schedule.OverlapPolicy{schedule.OverlapBufferAll, schedule.OverlapAllowAll, schedule.OverlapSkip}
	created := map[string]time.Time{}
	for _, policy := range policies {
		sched := every(time.Second)
		sched.Policies = schedule.Policies{Overlap: policy, CatchupWindow: schedule.Duration(window)}
		created[string(policy)] = s.create(string(policy), sched).Info.CreateTime
	}
	latest := every(time.Second)
	latest.Policies = schedule.Policies{Overlap: schedule.OverlapBufferAll, CatchupMode: schedule.CatchupLatest}
	created["latest"] = s.create("latest", latest).Info.CreateTime
	for id := range created {
		natstest.Eventually(t, natstest.Patience, "the first action", func() bool { return len(runs.of(id)) > 0 })
	}
	s.stop()
	stopped := time.Now()
	wait(t.Context(), window+4*time.Second)
	started := time.Now()
	s.start()
	for id := range created {
		natstest.Eventually(t, natstest.Patience, "actions after the start", func() bool {
			all := runs.of(id)
			return all[len(all)-1].Nominal.After(started.Add(2 * time.Second))
		})
		require.NoError(t, s.client.Pause(t.Context(), id, "to count"))
		s.awaitBackfills(id, patience)
		all, info := runs.of(id), s.describe(id).Info
		require.Empty(t, moreThanOnce(all), id)
		s.requireCountersFromEvents(id)
		due := func(until time.Time) int {
			return int(until.Truncate(time.Second).Sub(created[id].Truncate(time.Second)) / time.Second)
		}
		accounted := len(all) + int(info.MissedCatchupWindow+info.OverlapSkipped)
		assert.GreaterOrEqual(t, accounted, due(all[len(all)-1].Nominal), id)
		assert.LessOrEqual(t, accounted, due(time.Now()), id)
		if id == string(schedule.OverlapSkip) {
			continue // what ran beside the first action to be made up for depends on how fast that ended
		}
		require.Zero(t, info.OverlapSkipped+info.BufferDropped, id)
		assert.Equal(t, due(all[len(all)-1].Nominal), accounted, id)
		first := requireOneGap(t, all, int(info.MissedCatchupWindow))
		assert.True(t, first.After(stopped), id)
		if id == "latest" {
			assert.False(t, first.Before(started.Add(-time.Second)), "only the last one is made up for: %s", first)
			continue
		}
		assert.False(t, first.Before(started.Add(-window)), "%s: %s is beyond the window", id, first)
		assert.True(t, first.Before(started.Add(4*time.Second-window)), "%s: %s is not the first in the window", id, first)
	}
	inOrder := runs.of(string(schedule.OverlapBufferAll))
	for i := range inOrder[1:] {
		assert.False(t, inOrder[i+1].At.Before(inOrder[i].At), "%s before %s", inOrder[i+1].Nominal, inOrder[i].Nominal)
	}
}

// requireOneGap requires runs, ordered by nominal time, to be a second apart except for one gap of missing runs. It returns the
// first nominal time after the gap.
func requireOneGap(t *testing.T, runs []ran, missing int) time.Time {
	t.Helper()
	var after []time.Time
	for i := range runs[1:] {
		if step := runs[i+1].Nominal.Sub(runs[i].Nominal); step != time.Second {
			require.Equal(t, time.Duration(missing+1)*time.Second, step)
			after = append(after, runs[i+1].Nominal)
		}
	}
	require.Len(t, after, 1)
	return after[0]
}
