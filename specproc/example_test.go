package specproc_test

import (
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// show prints the first times of a spec after midnight of a date, in the zone of the spec.
func show(spec schedule.Spec, date string, count int) {
	s, err := specproc.Compile(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	loc, _ := spec.Location()
	after, _ := time.ParseInLocation(time.DateOnly, date, loc)
	for range count {
		next, ok := s.Next(after, "")
		if !ok {
			fmt.Println("no more")
			return
		}
		fmt.Println(next.Nominal.In(loc).Format("Mon 2006-01-02 15:04 MST"))
		after = next.Nominal
	}
}

// The next times of a cron expression, in its zone.
func ExampleSpec_Next() {
	show(schedule.Spec{Cron: []string{"CRON_TZ=Europe/Berlin 30 9 * * mon-fri"}}, "2026-03-27", 3)
	// Output:
	// Fri 2026-03-27 09:30 CET
	// Mon 2026-03-30 09:30 CEST
	// Tue 2026-03-31 09:30 CEST
}

// At 02:30, on the night on which there is none: not at all by default, at the end of the gap with GapShift.
func ExampleCompile_gap() {
	nightly := schedule.Spec{Cron: []string{"30 2 * * *"}, TimeZone: "Europe/Berlin"}
	show(nightly, "2026-03-28", 2)
	fmt.Println("shifted:")
	nightly.DST.Gap = schedule.GapShift
	show(nightly, "2026-03-28", 3)
	// Output:
	// Sat 2026-03-28 02:30 CET
	// Mon 2026-03-30 02:30 CEST
	// shifted:
	// Sat 2026-03-28 02:30 CET
	// Sun 2026-03-29 03:00 CEST
	// Mon 2026-03-30 02:30 CEST
}

// At 02:30, on the night on which it comes twice: both by default, or one of them.
func ExampleCompile_repeat() {
	nightly := schedule.Spec{Cron: []string{"30 2 * * *"}, TimeZone: "Europe/Berlin"}
	show(nightly, "2026-10-25", 3)
	for _, policy := range []schedule.RepeatPolicy{schedule.RepeatFirst, schedule.RepeatLast} {
		fmt.Println(policy)
		nightly.DST.Repeat = policy
		show(nightly, "2026-10-25", 2)
	}
	// Output:
	// Sun 2026-10-25 02:30 CEST
	// Sun 2026-10-25 02:30 CET
	// Mon 2026-10-26 02:30 CET
	// first
	// Sun 2026-10-25 02:30 CEST
	// Mon 2026-10-26 02:30 CET
	// last
	// Sun 2026-10-25 02:30 CET
	// Mon 2026-10-26 02:30 CET
}

// The last weekday of each month, and the second Friday.
func ExampleCompile_days() {
	show(schedule.Spec{Cron: []string{"0 18 LW * ?"}}, "2026-01-01", 3)
	show(schedule.Spec{Calendars: []schedule.Calendar{{Hour: "9", DayOfWeek: "fri#2"}}}, "2026-01-01", 2)
	// Output:
	// Fri 2026-01-30 18:00 UTC
	// Fri 2026-02-27 18:00 UTC
	// Tue 2026-03-31 18:00 UTC
	// Fri 2026-01-09 09:00 UTC
	// Fri 2026-02-13 09:00 UTC
}

// Dates, weekends and a maintenance window on which nothing runs.
func ExampleCompile_excludes() {
	show(schedule.Spec{
		Cron: []string{"0 12 * * *"}, TimeZone: "Europe/Berlin",
		ExcludeDates:     []schedule.DateRange{"2026-12-24/2026-12-26"},
		ExcludeCalendars: []schedule.Calendar{{Second: "*", Minute: "*", Hour: "*", DayOfWeek: "sat,sun"}},
		Blackouts: []schedule.Blackout{{
			From: time.Date(2026, 12, 28, 6, 0, 0, 0, time.UTC), To: time.Date(2026, 12, 28, 18, 0, 0, 0, time.UTC),
		}},
	}, "2026-12-22", 3)
	// Output:
	// Tue 2026-12-22 12:00 CET
	// Wed 2026-12-23 12:00 CET
	// Tue 2026-12-29 12:00 CET
}

// Holidays that many schedules share.
func ExampleCompileWith() {
	spec := schedule.Spec{Cron: []string{"@daily"}, ExcludeCalendarsNamed: []string{"holidays"}}
	_, err := specproc.Compile(spec)
	fmt.Println(err)
	s, err := specproc.CompileWith(spec, map[string]schedule.NamedCalendar{
		"holidays": {Name: "holidays", Dates: []schedule.DateRange{"2026-12-25/2026-12-26"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	next, _ := s.Next(time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC), "")
	fmt.Println(next.Nominal)
	// Output:
	// excludeCalendarsNamed[0]: named calendar "holidays" does not exist: the namespace has none
	// 2026-12-27 00:00:00 +0000 UTC
}

// Jitter spreads the load of schedules that are due at the same time: each seed has its own delay, always the same.
func ExampleSpec_Next_jitter() {
	s, err := specproc.Compile(schedule.Spec{Cron: []string{"@daily"}, Jitter: schedule.Duration(time.Hour)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, seed := range []string{"seed-1", "seed-2", "seed-1"} {
		next, _ := s.Next(time.Date(2022, 3, 23, 12, 0, 0, 0, time.UTC), seed)
		fmt.Println(next.Nominal.Format(time.DateTime), next.Actual.Format("15:04:05.000"))
	}
	// Output:
	// 2022-03-24 00:00:00 00:06:12.519
	// 2022-03-24 00:00:00 00:39:16.922
	// 2022-03-24 00:00:00 00:06:12.519
}

// After an outage of an hour, with a schedule of which only the newest time matters.
func ExampleSpec_ProcessTimeRange() {
	s, err := specproc.Compile(schedule.Spec{Cron: []string{"*/10 * * * *"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	out := s.ProcessTimeRange(specproc.Range{
		From: noon, To: noon.Add(time.Hour - time.Minute), CatchupWindow: 30 * time.Minute,
		CatchupMode: schedule.CatchupLatest, Limit: 1000,
	})
	fmt.Println("missed", out.Missed.Count, "superseded", out.Superseded.Count)
	for _, due := range out.Times {
		fmt.Println("due", due.Nominal.Format(time.TimeOnly))
	}
	fmt.Println("next", out.Next.Format(time.TimeOnly))
	// Output:
	// missed 2 superseded 2
	// due 12:50:00
	// next 13:00:00
}
