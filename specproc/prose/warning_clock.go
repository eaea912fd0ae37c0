package prose

import (
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// clockChanges warns of times of a calendar that the clocks skip or repeat.
func (w *warner) clockChanges(source *warnSource) {
	skip := w.spec.DST.Gap != schedule.GapShift
	both := w.spec.DST.Repeat != schedule.RepeatFirst && w.spec.DST.Repeat != schedule.RepeatLast
	if len(source.calendars) == 0 || !skip && !both {
		return
	}
	wall, err := specproc.CompileWith(w.onTheWall(source), w.named)
	if err != nil {
		return
	}
	var skipped, repeated []struck
	for _, change := range w.changes() {
		hit, ok := strike(wall, change)
		switch {
		case !ok || !w.inBounds(change.At):
		case change.Skips() && skip:
			skipped = append(skipped, hit)
		case !change.Skips() && both:
			repeated = append(repeated, hit)
		}
	}
	w.warnSkipped(source.field, skipped)
	w.warnRepeated(source.field, repeated)
}

// onTheWall returns a spec whose times in UTC are the wall times of the calendars of a source, whether or not the clocks ever
// show them.
func (w *warner) onTheWall(source *warnSource) schedule.Spec {
	wall := w.alone(source)
	wall.TimeZone, wall.TimeZoneData, wall.Intervals = "UTC", nil, nil
	wall.StartTime, wall.EndTime, wall.Blackouts = time.Time{}, time.Time{}, nil
	return wall
}

// changes returns the clock changes of the next years.
func (w *warner) changes() []specproc.ClockChange {
	return specproc.ClockChanges(w.loc, w.from, w.from.AddDate(warnAhead, 0, 0))
}

func (w *warner) inBounds(t time.Time) bool {
	start, end := w.spec.StartTime, w.spec.EndTime
	return (start.IsZero() || !t.Before(start)) && (end.IsZero() || !t.After(end))
}

// struck is what a clock change does to a calendar.
type struck struct {
	// first is the first wall time that the change affects, others how many more there are.
	first  time.Time
	others int
	// resumed is what the clocks show right after the change.
	resumed time.Time
}

// maxStruck limits the times that are counted within one clock change. A calendar with more of them does not depend on a single
// one.
const maxStruck = 60

// strike finds the times that a change skips or repeats, if that makes a difference. It makes none if the calendar pauses for no
// longer than the change takes: a calendar for every 15 minutes, for example, continues at its pace.
func strike(wall *specproc.Spec, change specproc.ClockChange) (struck, bool) {
	from, until := change.Span()
	hit := struck{resumed: change.At.Add(change.After)}
	var last time.Time
	for t, ok := wall.Next(from.Add(-1), ""); ok; t, ok = wall.Next(t.Nominal, "") {
		switch {
		case !t.Nominal.Before(until):
			return hit, !last.IsZero() && t.Nominal.Sub(last) > until.Sub(from)
		case last.IsZero():
			hit.first = t.Nominal
		default:
			hit.others++
		}
		if last = t.Nominal; hit.others == maxStruck {
			return struck{}, false
		}
	}
	return hit, !last.IsZero()
}

func (w *warner) warnSkipped(field string, hits []struck) {
	if len(hits) == 0 {
		return
	}
	clock, dates := hitWords(hits)
	w.warn(WarnSkippedByClock, field, fmt.Sprintf(
		"%s will not run on %s in %s: the clocks skip it; dst.gap: shift would run it at %s",
		clock, dates, w.loc, clockOf(hits[0].resumed)))
}

func (w *warner) warnRepeated(field string, hits []struck) {
	if len(hits) == 0 {
		return
	}
	clock, dates := hitWords(hits)
	w.warn(WarnRepeatedByClock, field, fmt.Sprintf(
		"%s will run twice on %s in %s: the clocks repeat it; dst.repeat: first would run it once", clock, dates, w.loc))
}

// hitWords returns the first affected time, and the dates on which it is affected.
func hitWords(hits []struck) (clock, dates string) {
	clock = clockOf(hits[0].first)
	var same []time.Time
	for _, hit := range hits {
		if clockOf(hit.first) == clock {
			same = append(same, hit.first)
		}
	}
	dates = shortList(same, func(t time.Time) string { return t.Format(time.DateOnly) }, "date")
	if others := hits[0].others; others > 0 {
		clock += fmt.Sprintf(" (and %d more)", others)
	}
	return clock, dates
}

func clockOf(t time.Time) string {
	return clockText(t.Hour()*hourSeconds+t.Minute()*60+t.Second(), t.Second() != 0)
}

// interval warns of an interval whose times of day move: in UTC, or on the wall clock.
func (w *warner) interval(source *warnSource) {
	if source.interval == nil {
		return
	}
	every := source.interval.Every.Std()
	wholeDays := every%oneDay == 0
	switch {
	case every < time.Minute || oneDay%every == 0 && !wholeDays:
	case !wholeDays && every < oneDay:
		w.warn(WarnDrift, source.field, everyWords(every)+" does not divide a day: the times change from day to day")
	case !wholeDays:
		w.warn(WarnDrift, source.field, everyWords(every)+" is no whole number of days: the times change from day to day")
	case len(w.changes()) > 0:
		w.warn(WarnIntervalIgnoresZone, source.field, fmt.Sprintf(
			"%s does not follow the clocks of %s: the time on the wall moves when they change; a calendar would keep it",
			everyWords(every), w.loc))
	}
}
