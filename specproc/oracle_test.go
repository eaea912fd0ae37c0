package specproc

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/schedule"
)

// clockChanges are nights worth testing: gaps and repeats of an hour, of half an hour and of a whole day, at and away
// from midnight, east and west of Greenwich, and a day in a zone without any.
var clockChanges = []struct {
	zone string
	at   string
}{
	{"America/New_York", "2024-03-10"}, {"America/New_York", "2024-11-03"},
	{"Europe/London", "2024-03-31"}, {"Europe/London", "2024-10-27"},
	{"Europe/Berlin", "2024-10-27"}, {"Australia/Sydney", "2024-04-07"},
	{"Australia/Lord_Howe", "2024-04-07"}, {"Australia/Lord_Howe", "2024-10-06"},
	{"America/St_Johns", "2010-03-14"}, {"America/Sao_Paulo", "2018-02-18"},
	{"Asia/Beirut", "2024-03-31"}, {"America/Havana", "2024-11-03"},
	{"Africa/Casablanca", "2024-03-10"}, {"Antarctica/Troll", "2024-03-31"},
	{"Pacific/Apia", "2011-12-30"}, {"Pacific/Kiritimati", "1995-01-01"},
	{"Pacific/Chatham", "2024-04-07"}, {"Asia/Pyongyang", "2018-05-05"},
	{"America/Caracas", "2016-05-01"}, {"Asia/Kathmandu", "2024-12-31"}, {"UTC", "2000-02-29"},
}

// oracle matches a spec instant by instant, with nothing in common with the search: the wall clock comes from package
// time, and every range is tried.
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

// shownToCount says whether the wall clock at t counts, as one that is shown twice may not.
func (o *oracle) shownToCount(t time.Time) bool {
	switch o.spec.DST.Repeat {
	case schedule.RepeatFirst:
		return !o.showsAgain(t, -1)
	case schedule.RepeatLast:
		return !o.showsAgain(t, 1)
	}
	return true
}

// showsAgain says whether the wall clock of t is shown at another instant as well: before t if direction is negative,
// after t otherwise.
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

// endsGap says whether t is the first instant after a gap to whose end a time is shifted.
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

// dateMatches reads the date fields of c.
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
		change := rapid.SampledFrom(clockChanges).Draw(t, "change")
		loc, err := schedule.LoadZone(change.zone)
		require.NoError(t, err)
		night := changeAround(t, loc, change.at)
		from := night.Add(-time.Duration(rapid.IntRange(0, 8*3600).Draw(t, "lead")) * time.Second)
		to := from.Add(8 * time.Hour)
		compareScan(t, drawSpec(t, change.zone, from, to), loc, from, to)
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

// changeAround returns the first change of offset from the day before date on, to the hour before; or that day.
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

// drawSpec draws a spec that has things to do between two times.
func drawSpec(t *rapid.T, zone string, from, to time.Time) schedule.Spec {
	spec := schedule.Spec{
		TimeZone:                   zone,
		StructuredCalendars:        rapid.SliceOfN(rapid.Custom(drawCalendar), 0, 2).Draw(t, "calendars"),
		ExcludeStructuredCalendars: rapid.SliceOfN(rapid.Custom(drawCalendar), 0, 3).Draw(t, "excludes"),
		Intervals:                  rapid.SliceOfN(rapid.Custom(drawInterval), 0, 2).Draw(t, "intervals"),
	}
	within := rapid.Custom(func(t *rapid.T) time.Time {
		return from.Add(time.Duration(rapid.Int64Range(0, int64(to.Sub(from)/time.Second)).Draw(t, "at")) * time.Second)
	})
	if rapid.Bool().Draw(t, "policies") {
		spec.DST = schedule.DST{
			Gap: rapid.SampledFrom([]schedule.GapPolicy{"", schedule.GapSkip, schedule.GapShift}).Draw(t, "gap"),
			Repeat: rapid.SampledFrom([]schedule.RepeatPolicy{
				"", schedule.RepeatBoth, schedule.RepeatFirst, schedule.RepeatLast,
			}).Draw(t, "repeat"),
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "hidden") == 0 {
		drawHidden(t, &spec, from, within)
	}
	if from.Year() >= schedule.MinYear {
		spec.At = rapid.SliceOfN(within, 0, 2).Draw(t, "at")
	}
	if rapid.IntRange(0, 3).Draw(t, "bounded") == 0 {
		spec.StartTime = within.Draw(t, "start").Add(time.Duration(rapid.IntRange(0, 1).Draw(t, "fraction")))
		spec.EndTime = within.Draw(t, "end")
	}
	return spec
}

// drawHidden draws excluded dates and blackouts.
func drawHidden(t *rapid.T, spec *schedule.Spec, from time.Time, within *rapid.Generator[time.Time]) {
	if from.Year() >= schedule.MinYear && from.Year() < schedule.MaxYear {
		spec.ExcludeDates = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) schedule.DateRange {
			first := from.AddDate(0, 0, rapid.IntRange(-2, 2).Draw(t, "first"))
			last := first.AddDate(0, 0, rapid.IntRange(0, 1).Draw(t, "days"))
			if first == last && rapid.Bool().Draw(t, "single") {
				return schedule.DateRange(first.Format(time.DateOnly))
			}
			return schedule.DateRange(first.Format(time.DateOnly) + "/" + last.Format(time.DateOnly))
		}), 0, 2).Draw(t, "dates")
	}
	spec.Blackouts = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) schedule.Blackout {
		b := schedule.Blackout{From: within.Draw(t, "from")}
		b.From = b.From.Add(time.Duration(rapid.IntRange(0, 1).Draw(t, "fraction")))
		b.To = b.From.Add(time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "length")))
		if rapid.Bool().Draw(t, "whole") {
			b.To = b.To.Truncate(time.Second).Add(time.Second)
		}
		return b
	}), 0, 3).Draw(t, "blackouts")
}

