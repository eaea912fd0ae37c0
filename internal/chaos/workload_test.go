package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

func TestWorkloadFollowsFromItsSeed(t *testing.T) {
	t.Parallel()
	end := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, newWorkload(7, 50, time.Minute, end), newWorkload(7, 50, time.Minute, end))
	require.NotEqual(t, newWorkload(7, 50, time.Minute, end), newWorkload(8, 50, time.Minute, end))
}

// TestWorkloadIsValid: a workload is valid and has every verb and every policy. Each schedule is created before any other
// request about it, and has nothing due after the end.
func TestWorkloadIsValid(t *testing.T) {
	t.Parallel()
	const duration = 3 * time.Minute
	end := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	verbs, overlaps := map[Verb]int{}, map[schedule.OverlapPolicy]int{}
	created, requestIDs := map[string]bool{}, map[string]bool{}
	paused := map[string]bool{}
	var last time.Duration
	for _, o := range newWorkload(1, 60, duration, end) {
		verbs[o.Verb]++
		require.LessOrEqual(t, last, o.At)
		require.Less(t, o.At, duration)
		last = o.At
		require.False(t, requestIDs[o.RequestID])
		requestIDs[o.RequestID] = true
		require.Equal(t, o.Verb != Create, created[o.ID])
		created[o.ID] = true
		switch o.Verb {
		case Create:
			overlaps[o.Schedule.Policies.Overlap]++
			fallthrough
		case Update:
			require.NoError(t, o.Schedule.Validate())
			require.Equal(t, end, o.Schedule.Spec.EndTime)
			require.False(t, paused[o.ID], "an update would end the pause")
		case Backfill:
			require.True(t, o.Range.Start.Before(o.Range.End))
		case Pause, Unpause:
			require.Equal(t, o.Verb == Unpause, paused[o.ID])
			paused[o.ID] = o.Verb == Pause
		}
	}
	require.Len(t, verbs, 6)
	require.Len(t, overlaps, len(policies))
}
