package specproc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// scanZones are the zones in which every change of 20 years is scanned: north and south, east and west of Greenwich, by an hour,
// by half an hour, by two, at and away from midnight, at Ramadan, and without any change except one of a whole day.
var scanZones = []string{
	"America/New_York", "America/St_Johns", "America/Sao_Paulo", "America/Havana", "Atlantic/Azores", "Europe/London",
	"Europe/Berlin", "Africa/Casablanca", "Antarctica/Troll", "Asia/Beirut", "Asia/Tehran", "Asia/Pyongyang",
	"Australia/Lord_Howe", "Australia/Sydney", "Pacific/Chatham", "Pacific/Apia",
}

// TestEveryChangeOf20Years scans the hours around each change of the clock, with random specs. Under the race detector, which
// makes the test ten times as slow and has nothing to find here, it scans only four years.
func TestEveryChangeOf20Years(t *testing.T) {
	t.Parallel()
	begin, years := time.Date(2006, 1, 1, 0, 0, 0, 0, time.UTC), 20
	if raceDetector {
		years = 4
	}
	changes, seconds := 0, 0
	for n, name := range scanZones {
		loc, err := schedule.LoadZone(name)
		require.NoError(t, err)
		for i, at := range changesOf(loc, begin, begin.AddDate(years, 0, 0)) {
			changes++
			// The hours that are skipped or repeated, and some more.
			from := at.Add(-80 * time.Minute)
			to := at.Add(80 * time.Minute)
			spec := rapid.Custom(func(t *rapid.T) schedule.Spec { return scheduletest.DrawSpec(t, name, from, to) }).Example(1000*n + i)
			compareScan(t, withClock(spec, changes), loc, from, to)
			seconds += int(to.Sub(from) / time.Second)
		}
	}
	t.Logf("%d specs at %d changes of the clock in %d zones: %d seconds compared", changes, changes, len(scanZones), seconds)
}

// withClock ensures that a spec has a calendar that is due every day, and DST policies, each kind in turn.
func withClock(spec schedule.Spec, n int) schedule.Spec {
	spec.StructuredCalendars = append(spec.StructuredCalendars, schedule.StructuredCalendar{
		Second: []schedule.Range{{Start: n % 60}}, Minute: []schedule.Range{{Start: n % 7, End: 59, Step: 7 + n%11}},
		Hour: []schedule.Range{{End: 23}}, DayOfMonth: []schedule.Range{{Start: 1, End: 31}},
		Month: []schedule.Range{{Start: 1, End: 12}}, DayOfWeek: []schedule.Range{{End: 6}},
	})
	spec.DST.Gap = []schedule.GapPolicy{"", schedule.GapShift}[n%2]
	spec.DST.Repeat = []schedule.RepeatPolicy{"", schedule.RepeatFirst, schedule.RepeatLast}[n%3]
	if n%5 == 0 {
		spec.ExcludeCalendarsNamed = []string{"shared"}
	}
	return spec
}

func changesOf(loc *time.Location, from, to time.Time) (all []time.Time) {
	for t := offsetChange(loc, from.Unix()); t < to.Unix(); t = offsetChange(loc, t) {
		all = append(all, time.Unix(t, 0).UTC())
	}
	return all
}

// TestSkippedDay scans the days around the day that Apia skipped.
func TestSkippedDay(t *testing.T) {
	t.Parallel()
	loc, err := schedule.LoadZone("Pacific/Apia")
	require.NoError(t, err)
	change := time.Date(2011, 12, 30, 10, 0, 0, 0, time.UTC)
	from, to := change.Add(-30*time.Minute), change.Add(30*time.Minute)
	for i := range 12 {
		spec := rapid.Custom(func(t *rapid.T) schedule.Spec { return scheduletest.DrawSpec(t, "Pacific/Apia", from, to) }).Example(i)
		compareScan(t, withClock(spec, i), loc, from, to)
	}
}

// TestBounds scans leap days, years and the first and the last hours in which anything can be due.
func TestBounds(t *testing.T) {
	t.Parallel()
	places := []time.Time{
		time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2000, 2, 29, 0, 0, 0, 0, time.UTC),
		time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 3, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2100, 12, 31, 22, 0, 0, 0, time.UTC),
	}
	cases := 0
	for n, name := range []string{"UTC", "America/New_York", "Asia/Kathmandu", "Pacific/Kiritimati"} {
		loc, err := schedule.LoadZone(name)
		require.NoError(t, err)
		for i, at := range places {
			from, to := at.Add(-time.Hour), at.Add(time.Hour)
			for j := range 2 {
				cases++
				seed := 1000*n + 10*i + j
				spec := rapid.Custom(func(t *rapid.T) schedule.Spec { return scheduletest.DrawSpec(t, name, from, to) }).Example(seed)
				if limit := zoneOf(loc, spec.DST).horizon; to.Unix() > limit {
					to = time.Unix(limit, 0).UTC()
				}
				compareScan(t, withClock(spec, cases), loc, from, to)
			}
		}
	}
	t.Logf("%d specs at bounds compared", cases)
}

// TestEveryDayOfACentury compares the days that random day fields match, from 2000 to 2100. It takes every seventh or eighth day
// of each case.
func TestEveryDayOfACentury(t *testing.T) {
	t.Parallel()
	first := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	days := 0
	for seed := range 60 {
		c := rapid.Custom(func(t *rapid.T) schedule.StructuredCalendar {
			c := scheduletest.DrawCalendar(t)
			for range 3 {
				scheduletest.DrawParts(t, &c)
			}
			return c
		}).Example(seed)
		compiled, ok := newCalendar(&c)
		for at := first.AddDate(0, 0, seed%7); at.Year() <= schedule.MaxYear; at = at.AddDate(0, 0, 7+seed%2) {
			days++
			if got, want := ok && compiled.matchesDay(dayNumber(at)), dateMatches(&c, at); got != want {
				require.Equal(t, want, got, "%s of %+v", at.Format(time.DateOnly), c)
			}
		}
	}
	t.Logf("%d days compared", days)
}
