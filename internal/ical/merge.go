package ical

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// contents makes calendar entries of what was found. It joins times that touch, so that what several calendars of a file have in
// common, or a holiday of several days, takes no more room than it needs.
func (r *reader) contents() (Contents, error) {
	all := Contents{Events: len(r.found)}
	days, times := []occurrence{}, []occurrence{}
	for _, o := range r.found {
		if o.days {
			days = append(days, o)
		} else {
			times = append(times, o)
		}
	}
	for _, o := range merged(days) {
		all.Dates = append(all.Dates, dateRange(o.from, o.to.AddDate(0, 0, -1)))
	}
	for _, o := range merged(times) {
		all.Windows = append(all.Windows, schedule.Blackout{From: o.from.UTC(), To: o.to.UTC()})
	}
	years := fmt.Sprintf("from %d to %d", r.From.Year(), r.To.AddDate(0, 0, -1).Year())
	switch entries := len(all.Dates) + len(all.Windows); {
	case entries == 0:
		return Contents{}, errors.New("has no events " + years)
	case entries > schedule.MaxCalendarEntries:
		return Contents{}, fmt.Errorf("has %d dates and windows %s, and a calendar at most %d: read fewer years", entries, years,
			schedule.MaxCalendarEntries)
	}
	return all, nil
}

// merged sorts times and joins those that touch.
func merged(all []occurrence) []occurrence {
	slices.SortFunc(all, func(a, b occurrence) int { return a.from.Compare(b.from) })
	joined := all[:0]
	for _, o := range all {
		if last := len(joined) - 1; last >= 0 && !o.from.After(joined[last].to) {
			if o.to.After(joined[last].to) {
				joined[last].to = o.to
			}
			continue
		}
		joined = append(joined, o)
	}
	return joined
}

func dateRange(first, last time.Time) schedule.DateRange {
	from, to := first.Format(time.DateOnly), last.Format(time.DateOnly)
	if from == to {
		return schedule.DateRange(from)
	}
	return schedule.DateRange(from + "/" + to)
}
