package specproc

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

// benchSpecs are the specs whose searches the benchmarks measure. TestSearchIsQuick gives the pathological ones a limit.
var benchSpecs = []struct {
	name         string
	spec         schedule.Spec
	pathological bool
}{
	{name: "minutely", spec: schedule.Spec{Cron: []string{"* * * * *"}}},
	{name: "weekday-mornings", spec: schedule.Spec{Cron: []string{"*/15 8-10 * * mon-fri"}, TimeZone: "Europe/Berlin"}},
	{name: "hourly-jitter", spec: schedule.Spec{Cron: []string{"@hourly"}, Jitter: schedule.Duration(time.Minute)}},
	{name: "interval", spec: schedule.Spec{
		Intervals: []schedule.Interval{{Every: schedule.Duration(90 * time.Minute)}},
	}},
	{name: "calendar", spec: schedule.Spec{
		Calendars: []schedule.Calendar{{Minute: "0,30", Hour: "8-18", DayOfWeek: "mon-fri"}}, TimeZone: "Europe/Berlin",
	}},
	{name: "ten-crons", spec: schedule.Spec{Cron: []string{
		"0 0 * * *", "1 1 * * *", "2 2 * * *", "3 3 * * *", "4 4 * * *",
		"5 5 * * *", "6 6 * * *", "7 7 * * *", "8 8 * * *", "9 9 * * *",
	}}},
	{name: "leap-day-on-monday", spec: schedule.Spec{Calendars: []schedule.Calendar{
		{DayOfMonth: "29", Month: "2", DayOfWeek: "mon"},
	}, TimeZone: "America/New_York"}},
	{name: "nights-excluded", spec: schedule.Spec{
		Cron:             []string{"*/10 * * * *"},
		ExcludeCalendars: []schedule.Calendar{{Second: "*", Minute: "*", Hour: "0-7,20-23"}},
	}},
	{name: "weekends-excluded", spec: schedule.Spec{
		Cron:             []string{"*/10 * * * *"},
		ExcludeCalendars: []schedule.Calendar{{Second: "*", Minute: "*", Hour: "*", DayOfWeek: "sat,sun"}},
	}},
	{name: "feb-30", pathological: true, spec: schedule.Spec{
		Cron: []string{"0 0 30 2 *"}, TimeZone: "Africa/Casablanca",
	}},
	{name: "all-excluded", pathological: true, spec: schedule.Spec{
		Cron:             []string{"* * * * * * *"},
		ExcludeCalendars: []schedule.Calendar{{Second: "*", Minute: "*", Hour: "*"}},
		TimeZone:         "Europe/Berlin",
	}},
	{name: "second-0-excluded", pathological: true, spec: schedule.Spec{
		Cron:             []string{"* * * * *"},
		ExcludeCalendars: []schedule.Calendar{{Minute: "*", Hour: "*"}},
		TimeZone:         "Europe/Berlin",
	}},
	{name: "odd-and-even-excluded", pathological: true, spec: schedule.Spec{
		Intervals: []schedule.Interval{{Every: schedule.Duration(time.Second)}},
		ExcludeCalendars: []schedule.Calendar{
			{Second: "*/2", Minute: "*", Hour: "*"}, {Second: "1/2", Minute: "*", Hour: "*"},
		},
	}},
	{name: "intervals-excluded", pathological: true, spec: schedule.Spec{
		Intervals: []schedule.Interval{
			{Every: schedule.Duration(7 * time.Minute)}, {Every: schedule.Duration(11 * time.Minute)},
		},
		ExcludeCalendars: []schedule.Calendar{{Minute: "*", Hour: "*"}},
	}},
	{name: "coprime-intervals-excluded", pathological: true, spec: schedule.Spec{
		Intervals: []schedule.Interval{
			{Every: schedule.Duration(61 * time.Second)}, {Every: schedule.Duration(67 * time.Second)},
			{Every: schedule.Duration(71 * time.Second)},
		},
		ExcludeCalendars: []schedule.Calendar{
			{Second: "0-29", Minute: "*", Hour: "*"}, {Second: "30-59", Minute: "*", Hour: "*"},
		},
	}},
	{name: "last-weekday", spec: schedule.Spec{Cron: []string{"0 9 LW * ?"}, TimeZone: "Europe/Berlin"}},
	{name: "shift-and-first", spec: schedule.Spec{
		Cron: []string{"*/15 8-10 * * mon-fri"}, TimeZone: "Europe/Berlin",
		DST: schedule.DST{Gap: schedule.GapShift, Repeat: schedule.RepeatFirst},
	}},
	{name: "hundred-dates-and-blackouts", spec: schedule.Spec{
		Cron: []string{"*/10 * * * *"}, TimeZone: "Europe/Berlin",
		ExcludeDates: hundredDates(), Blackouts: hundredBlackouts(),
	}},
	{name: "hundred-of-each-by-minute", pathological: true, spec: hundredOfEach(func(i int) schedule.Calendar {
		return schedule.Calendar{Minute: number(i % 60), Hour: "*"}
	})},
	{name: "hundred-of-each-by-day", pathological: true, spec: hundredOfEach(func(i int) schedule.Calendar {
		return schedule.Calendar{Minute: "*", Hour: "*", DayOfMonth: number(i%31 + 1), DayOfWeek: number(i/62*3) + "-6"}
	})},
	{name: "hundred-of-each-by-year", pathological: true, spec: hundredOfEach(func(i int) schedule.Calendar {
		return schedule.Calendar{Second: "*", Minute: "*", Hour: "*", Year: number(1999 + max(i, 1))}
	})},
}

