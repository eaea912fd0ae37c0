package archival

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"

	"github.com/carillon-scheduler/carillon/internal/archive/progress"
)

var noon = time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)

// TestPlan: what is safe is skipped, unless its time says that it is another stream.
func TestPlan(t *testing.T) {
	t.Parallel()
	page := []ended{
		{sequence: 3, at: noon, workflowID: "a", runIDs: []string{"r1"}, waited: true},
		{sequence: 4, at: noon, workflowID: "b"},
		{sequence: 7, at: noon.Add(time.Second), workflowID: "a", runIDs: []string{"r2", "r3"}, waited: true},
	}
	of := func(p progress.Progress) (runs []string) {
		for _, d := range plan(&p, page) {
			runs = append(runs, d.runID)
		}
		return runs
	}
	assert.Equal(t, []string{"r1", "r2", "r3"}, of(progress.Progress{}))
	assert.Equal(t, []string{"r2", "r3"}, of(progress.Progress{Through: 5, At: noon}))
	assert.Empty(t, of(progress.Progress{Through: 7, At: noon.Add(time.Second)}))
	assert.Equal(t, []string{"r1", "r2", "r3"}, of(progress.Progress{Through: 100, At: noon.Add(-time.Second)}), "a backup was restored")
	assert.Equal(t, []string{""}, func() (runs []string) {
		for _, d := range plan(&progress.Progress{}, []ended{{sequence: 3, workflowID: "a", waited: true, unread: "garbage"}, {sequence: 4, unread: "garbage"}}) {
			runs = append(runs, d.runID)
		}
		return runs
	}(), "an end that cannot be read is not passed over")
	assert.True(t, changes(&progress.Progress{}, page))
	assert.False(t, changes(&progress.Progress{}, page[1:2]))
	assert.True(t, changes(&progress.Progress{}, []ended{{sequence: 1, waited: true}}), "a run was deleted")
}

// TestAnotherStream: when the sequences have begun anew, nothing counts as archived, in no later page either.
func TestAnotherStream(t *testing.T) {
	t.Parallel()
	before := progress.Progress{Archive: "jetstream://", Through: 100, At: noon, Left: []progress.Left{{End: 7}}}
	page := []ended{{sequence: 1, at: noon.Add(time.Hour), runIDs: []string{"r"}, waited: true}}
	now := known(before, page)
	require.Equal(t, progress.Progress{Archive: "jetstream://"}, now)
	now, ok := after(now, page, nil)
	require.True(t, ok)
	require.False(t, now.Reached(2, noon.Add(time.Hour)))
	require.Equal(t, before, known(before, []ended{{sequence: 100, at: noon}, {sequence: 101, at: noon.Add(time.Hour)}}), "the same stream")
	require.Equal(t, progress.Progress{Archive: "file:///a"}, before.Of("file:///a"), "another archive has nothing")
	require.Equal(t, before, before.Of("jetstream://"))
}

// TestTooManyLeft: nothing goes on when too many runs were left behind.
func TestTooManyLeft(t *testing.T) {
	t.Parallel()
	full := progress.Progress{Left: make([]progress.Left, progress.MaxLeft)}
	next, ok := after(full, []ended{{sequence: 9, at: noon}}, nil)
	require.True(t, ok)
	require.EqualValues(t, 9, next.Through)
	_, ok = after(full, []ended{{sequence: 10, at: noon}}, []progress.Left{{End: 10}})
	require.False(t, ok)
}

// TestSafeMeansWritten: whatever fails, and wherever a process dies, a run counts as safe only if it was written. In the end all are.
func TestSafeMeansWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		stream := streamOf(r)
		written := map[uint64]bool{}
		var stored progress.Progress
		for range rapid.IntRange(1, 8).Draw(r, "processes") {
			stored = process(r, stream, stored, written, false)
			requireSafe(r, stream, &stored, written)
		}
		stored = process(r, stream, stored, written, true)
		requireSafe(r, stream, &stored, written)
		for _, e := range stream {
			if len(e.runIDs) > 0 {
				require.True(r, written[e.sequence])
				require.True(r, stored.Reached(e.sequence, e.at) && !stored.Waits(e.workflowID, e.sequence))
			}
		}
	})
}

// streamOf makes a stream of entries.
func streamOf(r *rapid.T) (all []ended) {
	at := noon
	for i := range rapid.IntRange(1, 30).Draw(r, "entries") {
		at = at.Add(time.Duration(rapid.IntRange(-3, 5).Draw(r, "clock")) * time.Second)
		e := ended{sequence: uint64(i + 1), at: at, workflowID: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "id")}
		if rapid.Bool().Draw(r, "ends") {
			e.runIDs, e.waited = []string{"r"}, true
		}
		all = append(all, e)
	}
	return all
}

// process goes through a stream in pages until it dies, or, if it is calm, to the end, and returns what is stored then.
func process(r *rapid.T, stream []ended, stored progress.Progress, written map[uint64]bool, calm bool) progress.Progress {
	fails := func(what string) bool { return !calm && rapid.IntRange(0, 4).Draw(r, what) == 0 }
	var still []progress.Left
	for _, one := range stored.Left {
		if fails("retry") {
			still = append(still, one)
			continue
		}
		written[one.End] = true
	}
	stored = retried(stored, still)
	for from := 0; from < len(stream); {
		page := stream[from:min(len(stream), from+rapid.IntRange(1, 7).Draw(r, "page"))]
		var left []progress.Left
		for _, d := range plan(&stored, page) {
			switch {
			case fails("death"):
				return stored
			case fails("run"):
				left = append(left, progress.Left{End: d.end, WorkflowID: d.workflowID, RunID: d.runID})
			default:
				written[d.end] = true
			}
		}
		next, ok := after(stored, page, left)
		if !ok || fails("store") {
			return stored
		}
		if changes(&stored, page) {
			stored = next
		}
		from += len(page)
	}
	return stored
}

func requireSafe(r *rapid.T, stream []ended, stored *progress.Progress, written map[uint64]bool) {
	for _, e := range stream {
		if len(e.runIDs) > 0 && stored.Reached(e.sequence, e.at) && !stored.Waits(e.workflowID, e.sequence) {
			require.True(r, written[e.sequence], "the run that ended with entry %d may be removed, and was not written", e.sequence)
		}
	}
}
