package specproc

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// oracle matches a spec instant by instant. It has nothing in common with the search: it takes the wall clock from package time,
// and tries every range.
type oracle struct {
	spec  schedule.Spec
	named map[string]schedule.NamedCalendar
	loc   *time.Location
}

func (o *oracle) due(t time.Time) bool { return o.inBounds(t) && o.matches(t) && !o.excluded(t) }

func (o *oracle) matches(t time.Time) bool {
	for _, i := range o.spec.Intervals {
		every := int64(i.Every.Std() / time.Second)
		if (t.Unix()-int64(i.Phase.Std()/time.Second))%every == 0 {
			return true
		}
	}
	return slices.ContainsFunc(o.spec.At, t.Equal) || o.shownToCount(t) && o.anyMatches(o.spec.StructuredCalendars, t.In(o.loc)) ||
		o.endsGap(t)
}

// shownToCount reports whether the wall clock at t counts. If it is shown twice, one of the two may not count.
func (o *oracle) shownToCount(t time.Time) bool {
	switch o.spec.DST.Repeat {
	case schedule.RepeatFirst:
		return !o.showsAgain(t, -1)
	case schedule.RepeatLast:
		return !o.showsAgain(t, 1)
	}
	return true
}

// showsAgain reports whether the wall clock of t is shown at another instant as well: before t if direction is negative, after t
// otherwise.
func (o *oracle) showsAgain(t time.Time, direction int) bool {
	wall := t.In(o.loc).Format(time.DateTime)
	_, offset := t.In(o.loc).Zone()
	for _, away := range []time.Duration{1, 2, 3, 6, 12, 25} {
		_, other := t.Add(time.Duration(direction) * away * time.Hour).In(o.loc).Zone()
		candidate := t.Add(time.Duration(offset-other) * time.Second)
		if candidate.Sub(t)*time.Duration(direction) > 0 && candidate.In(o.loc).Format(time.DateTime) == wall {
			return true
		}
	}
	return false
}

// endsGap reports whether t is the first instant after a gap to whose end a time is shifted.
func (o *oracle) endsGap(t time.Time) bool {
	_, offset := t.In(o.loc).Zone()
	_, before := t.Add(-1).In(o.loc).Zone()
	if o.spec.DST.Gap != schedule.GapShift || before >= offset {
		return false
	}
	for second := before; second < offset; second++ {
		skipped := t.In(time.FixedZone("", second))
		if o.anyMatches(o.spec.StructuredCalendars, skipped) {
			return true
		}
	}
	return false
}

func (o *oracle) excluded(t time.Time) bool {
	wall := t.In(o.loc)
	dates, windows := slices.Clone(o.spec.ExcludeDates), slices.Clone(o.spec.Blackouts)
	for _, name := range o.spec.ExcludeCalendarsNamed {
		dates, windows = append(dates, o.named[name].Dates...), append(windows, o.named[name].Windows...)
	}
	return o.anyMatches(o.spec.ExcludeStructuredCalendars, wall) ||
		slices.ContainsFunc(dates, func(r schedule.DateRange) bool {
			first, last, isRange := strings.Cut(string(r), "/")
			if !isRange {
				last = first
			}
			date := wall.Format(time.DateOnly)
			return first <= date && date <= last
		}) ||
		slices.ContainsFunc(windows, func(b schedule.Blackout) bool { return !t.Before(b.From) && t.Before(b.To) })
}

func (o *oracle) inBounds(t time.Time) bool {
	return (o.spec.StartTime.IsZero() || !t.Before(o.spec.StartTime)) &&
		(o.spec.EndTime.IsZero() || !t.After(o.spec.EndTime))
}

func (o *oracle) anyMatches(calendars []schedule.StructuredCalendar, wall time.Time) bool {
	hour, minute, second := wall.Clock()
	for i := range calendars {
		c := &calendars[i]
		if inRanges(c.Second, second) && inRanges(c.Minute, minute) && inRanges(c.Hour, hour) && dateMatches(c, wall) {
			return true
		}
	}
	return false
}

// dateMatches tests the date fields of c.
func dateMatches(c *schedule.StructuredCalendar, wall time.Time) bool {
	return inRanges(c.Month, int(wall.Month())) && (len(c.Year) == 0 || inRanges(c.Year, wall.Year())) &&
		dayOfMonthMatches(c, wall) && dayOfWeekMatches(c, wall)
}

