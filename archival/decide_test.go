package archival

import (
	"fmt"
	"slices"
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

// TestAnotherStream: when the sequences have begun anew, nothing counts as archived, in no later page either. What was left behind stays so.
func TestAnotherStream(t *testing.T) {
	t.Parallel()
	before := progress.Progress{Archive: "jetstream://", Mark: "m", Through: 100, At: noon, Left: []progress.Left{{End: 7}}}
	page := []ended{{sequence: 1, at: noon.Add(time.Hour), runIDs: []string{"r"}, waited: true}}
	require.False(t, isAbout(&before, page))
	now := before.Anew(before.Archive, before.Mark)
	require.Equal(t, progress.Progress{Archive: "jetstream://", Mark: "m", Left: before.Left}, now)
	require.True(t, isAbout(&now, page))
	now, ok := after(now, page, nil)
	require.True(t, ok)
	require.False(t, now.Reached(2, noon.Add(time.Hour)))
	require.True(t, isAbout(&before, []ended{{sequence: 100, at: noon}, {sequence: 101, at: noon.Add(time.Hour)}}), "the same stream")
	require.Equal(t, progress.Progress{Archive: "file:///a"}, before.Of("file:///a"), "another archive has nothing")
	require.Equal(t, before, before.Of("jetstream://"))
	require.True(t, before.IsOf("jetstream://", "m"))
	require.False(t, before.IsOf("jetstream://", "n"))
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

// TestSafeMeansWritten: whatever fails, wherever a process dies, and whatever end of the stream a takeover by another site loses, a run counts as safe
// only if it was written. In the end all are.
func TestSafeMeansWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		w := &world{T: r, written: map[string]bool{}, at: noon}
		w.grow()
		for range rapid.IntRange(1, 20).Draw(r, "processes") {
			w.process(false)
			w.requireSafe()
			if rapid.Bool().Draw(r, "takeover") {
				lost := min(len(w.stream), rapid.IntRange(0, 9).Draw(r, "lost"))
				w.stream = w.stream[:len(w.stream)-lost]
				w.floor = w.newest.Add(time.Second)
			}
			w.grow()
			w.requireSafe()
		}
		w.process(true)
		w.requireSafe()
		for _, e := range w.stream {
			if len(e.runIDs) > 0 {
				require.True(r, w.isWritten(e))
				require.True(r, w.stored.Safe(e.workflowID, e.sequence, e.at))
			}
		}
	})
}

// world is a stream of entries, and what is stored and written of it.
type world struct {
	*rapid.T
	stream  []ended
	stored  progress.Progress
	written map[string]bool // by run ID
	runs    int
	// at is the time of the last entry, and newest that of the newest. What comes after a takeover is newer than floor.
	at, newest, floor time.Time
}

// grow adds entries to the stream. The clocks of those who write them differ.
func (w *world) grow() {
	for range rapid.IntRange(0, 20).Draw(w.T, "entries") {
		w.at = w.at.Add(time.Duration(rapid.IntRange(-3, 5).Draw(w.T, "clock")) * time.Second)
		if w.at.Before(w.floor) {
			w.at = w.floor
		}
		if w.at.After(w.newest) {
			w.newest = w.at
		}
		e := ended{sequence: uint64(len(w.stream) + 1), at: w.at, workflowID: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(w.T, "id")}
		if rapid.Bool().Draw(w.T, "ends") {
			w.runs++
			e.runIDs, e.waited = []string{fmt.Sprint("r", w.runs)}, true
			if rapid.IntRange(0, 5).Draw(w.T, "two") == 0 {
				e.runIDs = append(e.runIDs, fmt.Sprint("s", w.runs))
			}
		}
		w.stream = append(w.stream, e)
	}
}

// process goes through the stream in pages until it dies, or, if it is calm, to the end.
func (w *world) process(calm bool) {
	often := func(n int) func(string) bool {
		return func(what string) bool { return !calm && rapid.IntRange(1, n).Draw(w.T, what) == 1 }
	}
	fails, leaves := often(15), often(4)
	var still []progress.Left
	for _, one := range w.stored.Left {
		if often(2)("retry") {
			still = append(still, one)
			continue
		}
		w.written[one.RunID] = true
	}
	w.stored = retried(w.stored, still)
	p := w.stored
	for from := 0; from < len(w.stream); {
		page := w.stream[from:min(len(w.stream), from+rapid.IntRange(1, 7).Draw(w.T, "page"))]
		if !isAbout(&p, page) {
			require.False(w.T, w.floor.IsZero(), "it is the same stream")
			if fails("store") {
				return
			}
			p = p.Anew("", "")
			w.stored, from = p, 0
			continue
		}
		todo := plan(&p, page)
		done, left, died := w.archive(todo, fails, leaves)
		if done < len(todo) {
			page, left = before(todo[done].end, page, left)
		}
		next, ok := after(p, page, left)
		if died || !ok {
			return
		}
		if changes(&p, page) {
			if fails("store") {
				return
			}
			w.stored = next
		}
		if done < len(todo) {
			return // the next one goes on
		}
		p, from = next, from+len(page)
	}
}

// archive writes runs. It returns how many are done with, from the first one on, and which of them are left behind; or that the process has died.
func (w *world) archive(todo []due, fails, leaves func(string) bool) (done int, left []progress.Left, died bool) {
	done = len(todo)
	for i, d := range todo {
		switch {
		case fails("death"):
			return 0, nil, true
		case fails("bucket"):
			done = min(done, i)
		case done < i: // further ones are written at the same time, and do not count
			w.written[d.runID] = true
		case leaves("run"):
			left = append(left, progress.Left{End: d.end, WorkflowID: d.workflowID, RunID: d.runID})
		default:
			w.written[d.runID] = true
		}
	}
	return done, left, false
}

func (w *world) requireSafe() {
	for _, e := range w.stream {
		if len(e.runIDs) > 0 && w.stored.Safe(e.workflowID, e.sequence, e.at) {
			require.True(w.T, w.isWritten(e), "the run that ended with entry %d may be removed, and was not written", e.sequence)
		}
	}
}

func (w *world) isWritten(e ended) bool {
	return !slices.ContainsFunc(e.runIDs, func(runID string) bool { return !w.written[runID] })
}
