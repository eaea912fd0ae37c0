package history

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/archive/progress"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Runs are removed when their namespace has kept them for its retention. The stream of a shard has the ends of runs about in the order in which they
// expire. So one process of the pool reads each stream up to the first end that has not expired, and waits for the time of that one. It begins at the
// start of the stream when it begins, and again when the retention of a namespace has changed. Expired runs never change, so nobody need wait for their
// removal, and to remove them twice does no harm.
//
// A namespace that asks for an archive has a reading of its own, which stops at the first end that is not archived. So it holds up no other namespace.

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
	// spaces are the namespaces of each group, sorted, and next is where to read on for those.
	spaces map[group][]string
	next   map[group]uint64
	// seen are the entries that have been read for each group and are still there.
	seen map[group]*seen
	// archived says how far the runs of a group are archived that asks for that, and held that an expired run is not.
	archived map[group]progress.Progress
	held     bool
	// left are ends whose runs could not be removed.
	left map[schedule.Key]ending
	// late is when the first of left has expired, and due when the next run expires that is not among them. Both are zero if there is none.
	late, due time.Time

	mu sync.Mutex
	// strays are the delayed messages that nothing but a run of left belongs to.
	strays map[schedule.Key]strays
}

// ending is an entry with which a run of a workflow ID ended, and its time.
type ending struct {
	sequence uint64
	at       time.Time
}

// group are the namespaces with one retention, or one namespace that asks for an archive.
type group struct {
	keep time.Duration
	// archive is the name of the namespace that asks for one; empty for the others.
	archive string
}

func groupOf(record *schedule.Namespace) group {
	g := group{keep: record.Limits.KeepsRuns()}
	if record.Limits.Archive != "" {
		g.archive = record.Name
	}
	return g
}

// compare orders groups.
func (g group) compare(other group) int {
	return cmp.Or(cmp.Compare(g.keep, other.keep), strings.Compare(g.archive, other.archive))
}

// sweep removes the expired runs of one shard until ctx ends, while this process is the one that does.
func (s *Service) sweep(ctx context.Context, shard int) error {
	w := newSweeper(s, shard)
	// The shards take turns, so that a process does not read all its streams at once.
	_ = sleep.For(ctx, s.config.SweepEvery*time.Duration(shard+1)/time.Duration(s.config.Shards+1))
	for ctx.Err() == nil {
		wait := s.config.SweepEvery
		switch s.owners.Owner(schedule.Key{ID: "retention-" + strconv.Itoa(shard)}) {
		case s.commits.process:
			next, err := w.round(ctx)
			if err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "expired runs are removed later", "shard", shard, "error", err)
			}
			if !next.IsZero() && !w.held {
				wait = min(max(next.Sub(s.config.Now()), time.Second), wait)
			}
		case "":
			wait = min(firstSweep, wait)
		default:
			w.reset()
			s.expiries.forget(shard)
		}
		_ = sleep.For(ctx, wait)
	}
	return nil
}

func newSweeper(s *Service, shard int) *sweeper {
	w := &sweeper{Service: s, shard: shard}
	w.reset()
	return w
}

// reset forgets how far the stream has been read.
func (w *sweeper) reset() {
	w.spaces, w.next, w.left = map[group][]string{}, map[group]uint64{}, map[schedule.Key]ending{}
	w.seen, w.strays, w.archived = map[group]*seen{}, map[schedule.Key]strays{}, map[group]progress.Progress{}
	w.late, w.due = time.Time{}, time.Time{}
}

// round removes what has expired, and returns when more expires; the zero time if that is not known.
func (w *sweeper) round(ctx context.Context) (next time.Time, err error) {
	spaces := w.groups()
	w.held = false
	if err := w.readArchived(ctx, spaces); err != nil {
		return next, err
	}
	w.removeAll(ctx, maps.Clone(w.left), &seen{}, w.late)
	for _, of := range slices.SortedFunc(maps.Keys(spaces), group.compare) {
		if !slices.Equal(spaces[of], w.spaces[of]) {
			w.spaces[of], w.next[of], w.seen[of] = spaces[of], 1, &seen{}
		}
		at, failed := w.read(ctx, of)
		if failed != nil {
			err = failed
		}
		next = earliest(next, at)
	}
	maps.DeleteFunc(w.next, func(of group, _ uint64) bool { return spaces[of] == nil })
	maps.DeleteFunc(w.seen, func(of group, _ *seen) bool { return spaces[of] == nil })
	w.spaces = spaces
	if err != nil {
		w.due = earliest(w.due, next) // what could not be read may have expired
	} else {
		w.due = next
	}
	w.expiries.set(w.shard, earliest(w.late, w.due))
	return next, err
}

// groups returns the names of the namespaces of each group, sorted. A namespace whose record cannot be read is in none: perhaps it asks for an archive.
func (w *sweeper) groups() map[group][]string {
	spaces := map[group][]string{}
	for _, record := range w.config.Namespaces.All() {
		if record.Unreadable {
			w.log.Warn("no run of a namespace is removed, because its record cannot be read", "namespace", record.Name)
			continue
		}
		of := groupOf(&record)
		spaces[of] = append(spaces[of], record.Name)
	}
	for _, names := range spaces {
		slices.Sort(names)
	}
	return spaces
}

// readArchived reads how far the groups are archived that ask for that. What is not known is not archived.
func (w *sweeper) readArchived(ctx context.Context, spaces map[group][]string) error {
	w.archived = map[group]progress.Progress{}
	for of := range spaces {
		if of.archive == "" || w.config.Archive == nil {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, effectsLimit)
		through, err := w.config.Archive.Progress(limited, of.archive, w.shard)
		cancel()
		if err != nil {
			return fmt.Errorf("history: it is not known what is archived: %w", err)
		}
		record, _ := w.config.Namespaces.Get(of.archive)
		w.archived[of] = through.Of(record.Limits.Archive)
	}
	return nil
}