func number(n int) schedule.CalendarField { return schedule.CalendarField(strconv.Itoa(n)) }

// hundredOfEach returns a spec of 100 cron expressions, with 100 excludes of each kind that leave nothing. One half of the
// exclude calendars would be enough.
func hundredOfEach(exclude func(int) schedule.Calendar) schedule.Spec {
	spec := schedule.Spec{
		TimeZone: "Europe/Berlin", ExcludeDates: hundredDates(), Blackouts: hundredBlackouts(),
		DST: schedule.DST{Gap: schedule.GapShift, Repeat: schedule.RepeatLast},
		// Years before the first that a calendar can name.
		StartTime: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		EndTime:   time.Date(2098, 12, 31, 0, 0, 0, 0, time.UTC),
	}
	for i := range 100 {
		spec.Cron = append(spec.Cron, fmt.Sprintf("%d %d %d * %d#%d", i%60, i%24, i%28+1, i%7, i%5+1))
		c := exclude(i)
		spec.ExcludeCalendars = append(spec.ExcludeCalendars, c)
		structured, err := c.Structured()
		if err != nil {
			panic(err)
		}
		spec.ExcludeStructuredCalendars = append(spec.ExcludeStructuredCalendars, structured)
	}
	return spec
}

func hundredDates() (dates []schedule.DateRange) {
	for i := range 100 {
		dates = append(dates, schedule.DateRange(time.Date(2024, 3, 10+3*i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)))
	}
	return dates
}

func hundredBlackouts() (windows []schedule.Blackout) {
	for i := range 100 {
		from := time.Date(2024, 3, 10, 5*i, 0, 0, 0, time.UTC)
		windows = append(windows, schedule.Blackout{From: from, To: from.Add(90 * time.Minute)})
	}
	return windows
}

var benchAfter = time.Date(2024, 3, 9, 17, 0, 0, 0, time.UTC)

func mustCompile(tb require.TestingT, spec schedule.Spec) *Spec {
	s, err := Compile(spec)
	require.NoError(tb, err)
	return s
}

func BenchmarkNext(b *testing.B) {
	for _, bench := range benchSpecs {
		b.Run(bench.name, func(b *testing.B) {
			s := mustCompile(b, bench.spec)
			b.ReportAllocs()
			after := benchAfter
			for b.Loop() {
				next, ok := s.Next(after, "default-nightly")
				if after = next.Nominal; !ok {
					after = benchAfter
				}
			}
		})
	}
}

// BenchmarkRobfig compares with the best known cron library on expressions that both understand.
func BenchmarkRobfig(b *testing.B) {
	for _, zone := range []string{"UTC", "Europe/Berlin"} {
		for _, fields := range []string{
			"* * * * *", "*/15 8-10 * * mon-fri", "0 9 * * *", "30 2 1 * *", "0 0 29 2 *", "0 12 * 1,7 sun",
		} {
			expression := "CRON_TZ=" + zone + " " + fields
			name := strings.ReplaceAll(fields, " ", "_") + "_" + strings.ReplaceAll(zone, "/", "-")
			b.Run("ours/"+name, func(b *testing.B) {
				s := mustCompile(b, schedule.Spec{Cron: []string{expression}})
				after := benchAfter
				for b.Loop() {
					next, ok := s.Next(after, "")
					if after = next.Nominal; !ok {
						after = benchAfter
					}
				}
			})
			b.Run("robfig/"+name, func(b *testing.B) {
				theirs, err := cron.ParseStandard(expression)
				require.NoError(b, err)
				after := benchAfter
				for b.Loop() {
					if after = theirs.Next(after); after.Year() > schedule.MaxYear {
						after = benchAfter
					}
				}
			})
		}
	}
}

// BenchmarkYear walks through the 525,600 times of a minutely spec in a year.
func BenchmarkYear(b *testing.B) {
	spec, err := Compile(schedule.Spec{Cron: []string{"* * * * *"}})
	require.NoError(b, err)
	from := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Add(-1)
	b.ReportAllocs()
	for b.Loop() {
		count := 0
		for range spec.Between(from, from.AddDate(1, 0, 0), "") {
			count++
		}
		require.Equal(b, 525_600, count)
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(benchSpecs[1].spec); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewZone(b *testing.B) {
	loc, err := schedule.LoadZone("Europe/Berlin")
	require.NoError(b, err)
	for b.Loop() {
		newZone(loc)
	}
}

// BenchmarkMissed counts what a schedule missed in three years of outage.
func BenchmarkMissed(b *testing.B) {
	s := mustCompile(b, schedule.Spec{Cron: []string{"* * * * *"}, TimeZone: "Europe/Berlin"})
	r := Range{From: benchAfter.AddDate(-3, 0, 0), To: benchAfter, CatchupWindow: 10 * time.Second, Limit: 1000}
	for b.Loop() {
		s.ProcessTimeRange(r)
	}
}

// BenchmarkProcessTimeRange has one time that is due, and asks for the next one, as the generator does.
func BenchmarkProcessTimeRange(b *testing.B) {
	for _, bench := range benchSpecs {
		if bench.pathological {
			continue
		}
		b.Run(bench.name, func(b *testing.B) {
			s := mustCompile(b, bench.spec)
			due, ok := s.NextDue(benchAfter, "default-nightly")
			require.True(b, ok)
			r := Range{
				From: due.Actual.Add(-time.Second), To: due.Actual, CatchupWindow: time.Hour, Limit: 1000, Seed: "default-nightly",
			}
			b.ReportAllocs()
			for b.Loop() {
				s.ProcessTimeRange(r)
			}
		})
	}
}
