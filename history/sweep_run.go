package history

import (
	"context"
	"errors"
	"slices"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/schedule"
)

// maxSeen is how many entries a sweeper remembers of a shard and a retention. That many entries of runs in progress, or that ended later, may lie among
// those of expired runs before journals are read once more: about 100 bytes each.
const maxSeen = 100_000

// seen are entries that the sweeper has read on its way through the stream. A run whose entries it has seen from the first one on is removed without
// another look at its journal. NATS scans all messages in between to find the next entry of a journal, which costs more than the removal.
type seen struct {
	entries map[schedule.Key][]doomed
	count   int
}

// add remembers where an entry is.
func (s *seen) add(key schedule.Key, d doomed) {
	if s.entries == nil || s.count == maxSeen {
		s.entries, s.count = map[schedule.Key][]doomed{}, 0
	}
	d.entry = nil
	of := s.entries[key]
	if n := len(of); n > 0 && of[n-1].run == d.run {
		d.run = of[n-1].run // one copy for all
	}
	s.entries[key] = append(of, d)
	s.count++
}

// of returns the entries of a workflow ID; nil if some of them may be missing, or are to be read for another reason.
func (s *seen) of(key schedule.Key, floor uint64) []doomed {
	of := s.entries[key]
	if len(of) == 0 || !of[0].begins || of[len(of)-1].sequence > floor || slices.ContainsFunc(of, func(d doomed) bool { return d.needs }) {
		return nil
	}
	return of
}

// forget forgets the entries of the runs that have ended with some entries, or before.
func (s *seen) forget(ends map[schedule.Key]ending) {
	for key, end := range ends {
		of := s.entries[key]
		if of == nil {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(of), func(d doomed) bool { return d.sequence < end.sequence || d.sequence == end.sequence && !d.chained })
		s.count -= len(of) - len(rest)
		s.entries[key] = rest
		if len(rest) == 0 {
			delete(s.entries, key)
		}
	}
}

// removeThrough removes the runs of a workflow ID that have ended with an entry, or before. They have expired, so they do not change. The entries that
// have been seen, if any, are the first ones of the journal. It reports false if it has to be called again some time later.
func (w *sweeper) removeThrough(ctx context.Context, key schedule.Key, end, floor uint64, seen []doomed) (done bool, err error) {
	last, err := w.journals.Last(ctx, w.shard, key)
	if errors.Is(err, journal.ErrNone) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	all, err := w.doomedThrough(ctx, key, end, last, seen)
	if err != nil {
		return false, err
	}
	if last.Sequence == end {
		if done, err = w.removeStrays(ctx, key, all); !done || err != nil {
			return false, err
		}
	}
	if err := w.removeEntries(ctx, key, all, end, floor); err != nil {
		return false, err
	}
	for _, d := range all {
		if d.begins {
			metrics.HistoryRemoved.Add(ctx, 1, key.Namespace)
		}
	}
	return true, nil
}

// doomedThrough returns the entries of a workflow ID, which has a last one, that are to be removed with the runs up to the entry end.
func (w *sweeper) doomedThrough(ctx context.Context, key schedule.Key, end uint64, last journal.Entry, seen []doomed) ([]doomed, error) {
	uses, err := w.usesOf(ctx, w.shard, key, last, end)
	if err != nil {
		return nil, err
	}
	x, from, more := expiring{end: end}, uint64(1), true
	for i := 0; more && i < len(seen); i++ {
		from, more = seen[i].sequence+1, x.add(seen[i])
	}
	if more && from <= last.Sequence {
		err = w.journals.Read(ctx, w.shard, key, from, last.Sequence, x.read)
	}
	if err != nil && !errors.Is(err, journal.ErrNone) {
		return nil, err
	}
	return slices.DeleteFunc(x.all, func(d doomed) bool { return uses(d.sequence, end) }), nil
}

// expiring are the entries of the runs that have ended with the entry end, or before. Between the runs there are no other entries: a run begins behind the
// one before it.
type expiring struct {
	end uint64
	// ended is the last of those runs.
	ended string
	all   []doomed
}

// read is add for an entry that is read from the journal.
func (x *expiring) read(e journal.Entry) (more bool, err error) {
	entry, err := execution.ParseEntry(e.Data)
	if err != nil {
		return false, err
	}
	return x.add(doom(e.Sequence, entry)), nil
}

// add takes the next entry of the journal, and reports whether more are wanted.
func (x *expiring) add(d doomed) (more bool) {
	switch {
	case d.sequence > x.end && (d.begins || d.run != x.ended):
		return false
	case d.sequence == x.end:
		if d.chained {
			return false // it begins a run that has not expired
		}
		x.ended = d.run
	}
	x.all = append(x.all, d)
	return true
}

// usesOf returns a function that reports whether an entry is needed by a run that begins with the entry end, or later. The entry with which the newest
// run begins says it. A run that began before the entry end has expired with it.
func (s *Service) usesOf(ctx context.Context, shard int, key schedule.Key, last journal.Entry, end uint64) (uses func(entry, end uint64) bool, err error) {
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
	first := entry.Parts[len(entry.Parts)-1].First
	if first != 0 && first < end {
		return uses, nil
	}
	if first != 0 && first != last.Sequence && !entry.Gone() {
		err = s.journals.Read(ctx, shard, key, first, first, note)
		return uses, err
	}
	_, err = note(last)
	return uses, err
}