// read removes what has expired of the namespaces of a group. It returns when more does; the zero time if the stream says nothing about that.
func (w *sweeper) read(ctx context.Context, of group) (next time.Time, err error) {
	names := w.config.Names
	journals := names.Journals(w.shard, cmp.Or(of.archive, "*"))
	for ctx.Err() == nil {
		found, err := w.bus.Subject(ctx, names.JournalStream(w.shard), journals, w.next[of], sweepPage)
		if err != nil || len(found) == 0 {
			return next, err
		}
		expired := map[schedule.Key]ending{}
		var first time.Time
		first, next = w.note(found, of, expired)
		w.removeAll(ctx, expired, w.seen[of], first)
		if !next.IsZero() {
			return next, nil
		}
	}
	return next, ctx.Err()
}

// note takes notice of entries, up to the first one with which runs end that have not expired, or that the archive has not come to. It adds those that have
// expired, and returns when the first of them did, and when the others expire; the zero time if there are none.
func (w *sweeper) note(found []bus.Message, of group, expired map[schedule.Key]ending) (first, next time.Time) {
	for i := range found {
		m := &found[i]
		key, entry := w.entryOf(m, of)
		if entry != nil && m.Header.Get(subjects.HeaderEnds) != "" {
			at := entry.Time.Add(of.keep + clockDifference)
			if at.After(w.config.Now()) {
				return first, at
			}
			if !w.hasReached(of, m.Sequence, entry.Time) {
				w.held = true
				return first, at
			}
			first = earliest(first, at)
			expired[key] = ending{m.Sequence, entry.Time}
		}
		if entry != nil {
			w.seen[of].add(key, doom(m.Sequence, entry))
		}
		w.next[of] = m.Sequence + 1
	}
	return first, next
}

// entryOf returns an entry; nil if it cannot be read, or if it belongs to a namespace of another group.
func (w *sweeper) entryOf(m *bus.Message, of group) (key schedule.Key, entry *execution.Entry) {
	_, key, err := w.config.Names.ParseJournal(m.Subject)
	if err != nil {
		return key, nil
	}
	record, known := w.config.Namespaces.Get(key.Namespace)
	if !known || record.Deleting || record.Unreadable || groupOf(&record) != of {
		return key, nil
	}
	entry, err = execution.ParseEntry(m.Data)
	if err != nil {
		return key, nil // cluster check reports it
	}
	return key, entry
}

// removeAll removes the runs of workflow IDs that have ended with entries, or before. since is when the first of them expired.
func (w *sweeper) removeAll(ctx context.Context, ends map[schedule.Key]ending, seen *seen, since time.Time) {
	if len(ends) == 0 {
		return
	}
	w.expiries.set(w.shard, earliest(w.late, since))
	floor, err := w.floor(ctx, w.shard)
	if err != nil {
		w.log.WarnContext(ctx, "it is not known whose work is done", "shard", w.shard, "error", err)
	}
	failed := make(chan schedule.Key, len(ends))
	var group errgroup.Group
	group.SetLimit(sweepAtOnce)
	for _, key := range slices.SortedFunc(maps.Keys(ends), func(a, b schedule.Key) int { return cmp.Compare(ends[a].sequence, ends[b].sequence) }) {
		group.Go(func() error {
			known := seen.of(key, floor)
			if _, failed := w.left[key]; failed {
				known = nil // entries before those are still there
			}
			if !w.removeOne(ctx, key, ends[key], floor, known) {
				failed <- key
			}
			return nil
		})
	}
	_ = group.Wait()
	close(failed)
	seen.forget(ends)
	maps.DeleteFunc(w.left, func(key schedule.Key, before ending) bool { return ends[key].sequence >= before.sequence })
	for key := range failed {
		if of := ends[key]; len(w.left) < maxLeft && of.sequence > w.left[key].sequence {
			w.left[key] = of
		}
	}
	if w.late = earliest(w.late, since); len(w.left) == 0 {
		w.late = time.Time{}
	}
	maps.DeleteFunc(w.strays, func(key schedule.Key, _ strays) bool { return w.left[key].sequence == 0 })
}

// removeOne is removeThrough with a time limit. It reports whether it has worked, or need not be tried again.
func (w *sweeper) removeOne(ctx context.Context, key schedule.Key, end ending, floor uint64, seen []doomed) bool {
	record, known := w.config.Namespaces.Get(key.Namespace)
	if !known || record.Deleting {
		return true // all of the namespace goes
	}
	if record.Unreadable || !w.isSafe(groupOf(&record), key.ID, end) {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, effectsLimit)
	defer cancel()
	done, err := w.removeThrough(limited, key, end.sequence, floor, seen)
	if err != nil {
		w.log.WarnContext(ctx, "an expired run is removed later", "namespace", key.Namespace, "workflow_id", key.ID, "error", err)
	}
	return done && err == nil
}

// hasReached reports whether the archive of a group has come to an entry. It has if the group asks for none.
func (w *sweeper) hasReached(of group, end uint64, at time.Time) bool {
	through, read := w.archived[of]
	return of.archive == "" || read && through.Reached(end, at)
}

// isSafe reports whether the runs of a workflow ID of a group that have ended with an entry, or before, are archived, or need not be.
func (w *sweeper) isSafe(of group, workflowID string, end ending) bool {
	through, read := w.archived[of]
	return of.archive == "" || read && through.Safe(workflowID, end.sequence, end.at)
}
