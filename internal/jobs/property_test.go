package jobs

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
)

// world has a record, what has been done to each item, and the runners that believe they hold the job.
type world struct {
	items    []string
	now      time.Time
	stored   Job
	revision int
	holders  []*holder
	done     map[string]int
}

// holder is a runner, with its view of the job.
type holder struct {
	name     string
	job      Job
	revision int
}

// TestEveryItemIsDoneAndCountedOnce lets runners take the job, work, write, die, be delayed and be overtaken at any moment.
func TestEveryItemIsDoneAndCountedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.IntRange(0, 30).Draw(t, "items"))
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			w.step(t)
		}
		w.settleAll(t)
		require.Equal(t, Done, w.stored.Status)
		for _, id := range w.items {
			require.GreaterOrEqual(t, w.done[id], 1, "item %s", id)
		}
		require.Equal(t, len(w.items), w.stored.Done+w.stored.Failed+w.stored.Skipped)
		require.Equal(t, w.failing(), w.stored.Failed)
		require.Empty(t, w.stored.Page)
	})
}

func newWorld(items int) *world {
	w := &world{now: noon, stored: Job{Status: Running}, done: map[string]int{}}
	for i := range items {
		w.items = append(w.items, fmt.Sprintf("%03d", i))
	}
	return w
}

// step makes something happen.
func (w *world) step(t *rapid.T) {
	w.now = w.now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, Lease}).Draw(t, "passes"))
	if len(w.holders) == 0 || rapid.IntRange(0, 9).Draw(t, "another runner") == 0 {
		w.claim()
		return
	}
	i := rapid.IntRange(0, len(w.holders)-1).Draw(t, "runner")
	h := w.holders[i]
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0: // it dies
		w.forget(h)
	case 1: // it is stopped
		h.job.release()
		w.write(h)
		w.forget(h)
	case 2, 3:
		w.write(h)
	default:
		w.work(h)
	}
}

func (w *world) claim() {
	if what, _ := next(&w.stored, w.now, true); what != claim {
		return
	}
	h := &holder{name: fmt.Sprint(w.revision), job: w.stored, revision: w.revision}
	h.job.claim(h.name, w.now)
	w.holders = append(w.holders, h)
	w.write(h)
}

// work does the next thing that an attempt would do.
func (w *world) work(h *holder) {
	switch {
	case h.job.Ended():
		w.write(h)
	case len(h.job.Page) > 0:
		id := h.job.Page[0]
		w.done[id]++
		h.job.settle(id, resultOf(id))
	case h.job.Walked:
		h.job.end(Done, w.now)
		w.write(h)
	default:
		h.job.turn(w.after(h.job.Cursor, 4))
		w.write(h)
	}
}

// write is a compare-and-set. A holder that loses it goes on only if the job is still its own.
func (w *world) write(h *holder) {
	if h.revision != w.revision && !h.job.adopt(&w.stored) {
		w.forget(h)
		return
	}
	if h.job.Owner != "" {
		h.job.renew(w.now)
	}
	w.revision++
	w.stored, h.revision = h.job, w.revision
	if h.job.Ended() {
		w.forget(h)
	}
}

func (w *world) forget(h *holder) {
	for i := range w.holders {
		if w.holders[i] == h {
			w.holders = append(w.holders[:i:i], w.holders[i+1:]...)
			return
		}
	}
}

func (w *world) after(cursor string, limit int) (ids []string) {
	for _, id := range w.items {
		if id > cursor && len(ids) < limit {
			ids = append(ids, id)
		}
	}
	return ids
}

// settleAll lets one undisturbed runner finish the job.
func (w *world) settleAll(t *rapid.T) {
	w.now = w.now.Add(2 * Lease)
	w.holders = nil
	w.claim()
	for range 10 * (len(w.items) + 2) {
		if w.stored.Ended() {
			return
		}
		w.work(w.holders[0])
	}
	t.Fatal("the job does not end")
}

func resultOf(id string) ItemResult {
	if id[2] == '7' {
		return ItemResult{ItemFailed, "no sevens"}
	}
	return ItemResult{Result: ItemDone}
}

func (w *world) failing() (count int) {
	for _, id := range w.items {
		if resultOf(id).Result == ItemFailed {
			count++
		}
	}
	return count
}
