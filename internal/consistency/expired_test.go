package consistency_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/kv"
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

// TestRunsThatAreNotArchived: a workflow that its namespace wants to have archived is there long after its retention. It is not for a repair to remove it.
func TestRunsThatAreNotArchived(t *testing.T) {
	t.Parallel()
	f := newFlows(t)
	f.history()
	f.begin("w")
	require.NoError(t, f.respond(f.workflowTask(), completeFlow()))
	f.settled()
	records := namespaces.NewRecords(kv.NewCluster(f.js, f.names))
	of, err := records.Get(t.Context(), "default")
	require.NoError(t, err)
	of.Limits.Archive = "jetstream://"
	require.NoError(t, records.Put(t.Context(), of.Namespace, of.Revision))
	f.later(schedule.DefaultWorkflowRetention + 2*time.Hour)
	require.Empty(t, f.finds(true))
	shard := f.shard(flow("w"))
	require.True(t, f.there(f.names.JournalStream(shard), f.names.Journal(shard, flow("w"))))
}
