package consistency_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestRunsThatNobodyRemoved: a workflow is there long after its retention. It is removed, and its ID is free.
func TestRunsThatNobodyRemoved(t *testing.T) {
	t.Parallel()
	f := newFlows(t)
	f.history() // by its clock, nothing has expired
	f.begin("w")
	require.NoError(t, f.respond(f.workflowTask(), completeFlow()))
	f.settled()
	f.later(schedule.DefaultWorkflowRetention + 10*time.Minute)
	require.Empty(t, f.finds(false), "history may be about to remove it")
	f.later(schedule.DefaultWorkflowRetention + 2*time.Hour)
	f.mends(consistency.RunExpired)
	shard := f.shard(flow("w"))
	require.False(t, f.there(f.names.JournalStream(shard), f.names.Journal(shard, flow("w"))))
	f.begin("w")
	require.NoError(t, f.respond(f.workflowTask(), completeFlow()))
}
