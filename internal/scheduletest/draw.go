package scheduletest

import (
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/schedule"
)

// clockChange is a day on which the clocks of a zone may change, such as 2024-03-10.
type clockChange struct {
	Zone, Date string
}

// ClockChanges are nights worth testing: gaps and repeats of an hour, of half an hour and of a whole day, at and away from
// midnight, east and west of Greenwich, and a day in a zone without a change.
var ClockChanges = []clockChange{
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

// DrawSpec draws a spec that has times between two times.
func DrawSpec(t *rapid.T, zone string, from, to time.Time) schedule.Spec {
	spec := schedule.Spec{
		TimeZone:                   zone,
		StructuredCalendars:        rapid.SliceOfN(rapid.Custom(DrawCalendar), 0, 2).Draw(t, "calendars"),
		ExcludeStructuredCalendars: rapid.SliceOfN(rapid.Custom(DrawCalendar), 0, 3).Draw(t, "excludes"),
		Intervals:                  rapid.SliceOfN(rapid.Custom(DrawInterval), 0, 2).Draw(t, "intervals"),
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

// DrawParts draws, rarely, parts of the day fields that depend on the month.
func DrawParts(t *rapid.T, c *schedule.StructuredCalendar) {
	if rapid.IntRange(0, 3).Draw(t, "parts") > 0 {
		return
	}
	if rapid.Bool().Draw(t, "of month") {
		c.DayOfMonth = nil
		c.LastDayOfMonth = DrawField(t, "last", 0, 30)[:rapid.IntRange(0, 1).Draw(t, "lasts")]
		c.NearestWeekday = DrawField(t, "nearest", 1, 31)[:rapid.IntRange(0, 1).Draw(t, "nearests")]
		c.LastWeekday = rapid.Bool().Draw(t, "last weekday")
	}
	if rapid.Bool().Draw(t, "of week") {
		c.DayOfWeek = nil
		c.LastDayOfWeek = DrawField(t, "last", 0, 6)[:rapid.IntRange(0, 1).Draw(t, "lasts")]
		c.NthDayOfWeek = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) schedule.NthDayOfWeek {
			return schedule.NthDayOfWeek{
				DayOfWeek: rapid.IntRange(0, 6).Draw(t, "day"), Nth: rapid.IntRange(1, 5).Draw(t, "nth"),
			}
		}), 0, 3).Draw(t, "nths")
	}
}

// DrawCalendar draws a calendar that usually has a time.
func DrawCalendar(t *rapid.T) schedule.StructuredCalendar {
	c := schedule.StructuredCalendar{
		Second:     DrawField(t, "second", 0, 59),
		Minute:     DrawField(t, "minute", 0, 59),
		Hour:       DrawField(t, "hour", 0, 23),
		DayOfMonth: DrawDays(t, "dayOfMonth", 1, 31),
		Month:      DrawDays(t, "month", 1, 12),
		DayOfWeek:  DrawDays(t, "dayOfWeek", 0, 6),
	}
	DrawParts(t, &c)
	return c
}

// DrawField draws all values, a single one, or one or two ranges.
func DrawField(t *rapid.T, name string, low, high int) []schedule.Range {
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

// DrawDays draws all values in three cases of four. Otherwise hardly any spec would have a time.
func DrawDays(t *rapid.T, name string, low, high int) []schedule.Range {
	if rapid.IntRange(0, 3).Draw(t, name+" all") > 0 {
		return []schedule.Range{{Start: low, End: high}}
	}
	return DrawField(t, name, low, high)
}

// DrawInterval draws an interval of seconds to days.
func DrawInterval(t *rapid.T) schedule.Interval {
	every := rapid.OneOf(
		rapid.IntRange(1, 100), rapid.IntRange(1, 200_000), rapid.SampledFrom([]int{60, 3600, 5400, 86400}),
	).Draw(t, "every")
	return schedule.Interval{
		Every: schedule.Duration(time.Duration(every) * time.Second),
		Phase: schedule.Duration(time.Duration(rapid.IntRange(0, every-1).Draw(t, "phase")) * time.Second),
	}
}
