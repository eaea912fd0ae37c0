package schedules

import (
	"context"
	"slices"

	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/schedule"
)

// pastRuns lists runs that began at a time or before it, or before a place in the history. It begins to look there, and not at the end of the
// history, so that the past is not the slower the longer ago it is.
func (s *Service) pastRuns(ctx context.Context, key schedule.Key, page *runsPage, left *budget) error {
	query := events.Query{Key: key, From: page.begin(), Kinds: []schedule.EventKind{schedule.EventStarted}}
	if to := page.req.To; !to.IsZero() {
		query.To = to.Add(clockSkew) // an event is stored a moment after what it tells
	}
	looks := &strayLooks{service: s, namespace: key.Namespace, left: left}
	for at := page.from; ; at.searched = 0 {
		size := left.backward(min(max(page.size, firstScan), scanSize)) / 2 // the other half is for the ends
		if at.searched > 0 {
			size = min(size, 1)
		}
		if size == 0 {
			page.stop(at)
			return nil
		}
		starts, err := s.eventReader().Before(ctx, query, at.before, size)
		if err != nil || len(starts.Entries) == 0 {
			return err
		}
		left.spend(&starts)
		ends := newEndSearch(s, key, page, left, starts.Entries, at)
		if err := ends.findMost(ctx); err != nil {
			return err
		}
		stopped, err := settle(ctx, page, &starts, ends, looks)
		if stopped || err != nil || !starts.More {
			return err
		}
		at.before, at.time = starts.Entries[0].Sequence, starts.Entries[0].Time
	}
}

// settle adds the runs of some starts to a page, the newest first. It reports whether the page ends with them.
func settle(
	ctx context.Context, page *runsPage, starts *events.Page, ends *endSearch, looks *strayLooks,
) (stopped bool, err error) {
	for i := range slices.Backward(starts.Entries) {
		start := &starts.Entries[i]
		found, err := ends.find(ctx, start)
		if err != nil {
			return true, err
		}
		if !found {
			page.stop(ends.place(start))
			return true, nil
		}
		run := ends.run(start)
		enough, err := looks.correct(ctx, &run)
		if err != nil {
			return true, err
		}
		if !enough {
			page.stop(runsPlace{before: start.Sequence + 1, time: start.Time})
			return true, nil
		}
		if page.add(run, start) {
			continue
		}
		if i > 0 || starts.More {
			page.stop(runsPlace{before: start.Sequence, time: start.Time})
		}
		return true, nil
	}
	return false, nil
}
