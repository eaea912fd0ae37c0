package consistency_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/schedule"
)

// leave deletes a schedule without its runs.
func (s *installation) leave(key schedule.Key) {
	s.Helper()
	require.NoError(s, s.api.DeleteVersion(s.Context(), schedule.DeleteRequest{ID: key.ID, Runs: schedule.RunsLeave}))
}

// TestQueuedRunOfADeletedSchedule: the run is found, whether the ID is free or has another schedule, and is removed at a person's
// request.
func TestQueuedRunOfADeletedSchedule(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	gone, of := started(s, "a")
	s.leave(gone)
	anew, _ := started(s, "b")
	s.leave(anew)
	started(s, "b")
	s.mends(consistency.RunOrphaned, consistency.RunOrphaned)
	assert.False(t, s.there(s.names.ActionStream(), s.names.Action(gone.Namespace, of.TaskQueue, of.WorkflowID)))
	s.eventually("the run of the new schedule waits as before", func() bool { return len(s.describe("b").Info.RunningWorkflows) == 1 })
}

// TestRunOfADeletedScheduleThatAWorkerHas: the run continues. It is found when its worker has lost it.
func TestRunOfADeletedScheduleThatAWorkerHas(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	holder := s.hold()
	key, start := started(s, "a")
	require.Equal(t, start.RunID, <-holder.begun)
	s.leave(key)
	require.Empty(t, s.finds(true))
	holder.stop()
	s.mends(consistency.RunOrphaned)
}