func dayOfMonthMatches(c *schedule.StructuredCalendar, wall time.Time) bool {
	year, month, day := wall.Date()
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return inRanges(c.DayOfMonth, day) || inRanges(c.LastDayOfMonth, last-day) ||
		slices.ContainsFunc(sequence(1, last), func(target int) bool {
			return inRanges(c.NearestWeekday, target) && day == nearestWeekday(year, month, target)
		}) ||
		c.LastWeekday && day == nearestWeekday(year, month, last)
}

// nearestWeekday tries all days from Monday to Friday of a month.
func nearestWeekday(year int, month time.Month, target int) int {
	best, last := 99, time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	for _, day := range sequence(1, last) {
		weekday := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Weekday()
		if weekday != time.Saturday && weekday != time.Sunday && max(day-target, target-day) < max(best-target, target-best) {
			best = day
		}
	}
	return best
}

func sequence(from, to int) (all []int) {
	for ; from <= to; from++ {
		all = append(all, from)
	}
	return all
}

func dayOfWeekMatches(c *schedule.StructuredCalendar, wall time.Time) bool {
	year, month, day := wall.Date()
	weekday := int(wall.Weekday())
	nth := 0
	for d := day; d >= 1; d -= 7 {
		nth++
	}
	isLast := time.Date(year, month, day+7, 0, 0, 0, 0, time.UTC).Month() != month
	return inRanges(c.DayOfWeek, weekday) || isLast && inRanges(c.LastDayOfWeek, weekday) ||
		slices.Contains(c.NthDayOfWeek, schedule.NthDayOfWeek{DayOfWeek: weekday, Nth: nth})
}

func inRanges(ranges []schedule.Range, value int) bool {
	return slices.ContainsFunc(ranges, func(r schedule.Range) bool {
		end, step := max(r.End, r.Start), max(r.Step, 1)
		return value >= r.Start && value <= end && (value-r.Start)%step == 0
	})
}

func TestAgainstOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		change := rapid.SampledFrom(scheduletest.ClockChanges).Draw(t, "change")
		loc, err := schedule.LoadZone(change.Zone)
		require.NoError(t, err)
		night := changeAround(t, loc, change.Date)
		from := night.Add(-time.Duration(rapid.IntRange(0, 8*3600).Draw(t, "lead")) * time.Second)
		to := from.Add(8 * time.Hour)
		compareScan(t, scheduletest.DrawSpec(t, change.Zone, from, to), loc, from, to)
	})
}

// compareScan compares a spec with a scan of every second in from < t ≤ to.
func compareScan(t require.TestingT, spec schedule.Spec, loc *time.Location, from, to time.Time) {
	o := &oracle{spec: spec, named: namedOf(from), loc: loc}
	var want []time.Time
	for at := from.Add(time.Second); !at.After(to); at = at.Add(time.Second) {
		if o.due(at) {
			want = append(want, at)
		}
	}
	s, err := CompileWith(spec, o.named)
	require.NoError(t, err)
	var got []time.Time
	for at := range s.Between(from, to, "") {
		if at.Nominal != at.Actual {
			require.Equal(t, at.Nominal, at.Actual)
		}
		got = append(got, at.Nominal)
	}
	if !slices.Equal(want, got) {
		require.Equal(t, want, got, "%+v", spec)
	}
	tally := s.tally(from, to, "")
	require.Equal(t, len(want), tally.Count, "%+v", spec)
	if len(want) > 0 {
		require.Equal(t, want[0], tally.First)
		require.Equal(t, want[len(want)-1], tally.Last)
	}
}

// namedOf returns the named calendars that drawn specs can refer to.
func namedOf(from time.Time) map[string]schedule.NamedCalendar {
	from = from.Truncate(time.Hour)
	return map[string]schedule.NamedCalendar{"shared": {
		Name: "shared", Windows: []schedule.Blackout{
			{From: from.Add(100 * time.Minute), To: from.Add(115 * time.Minute)},
			{From: from.Add(110 * time.Minute), To: from.Add(130 * time.Minute)},
		},
	}}
}

// changeAround returns the first change of offset after the day before date, to the hour before. If there is none, it returns
// that day.
func changeAround(t require.TestingT, loc *time.Location, date string) time.Time {
	day, err := time.Parse(time.DateOnly, date)
	require.NoError(t, err)
	for at := day.Add(-24 * time.Hour); at.Before(day.Add(48 * time.Hour)); at = at.Add(time.Hour) {
		if offsetAt(loc, at.Unix()) != offsetAt(loc, at.Unix()+3600) {
			return at
		}
	}
	return day
}