// drawParts draws, seldom, parts of the day fields that depend on the month.
func drawParts(t *rapid.T, c *schedule.StructuredCalendar) {
	if rapid.IntRange(0, 3).Draw(t, "parts") > 0 {
		return
	}
	if rapid.Bool().Draw(t, "of month") {
		c.DayOfMonth = nil
		c.LastDayOfMonth = drawField(t, "last", 0, 30)[:rapid.IntRange(0, 1).Draw(t, "lasts")]
		c.NearestWeekday = drawField(t, "nearest", 1, 31)[:rapid.IntRange(0, 1).Draw(t, "nearests")]
		c.LastWeekday = rapid.Bool().Draw(t, "last weekday")
	}
	if rapid.Bool().Draw(t, "of week") {
		c.DayOfWeek = nil
		c.LastDayOfWeek = drawField(t, "last", 0, 6)[:rapid.IntRange(0, 1).Draw(t, "lasts")]
		c.NthDayOfWeek = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) schedule.NthDayOfWeek {
			return schedule.NthDayOfWeek{
				DayOfWeek: rapid.IntRange(0, 6).Draw(t, "day"), Nth: rapid.IntRange(1, 5).Draw(t, "nth"),
			}
		}), 0, 3).Draw(t, "nths")
	}
}

func drawCalendar(t *rapid.T) schedule.StructuredCalendar {
	c := schedule.StructuredCalendar{
		Second:     drawField(t, "second", 0, 59),
		Minute:     drawField(t, "minute", 0, 59),
		Hour:       drawField(t, "hour", 0, 23),
		DayOfMonth: drawDays(t, "dayOfMonth", 1, 31),
		Month:      drawDays(t, "month", 1, 12),
		DayOfWeek:  drawDays(t, "dayOfWeek", 0, 6),
	}
	drawParts(t, &c)
	return c
}

// drawField draws all values, a single one, or one or two ranges.
func drawField(t *rapid.T, name string, low, high int) []schedule.Range {
	switch rapid.IntRange(0, 2).Draw(t, name) {
	case 0:
		return []schedule.Range{{Start: low, End: high}}
	case 1:
		return []schedule.Range{{Start: rapid.IntRange(low, high).Draw(t, name)}}
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) schedule.Range {
		return schedule.Range{
			Start: rapid.IntRange(low, high).Draw(t, "start"), End: rapid.IntRange(low, high).Draw(t, "end"),
			Step: rapid.IntRange(0, high).Draw(t, "step"),
		}
	}), 1, 2).Draw(t, name)
}

// drawDays draws all values in three cases of four: otherwise hardly a spec would have a time.
func drawDays(t *rapid.T, name string, low, high int) []schedule.Range {
	if rapid.IntRange(0, 3).Draw(t, name+" all") > 0 {
		return []schedule.Range{{Start: low, End: high}}
	}
	return drawField(t, name, low, high)
}

func drawInterval(t *rapid.T) schedule.Interval {
	every := rapid.OneOf(
		rapid.IntRange(1, 100), rapid.IntRange(1, 200_000), rapid.SampledFrom([]int{60, 3600, 5400, 86400}),
	).Draw(t, "every")
	return schedule.Interval{
		Every: schedule.Duration(time.Duration(every) * time.Second),
		Phase: schedule.Duration(time.Duration(rapid.IntRange(0, every-1).Draw(t, "phase")) * time.Second),
	}
}
