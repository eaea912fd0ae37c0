package archival

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/archive/progress"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/subjects"
)

// ended is an entry of a journal, as far as the role needs it: which runs end with it.
type ended struct {
	sequence   uint64
	at         time.Time
	workflowID string
	// waited is whether history waits for the entry to be passed before it removes what ended with it.
	waited bool
	runIDs []string // none for most entries
	// unread is why the entry cannot be read; empty if it can.
	unread string
}

// due is a run that is to be archived. If the entry with which it ended cannot be read, unread says why, and the run is not known.
type due struct {
	end               uint64
	at                time.Time
	workflowID, runID string
	unread            string
}

// endings takes what it needs from the entries of journals.
func endings(names subjects.Names, page []bus.Message) []ended {
	all := make([]ended, 0, len(page))
	for i := range page {
		m := &page[i]
		e := ended{sequence: m.Sequence, waited: m.Header.Get(subjects.HeaderEnds) != ""}
		if _, key, err := names.ParseJournal(m.Subject); err == nil {
			e.workflowID = key.ID
			if entry, err := execution.ParseEntry(m.Data); err != nil {
				e.unread = err.Error()
			} else {
				e.at, e.runIDs = entry.Time, entry.Ended()
			}
		}
		all = append(all, e)
	}
	return all
}

// isAbout reports whether a progress is about the stream of a page. Up to Through, no entry of that stream is newer than At: one that is says that the stream
// is another one, or that its end is, and that more of what has been passed over may be so.
func isAbout(p *progress.Progress, page []ended) bool {
	return !slices.ContainsFunc(page, func(e ended) bool { return e.sequence <= p.Through && e.at.After(p.At) })
}

// plan returns the runs that have ended with some entries and are not archived, in the order of their ends. Those that were left behind are not among
// them.
func plan(p *progress.Progress, page []ended) (todo []due) {
	for _, e := range page {
		if p.Reached(e.sequence, e.at) {
			continue
		}
		if e.waited && e.unread != "" {
			todo = append(todo, due{e.sequence, e.at, e.workflowID, "", e.unread})
		}
		for _, runID := range e.runIDs {
			todo = append(todo, due{e.sequence, e.at, e.workflowID, runID, ""})
		}
	}
	return slices.DeleteFunc(todo, func(d due) bool {
		return slices.ContainsFunc(p.Left, func(l progress.Left) bool {
			return l.End == d.end && l.WorkflowID == d.workflowID && l.RunID == d.runID
		})
	})
}

// before returns the part of a page that is before an entry, and of the runs that were left behind those that ended in it.
func before(entry uint64, page []ended, left []progress.Left) ([]ended, []progress.Left) {
	n, _ := slices.BinarySearchFunc(page, entry, func(e ended, entry uint64) int { return cmp.Compare(e.sequence, entry) })
	return page[:n], slices.DeleteFunc(left, func(l progress.Left) bool { return l.End >= entry })
}

// after returns how far a namespace is archived when all runs of a page are, except some that are left behind. It reports false if too many are.
func after(p progress.Progress, page []ended, left []progress.Left) (progress.Progress, bool) {
	if len(p.Left)+len(left) > progress.MaxLeft {
		return p, false
	}
	for _, e := range page {
		p.Through = max(p.Through, e.sequence)
		if e.at.After(p.At) {
			p.At = e.at
		}
	}
	p.Left = slices.Concat(p.Left, left)
	return p, true
}

// retried returns how far a namespace is archived when the runs that were left behind have been tried again. still has those that failed again.
func retried(p progress.Progress, still []progress.Left) progress.Progress {
	p.Left = still
	return p
}

// changes reports whether a page says something that must be stored: that a run has ended or was deleted. Other pages are read again after a restart. That they
// have been passed counts all the same, since At must be as new as all entries up to Through.
func changes(p *progress.Progress, page []ended) bool {
	return slices.ContainsFunc(page, func(e ended) bool { return (e.waited || len(e.runIDs) > 0) && !p.Reached(e.sequence, e.at) })
}
