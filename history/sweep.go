package history

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Runs are removed when their namespace has kept them for its retention. The stream of a shard has the ends of runs about in the order in which they
// expire. So one process of the pool reads each stream up to the first end that has not expired, and waits for the time of that one. It begins at the
// start of the stream when it begins, and again when the retention of a namespace has changed. Expired runs never change, so nobody need wait for their
// removal, and to remove them twice does no harm.

const (
	// sweepPage is how many entries are read at once.
	sweepPage = 500
	// sweepAtOnce is how many workflow IDs are worked on at once.
	sweepAtOnce = 16
	// firstSweep is how long a process that knows no others waits for their answer.
	firstSweep = 2 * time.Second
	// maxLeft is how many removals are tried again that have failed. Further ones are found by the next process that takes over the shard.
	maxLeft = 10_000
)

// sweeper removes what has expired in one shard.
type sweeper struct {
	*Service
	shard int
	// spaces are the namespaces with each retention, sorted, and next is where to read on for those.
	spaces map[time.Duration][]string
	next   map[time.Duration]uint64
	// left are ends whose runs could not be removed.
	left map[schedule.Key]uint64

	mu sync.Mutex
	// strays are the delayed messages that nothing but a run of left belongs to.
	strays map[schedule.Key]strays
}

// sweep removes the expired runs of one shard until ctx ends, while this process is the one that does.
func (s *Service) sweep(ctx context.Context, shard int) error {
	w := &sweeper{Service: s, shard: shard}
	w.reset()
	// The shards take turns, so that a process does not read all its streams at once.
	_ = sleep.For(ctx, s.config.sweepEvery*time.Duration(shard+1)/time.Duration(s.config.Shards+1))
	for ctx.Err() == nil {
		wait := s.config.sweepEvery
		switch s.owners.Owner(schedule.Key{ID: "retention-" + strconv.Itoa(shard)}) {
		case s.commits.process:
			next, err := w.round(ctx)
			if err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "expired runs are removed later", "shard", shard, "error", err)
			}
			if !next.IsZero() {
				wait = min(max(next.Sub(s.config.Now()), time.Second), wait)
			}
		case "":
			wait = min(firstSweep, wait)
		default:
			w.reset()
		}
		_ = sleep.For(ctx, wait)
	}
	return nil
}

// reset forgets how far the stream has been read.
func (w *sweeper) reset() {
	w.spaces, w.next, w.left = map[time.Duration][]string{}, map[time.Duration]uint64{}, map[schedule.Key]uint64{}
	w.strays = map[schedule.Key]strays{}
}

