package archival

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// journal returns the stream and the subject of the journal of a workflow ID, and the sequences of its entries.
func (b *bundle) journal(id string) (stream, subject string, sequences []uint64) {
	b.Helper()
	key := schedule.Key{Namespace: space, ID: id}
	shard := subjects.ShardOf(key, b.shards)
	stream, subject = b.names.JournalStream(shard), b.names.Journal(shard, key)
	found, err := natstest.Bus(b, b.js).Subject(b.Context(), stream, subject, 1, 1000)
	require.NoError(b, err)
	for i := range found {
		sequences = append(sequences, found[i].Sequence)
	}
	return stream, subject, sequences
}

// waits reports whether a workflow ID has a run that was left behind, so that history keeps what ended with an entry, or before.
func (b *bundle) waits(id string, end uint64) bool {
	b.Helper()
	p := b.progress()[subjects.ShardOf(schedule.Key{Namespace: space, ID: id}, b.shards)]
	return p.Waits(id, end)
}

// TestDamageIsNoDeletion: a run whose first entry is missing looks to history like one that was removed. Nobody removed it, so it is left behind, which
// is told, and kept. When its journal is purged, nothing is left to keep.
func TestDamageIsNoDeletion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	earlier, newest := b.end("earlier", "Order"), b.end("newest", "Order")
	b.end("earlier", "Report")
	b.end("good", "Order")
	b.stopHistory() // it has the runs in memory
	in, ends := natstest.Bus(t, b.js), map[string]uint64{}
	for _, id := range []string{"earlier", "newest"} {
		stream, _, sequences := b.journal(id)
		require.NoError(t, in.Remove(t.Context(), stream, sequences[0]))
		ends[id] = sequences[1]
	}
	b.runHistory()
	for id, runID := range map[string]string{"earlier": earlier, "newest": newest} {
		_, err := b.client.Describe(t.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: space, Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: runID},
		})
		var missing *serviceerror.NotFound
		require.ErrorAs(t, err, &missing)
	}
	b.run()
	b.awaitArchived("good")
	b.await("both are left behind", func() bool { return b.status().Left == 2 })
	for _, kept := range b.status().Kept {
		require.Contains(t, []string{earlier, newest}, kept.RunID)
		require.Contains(t, kept.Reason, "the journal is damaged")
	}
	for id, end := range ends {
		require.True(t, b.waits(id, end))
		stream, subject, _ := b.journal(id)
		require.NoError(t, in.Purge(t.Context(), stream, subject))
		b.await("nothing of it waits", func() bool { return !b.waits(id, end) })
	}
	b.await("none is left behind", func() bool { return b.status().Left == 0 })
	require.ElementsMatch(t, []string{"good", "earlier"}, b.list("", 0))
}

// TestDeletedByAnyEntry: a run needs no archive if any entry of its journal deletes it: also if later runs of the workflow ID have been deleted since, or
// one is in progress.
func TestDeletedByAnyEntry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"w", "x"} {
		for range 3 {
			runID := b.end(id, "Order")
			require.NoError(t, b.client.Delete(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
				Namespace: space, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: runID},
			}))
		}
	}
	first := b.end("x", "Order")
	b.start("x", "Order")
	require.NoError(t, b.client.Delete(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: space, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "x", RunId: first},
	}))
	b.end("last", "Order")
	b.run()
	b.awaitArchived("w", "x", "last")
	_, _, sequences := b.journal("x")
	require.False(t, b.waits("x", sequences[len(sequences)-1]))
	require.Equal(t, []string{"last"}, b.list("", 0))
	require.Zero(t, b.status().Left)
}

// TestFate: an entry that deletes the run decides, and then any entry about it, or one that cannot be read.
func TestFate(t *testing.T) {
	t.Parallel()
	of := func(parts ...execution.Part) journal.Entry {
		data, err := (&execution.Entry{Parts: parts}).Marshal()
		require.NoError(t, err)
		return journal.Entry{Sequence: 9, Data: data}
	}
	other, own := execution.Part{RunID: "other"}, execution.Part{RunID: "r"}
	for name, c := range map[string]struct {
		want    fate
		entries []journal.Entry
	}{
		"none":                  {lost, nil},
		"others":                {lost, []journal.Entry{of(other)}},
		"its end":               {damaged, []journal.Entry{{Sequence: 7, Data: of(other).Data}}},
		"one of it":             {damaged, []journal.Entry{of(other), of(other, own)}},
		"one nobody reads":      {damaged, []journal.Entry{{Sequence: 9, Data: []byte("garbage")}}},
		"deleted by another":    {deleted, []journal.Entry{of(own), of(execution.Part{RunID: "other", Removed: []string{"q", "r"}})}},
		"deleted by its own":    {deleted, []journal.Entry{of(execution.Part{RunID: "r", Removed: []string{"r"}})}},
		"another one deleted":   {damaged, []journal.Entry{of(execution.Part{RunID: "r", Removed: []string{"q"}})}},
		"deleted, and a ruin":   {deleted, []journal.Entry{{Data: []byte("garbage")}, of(execution.Part{RunID: "s", Removed: []string{"r"}})}},
		"a later one is damage": {damaged, []journal.Entry{of(other), {Data: []byte("garbage")}}},
	} {
		seen := &traces{runID: "r", end: 7}
		for _, e := range c.entries {
			seen.add(e)
		}
		require.Equal(t, c.want, seen.fate(), name)
	}
	unknown := &traces{end: 7}
	unknown.add(of(execution.Part{RunID: "other", Removed: []string{"r"}}))
	require.Equal(t, lost, unknown.fate(), "the run is not known")
}
