package schedules

import (
	"cmp"
	"context"

	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/schedule"
)

// endSearch looks for the ends of runs, which come in the history after their starts, at once or long after. First it reads a short piece for
// all of them, which has most ends. What is left it looks for in the record of the schedule, which has the runs in progress, and then in
// all that the history has of that schedule.
type endSearch struct {
	service *Service
	key     schedule.Key
	page    *runsPage
	left    *budget
	// starts are those that are looked for, and open the request IDs of those without an end so far.
	starts []events.Entry
	open   map[string]bool
	// completed are the completions by request ID, and deleted the sequence of the last deletion of each schedule.
	completed map[string]*schedule.Event
	deleted   map[string]uint64
	// common is up to where the events of all schedules were read; through has the same for single schedules. recorded are the schedules
	// whose record was read.
	common   uint64
	through  map[string]uint64
	recorded map[string]bool
}

// allRead is further than any sequence.
const allRead = ^uint64(0)

// newEndSearch returns a search for the ends of some starts, which belong to a batch that ends at a place.
func newEndSearch(s *Service, key schedule.Key, page *runsPage, left *budget, starts []events.Entry, at runsPlace) *endSearch {
	e := &endSearch{
		service: s, key: key, page: page, left: left, starts: starts, open: map[string]bool{},
		completed: map[string]*schedule.Event{}, deleted: map[string]uint64{},
		common: starts[0].Sequence, through: map[string]uint64{}, recorded: map[string]bool{key.ID: true},
	}
	for i := range starts {
		e.open[starts[i].RequestID] = true
	}
	if last := &starts[len(starts)-1]; at.searched > 0 && last.Sequence+1 == at.before {
		e.through[last.ScheduleID] = at.searched
		if at.isGone {
			e.deleted[last.ScheduleID] = at.searched
		}
	}
	return e
}

// findMost reads the events after the first start, about as many as there are starts.
func (e *endSearch) findMost(ctx context.Context) error {
	if len(e.through) > 0 {
		return nil // the search goes on from an earlier page
	}
	for most := firstScan + 2*len(e.starts); most > 0 && len(e.open) > 0 && e.common < allRead; {
		size := e.left.forward(min(most, scanSize))
		if size == 0 {
			break
		}
		next, err := e.read(ctx, e.key, e.common, size)
		if err != nil {
			return err
		}
		e.common, most = next, most-size
	}
	return nil
}

// find finds the end of a run, or that it has none. It returns false if the budget did not last for that.
func (e *endSearch) find(ctx context.Context, start *events.Entry) (bool, error) {
	if err := e.recall(ctx, start); err != nil {
		return false, err
	}
	own := schedule.Key{Namespace: e.key.Namespace, ID: start.ScheduleID}
	for e.open[start.RequestID] && e.page.known[start.RequestID] == nil {
		through := e.searched(start)
		if through == allRead {
			return true, nil
		}
		size := e.left.forward(scanSize)
		if size == 0 {
			return false, nil
		}
		next, err := e.read(ctx, own, through, size)
		if err != nil {
			return false, err
		}
		e.through[start.ScheduleID] = next
	}
	return true, nil
}

// recall reads the record of a schedule if that may help.
func (e *endSearch) recall(ctx context.Context, start *events.Entry) error {
	if !e.open[start.RequestID] || e.searched(start) == allRead || e.recorded[start.ScheduleID] || !e.left.look() {
		return nil
	}
	e.recorded[start.ScheduleID] = true
	runs, _, err := e.service.ownRuns(ctx, schedule.Key{Namespace: e.key.Namespace, ID: start.ScheduleID})
	e.page.learn(runs)
	return err
}

// searched is up to where the end of a run was looked for.
func (e *endSearch) searched(start *events.Entry) uint64 {
	return cmp.Or(e.through[start.ScheduleID], e.common)
}

// place is where a page ends that has no budget left to find the end of a run.
func (e *endSearch) place(start *events.Entry) runsPlace {
	return runsPlace{
		before: start.Sequence + 1, time: start.Time, searched: e.searched(start), isGone: e.deleted[start.ScheduleID] > start.Sequence,
	}
}

// read reads up to size events after a sequence. It returns the sequence up to which it has read.
func (e *endSearch) read(ctx context.Context, key schedule.Key, after uint64, size int) (next uint64, err error) {
	page, err := e.service.eventReader().Page(ctx, events.Query{Key: key, Kinds: []schedule.EventKind{
		schedule.EventCompleted, schedule.EventDeleted, schedule.EventClosed,
	}}, after, size)
	if err != nil {
		return 0, err
	}
	e.left.spend(&page)
	for i := range page.Entries {
		entry := &page.Entries[i]
		if entry.Kind != schedule.EventCompleted {
			e.deleted[entry.ScheduleID] = entry.Sequence
		} else if e.open[entry.RequestID] {
			e.completed[entry.RequestID] = &entry.Event
			delete(e.open, entry.RequestID)
		}
	}
	if !page.More {
		return allRead, nil
	}
	return page.Next, nil
}

// run makes a run of its start.
func (e *endSearch) run(start *events.Entry) schedule.Run {
	return runOf(&start.Event, e.completed[start.RequestID], e.deleted[start.ScheduleID] > start.Sequence)
}