// round removes what has expired, and returns when more expires; the zero time if that is not known.
func (w *sweeper) round(ctx context.Context) (next time.Time, err error) {
	spaces := w.byRetention()
	w.removeAll(ctx, maps.Clone(w.left))
	for _, keep := range slices.Sorted(maps.Keys(spaces)) {
		if !slices.Equal(spaces[keep], w.spaces[keep]) {
			w.spaces[keep], w.next[keep] = spaces[keep], 1
		}
		at, failed := w.read(ctx, keep)
		if failed != nil {
			err = failed
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	maps.DeleteFunc(w.next, func(keep time.Duration, _ uint64) bool { return spaces[keep] == nil })
	w.spaces = spaces
	return next, err
}

// byRetention returns the names of the namespaces with each retention, sorted.
func (w *sweeper) byRetention() map[time.Duration][]string {
	spaces := map[time.Duration][]string{}
	for _, record := range w.config.Namespaces.All() {
		keep := record.Limits.KeepsRuns()
		spaces[keep] = append(spaces[keep], record.Name)
	}
	for _, names := range spaces {
		slices.Sort(names)
	}
	return spaces
}

// read removes what has expired of the namespaces with one retention. It returns when more does; the zero time if the stream says nothing about that.
func (w *sweeper) read(ctx context.Context, keep time.Duration) (next time.Time, err error) {
	names := w.config.Names
	for ctx.Err() == nil {
		found, err := w.bus.Subject(ctx, names.JournalStream(w.shard), names.Journals(w.shard, "*"), w.next[keep], sweepPage)
		if err != nil || len(found) == 0 {
			return next, err
		}
		expired := map[schedule.Key]uint64{}
		for i := range found {
			key, at := w.expires(&found[i], keep)
			if at.After(w.config.Now()) {
				next = at
				break
			}
			if !at.IsZero() {
				expired[key] = found[i].Sequence
			}
			w.next[keep] = found[i].Sequence + 1
		}
		w.removeAll(ctx, expired)
		if !next.IsZero() {
			return next, nil
		}
	}
	return next, ctx.Err()
}

// expires returns when the runs up to an entry expire; the zero time if none ends with it, or if it belongs to a namespace with another retention.
func (w *sweeper) expires(m *bus.Message, keep time.Duration) (key schedule.Key, at time.Time) {
	if m.Header.Get(subjects.HeaderEnds) == "" {
		return key, at
	}
	_, key, err := w.config.Names.ParseJournal(m.Subject)
	if err != nil {
		return key, at
	}
	record, known := w.config.Namespaces.Get(key.Namespace)
	if !known || record.Deleting || record.Limits.KeepsRuns() != keep {
		return key, at
	}
	entry, err := execution.ParseEntry(m.Data)
	if err != nil {
		return key, at // cluster check reports it
	}
	return key, entry.Time.Add(keep + clockDifference)
}

// removeAll removes the runs of workflow IDs that have ended with entries, or before.
func (w *sweeper) removeAll(ctx context.Context, ends map[schedule.Key]uint64) {
	if len(ends) == 0 {
		return
	}
	floor, err := w.floor(ctx, w.shard)
	if err != nil {
		w.log.WarnContext(ctx, "it is not known whose work is done", "shard", w.shard, "error", err)
	}
	failed := make(chan schedule.Key, len(ends))
	var group errgroup.Group
	group.SetLimit(sweepAtOnce)
	for _, key := range slices.SortedFunc(maps.Keys(ends), func(a, b schedule.Key) int { return int(ends[a]) - int(ends[b]) }) {
		group.Go(func() error {
			if !w.removeOne(ctx, key, ends[key], floor) {
				failed <- key
			}
			return nil
		})
	}
	_ = group.Wait()
	close(failed)
	maps.DeleteFunc(w.left, func(key schedule.Key, _ uint64) bool { return ends[key] >= w.left[key] })
	for key := range failed {
		if len(w.left) < maxLeft {
			w.left[key] = max(w.left[key], ends[key])
		}
	}
	maps.DeleteFunc(w.strays, func(key schedule.Key, _ strays) bool { return w.left[key] == 0 })
}

// removeOne is removeThrough with a time limit. It reports whether it has worked.
func (w *sweeper) removeOne(ctx context.Context, key schedule.Key, end, floor uint64) bool {
	limited, cancel := context.WithTimeout(ctx, effectsLimit)
	defer cancel()
	done, err := w.removeThrough(limited, key, end, floor)
	if err != nil {
		w.log.WarnContext(ctx, "an expired run is removed later", "namespace", key.Namespace, "workflow_id", key.ID, "error", err)
	}
	return done && err == nil
}

// removeThrough removes the runs of a workflow ID that have ended with an entry, or before. They have expired, so they do not change. It reports false if
// it has to be called again some time later.
func (w *sweeper) removeThrough(ctx context.Context, key schedule.Key, end, floor uint64) (done bool, err error) {
	last, err := w.journals.Last(ctx, w.shard, key)
	if errors.Is(err, journal.ErrNone) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	all, err := w.doomedThrough(ctx, key, end, last)
	if err != nil {
		return false, err
	}
	if last.Sequence == end {
		if done, err = w.removeStrays(ctx, key, all); !done || err != nil {
			return false, err
		}
	}
	return true, w.removeEntries(ctx, key, all, end, floor)
}

// doomedThrough returns the entries of a workflow ID, which has a last one, that are to be removed with the runs up to the entry end.
func (w *sweeper) doomedThrough(ctx context.Context, key schedule.Key, end uint64, last journal.Entry) ([]doomed, error) {
	uses, err := w.usesOf(ctx, w.shard, key, last)
	if err != nil {
		return nil, err
	}
	x := expiring{end: end}
	err = w.journals.Read(ctx, w.shard, key, 1, last.Sequence, x.add)
	if err != nil && !errors.Is(err, journal.ErrNone) {
		return nil, err
	}
	return slices.DeleteFunc(x.all, func(d doomed) bool { return uses(d.sequence, end) }), nil
}

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
		for _, at := range w.armedBy(d) {
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

// expiring are the entries of the runs that have ended with the entry end, or before. Between the runs there are no other entries: a run begins behind the
// one before it.
type expiring struct {
	end uint64
	// ended is the last of those runs.
	ended string
	all   []doomed
}

// add takes the next entry of the journal, and reports whether more are wanted.
func (x *expiring) add(e journal.Entry) (more bool, err error) {
	entry, err := execution.ParseEntry(e.Data)
	if err != nil {
		return false, err
	}
	newest := &entry.Parts[len(entry.Parts)-1]
	switch {
	case e.Sequence > x.end && (newest.First == 0 || newest.RunID != x.ended):
		return false, nil
	case e.Sequence == x.end:
		if newest.First == 0 && len(entry.Parts) > 1 {
			return false, nil // it begins a run that has not expired
		}
		x.ended = newest.RunID
	}
	x.all = append(x.all, doomed{e.Sequence, entry})
	return true, nil
}

// usesOf returns a function that reports whether an entry is needed by a run that begins with the entry end, or later. The entry with which the newest
// run begins says it.
func (s *Service) usesOf(ctx context.Context, shard int, key schedule.Key, last journal.Entry) (uses func(entry, end uint64) bool, err error) {
	uses = func(uint64, uint64) bool { return false }
	note := func(e journal.Entry) (bool, error) {
		entry, err := execution.ParseEntry(e.Data)
		if err == nil {
			part := &entry.Parts[len(entry.Parts)-1]
			uses = func(entry, end uint64) bool { return part.Uses(e.Sequence, entry, end) }
		}
		return false, err
	}
	entry, err := execution.ParseEntry(last.Data)
	if err != nil {
		return nil, err
	}
	if first := entry.Parts[len(entry.Parts)-1].First; first != 0 && first != last.Sequence && !entry.Gone() {
		err = s.journals.Read(ctx, shard, key, first, first, note)
		return uses, err
	}
	_, err = note(last)
	return uses, err
}
