package history

import (
	"context"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// strays are delayed messages, by their subjects, and when they were found.
type strays struct {
	subjects []string
	found    time.Time
}

// strayWait is longer than an append may take.
const strayWait = 2 * appendLimit

// removeStrays removes the delayed messages of a workflow ID that go with none of the last entries that it has. Such a message was armed beside an entry
// that another one forestalled. It may as well belong to an entry that is just being appended, with which another run begins. So it goes only if it is
// still there after strayWait, and the journal has still no such run. removeStrays reports false as long as it waits for that.
func (w *sweeper) removeStrays(ctx context.Context, key schedule.Key, all []doomed) (done bool, err error) {
	found, err := w.straysOf(ctx, key, all)
	if err != nil || !w.haveWaited(key, found) {
		return false, err
	}
	for _, subject := range found {
		if err := w.bus.Purge(ctx, w.config.Names.TaskStream(w.shard), subject); err != nil {
			return false, err
		}
	}
	return true, nil
}

// haveWaited reports whether all strays of a workflow ID have been there for strayWait.
func (w *sweeper) haveWaited(key schedule.Key, found []string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, now := w.strays[key], w.config.Now()
	if slices.ContainsFunc(found, func(subject string) bool { return !slices.Contains(known.subjects, subject) }) {
		w.strays[key] = strays{found, now}
		return false
	}
	return len(found) == 0 || !now.Before(known.found.Add(strayWait))
}

// straysOf returns the subjects of the delayed messages of a workflow ID that do not go with some entries.
func (w *sweeper) straysOf(ctx context.Context, key schedule.Key, all []doomed) (left []string, err error) {
	names := w.config.Names
	found, err := w.bus.Subject(ctx, names.TaskStream(w.shard), names.ExecutionTimers(w.shard, key), 1, sweepPage)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	own := map[string]bool{}
	for _, d := range all {
		for _, at := range d.armed {
			own[names.ExecutionTimer(w.shard, key, at)] = true
		}
	}
	for i := range found {
		if !own[found[i].Subject] {
			left = append(left, found[i].Subject)
		}
	}
	return left, nil
}
