package specproc

import (
	"slices"
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
	spec schedule.Spec
	loc  *time.Location
}

func (o *oracle) due(t time.Time) bool { return o.inBounds(t) && o.matches(t) && !o.excluded(t) }

func (o *oracle) matches(t time.Time) bool {
	for _, i := range o.spec.Intervals {
		every := int64(i.Every.Std() / time.Second)
		if (t.Unix()-int64(i.Phase.Std()/time.Second))%every == 0 {
			return true
		}
	}
	return slices.ContainsFunc(o.spec.At, t.Equal) || o.anyMatches(o.spec.StructuredCalendars, t)
}

func (o *oracle) excluded(t time.Time) bool {
	return o.anyMatches(o.spec.ExcludeStructuredCalendars, t)
}

func (o *oracle) inBounds(t time.Time) bool {
	return (o.spec.StartTime.IsZero() || !t.Before(o.spec.StartTime)) &&
		(o.spec.EndTime.IsZero() || !t.After(o.spec.EndTime))
}

func (o *oracle) anyMatches(calendars []schedule.StructuredCalendar, t time.Time) bool {
	if len(calendars) == 0 {
		return false
	}
	wall := t.In(o.loc)
	year, month, day := wall.Date()
	hour, minute, second := wall.Clock()
	for _, c := range calendars {
		if inRanges(c.Second, second) && inRanges(c.Minute, minute) && inRanges(c.Hour, hour) &&
			inRanges(c.DayOfMonth, day) && inRanges(c.Month, int(month)) && inRanges(c.DayOfWeek, int(wall.Weekday())) &&
			(len(c.Year) == 0 || inRanges(c.Year, year)) {
			return true
		}
	}
	return false
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
		loc, err := time.LoadLocation(change.zone)
		require.NoError(t, err)
		night := changeAround(t, loc, change.at)
		from := night.Add(-time.Duration(rapid.IntRange(0, 8*3600).Draw(t, "lead")) * time.Second)
		to := from.Add(8 * time.Hour)
		spec := drawSpec(t, change.zone, from, to)

		o := &oracle{spec: spec, loc: loc}
		var want []time.Time
		for at := from.Add(time.Second); !at.After(to); at = at.Add(time.Second) {
			if o.due(at) {
				want = append(want, at)
			}
		}

		s := mustCompile(t, spec)
		var got []time.Time
		for at := range s.Between(from, to, "") {
			require.Equal(t, at.Nominal, at.Actual)
			got = append(got, at.Nominal)
		}
		require.Equal(t, want, got)

		tally := s.tally(from, to, "")
		require.Equal(t, len(want), tally.Count)
		if len(want) > 0 {
			require.Equal(t, want[0], tally.First)
			require.Equal(t, want[len(want)-1], tally.Last)
		}
	})
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
	if from.Year() >= schedule.MinYear {
		spec.At = rapid.SliceOfN(within, 0, 2).Draw(t, "at")
	}
	if rapid.IntRange(0, 3).Draw(t, "bounded") == 0 {
		spec.StartTime = within.Draw(t, "start").Add(time.Duration(rapid.IntRange(0, 1).Draw(t, "fraction")))
		spec.EndTime = within.Draw(t, "end")
	}
	return spec
}

func drawCalendar(t *rapid.T) schedule.StructuredCalendar {
	return schedule.StructuredCalendar{
		Second:     drawField(t, "second", 0, 59),
		Minute:     drawField(t, "minute", 0, 59),
		Hour:       drawField(t, "hour", 0, 23),
		DayOfMonth: drawDays(t, "dayOfMonth", 1, 31),
		Month:      drawDays(t, "month", 1, 12),
		DayOfWeek:  drawDays(t, "dayOfWeek", 0, 6),
	}
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
