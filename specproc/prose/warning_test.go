package prose

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

var warnFrom = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func cronIn(zone string, expressions ...string) schedule.Spec {
	return schedule.Spec{Cron: expressions, TimeZone: zone}
}

func warnedSpecs() []struct {
	spec schedule.Spec
	want []string
} {
	const berlin = "Europe/Berlin"
	tenMinutely := func(exclude schedule.Calendar) schedule.Spec {
		return schedule.Spec{Cron: []string{"*/10 * * * *"}, ExcludeCalendars: []schedule.Calendar{exclude}}
	}
	return []struct {
		spec schedule.Spec
		want []string
	}{
		{schedule.Spec{}, nil},
		{cronIn(berlin, "0 25 * * *"), nil},
		{schedule.Spec{ExcludeCalendars: []schedule.Calendar{{}}}, nil},
		{cronIn(berlin, "0 9 * * mon-fri"), nil},
		{cronIn("", "30 2 * * *"), nil},

		{cronIn("", "0 0 9 * * *"), []string{
			`six_fields cron[0]: has six fields, of which the last is the year, so it means "at 00:00 on the 9th of the month"; where the first of six is the second it means "at 09:00 every day": for that, write "0 0 9 * * * *"`,
		}},
		{cronIn("", "*/10 * * * * *"), []string{
			`six_fields cron[0]: has six fields, of which the last is the year, so it means "every 10 minutes"; where the first of six is the second it means "every 10 seconds": for that, write "*/10 * * * * * *"`,
		}},
		{cronIn("", "0 9 * * 1 2030"), nil},
		{cronIn("", "TZ=UTC 0 9 * * ? * # as EventBridge has it"), nil},
		{cronIn("", "0 9 ? * mon-fri *"), nil},
		{cronIn("", "0 9 ? * fri#2 *"), nil},
		{cronIn("", "0 9 ? * 2-6 *"), []string{
			`day_numbers cron[0]: has ? and numbers of days of the week, which begin with 0 for Sunday here and mean "at 09:00, Tuesday to Saturday"; Quartz and EventBridge count from 1 for Sunday: write names such as mon-fri`,
		}},
		{cronIn("", "0 0 9 ? * 6#2 *"), []string{
			`day_numbers cron[0]: has ? and numbers of days of the week, which begin with 0 for Sunday here and mean "at 09:00 on the second Saturday of the month"; Quartz and EventBridge count from 1 for Sunday: write names such as mon-fri`,
		}},
		{cronIn("", "0 9 * * fri#L"), []string{
			`comment cron[0]: is stored with a # that an earlier release took for the beginning of a comment, so it means "at 09:00 on Fridays": write what was meant, such as friL or fri#2, or put a blank before the #`,
		}},
		{cronIn(berlin, "30 2 * * *"), []string{
			"skipped_by_clock cron[0]: 02:30 will not run on 2026-03-29 and 2027-03-28 in Europe/Berlin: the clocks skip it; dst.gap: shift would run it at 03:00",
			"repeated_by_clock cron[0]: 02:30 will run twice on 2026-10-25 and 2027-10-31 in Europe/Berlin: the clocks repeat it; dst.repeat: first would run it once",
		}},
		{cronIn("America/New_York", "0,30 2 * * sun"), []string{
			"skipped_by_clock cron[0]: 02:00 (and 1 more) will not run on 2026-03-08 and 2027-03-14 in America/New_York: the clocks skip it; dst.gap: shift would run it at 03:00",
		}},
		{cronIn("Asia/Beirut", "0 0 * * *"), []string{
			"skipped_by_clock cron[0]: 00:00 will not run on 2026-03-29 and 2027-03-28 in Asia/Beirut: the clocks skip it; dst.gap: shift would run it at 01:00",
		}},
		{cronIn("Australia/Lord_Howe", "0 2 * * *"), []string{
			"skipped_by_clock cron[0]: 02:00 will not run on 2026-10-04 and 2027-10-03 in Australia/Lord_Howe: the clocks skip it; dst.gap: shift would run it at 02:30",
		}},
		{cronIn("Australia/Sydney", "30 2 1-7 4 *"), []string{
			"repeated_by_clock cron[0]: 02:30 will run twice on 2026-04-05 and 2027-04-04 in Australia/Sydney: the clocks repeat it; dst.repeat: first would run it once",
		}},
		{cronIn(berlin, "*/15 * * * *"), nil},
		{cronIn(berlin, "0 * * * *"), nil},
		{cronIn(berlin, "* * * * * * *"), nil},
		{cronIn(berlin, "0 */2 * * *"), []string{
			"skipped_by_clock cron[0]: 02:00 will not run on 2026-03-29 and 2027-03-28 in Europe/Berlin: the clocks skip it; dst.gap: shift would run it at 03:00",
			"repeated_by_clock cron[0]: 02:00 will run twice on 2026-10-25 and 2027-10-31 in Europe/Berlin: the clocks repeat it; dst.repeat: first would run it once",
		}},
		{cronIn(berlin, "*/15 0-2 * * *"), []string{
			"skipped_by_clock cron[0]: 02:00 (and 3 more) will not run on 2026-03-29 and 2027-03-28 in Europe/Berlin: the clocks skip it; dst.gap: shift would run it at 03:00",
			"repeated_by_clock cron[0]: 02:00 (and 3 more) will run twice on 2026-10-25 and 2027-10-31 in Europe/Berlin: the clocks repeat it; dst.repeat: first would run it once",
		}},
		{with(cronIn(berlin, "30 2 * * *"), func(s *schedule.Spec) { s.DST.Gap = "shift" }), []string{
			"repeated_by_clock cron[0]: 02:30 will run twice on 2026-10-25 and 2027-10-31 in Europe/Berlin: the clocks repeat it; dst.repeat: first would run it once",
		}},
		{with(cronIn(berlin, "30 2 * * *"), func(s *schedule.Spec) { s.DST.Repeat = "last" }), []string{
			"skipped_by_clock cron[0]: 02:30 will not run on 2026-03-29 and 2027-03-28 in Europe/Berlin: the clocks skip it; dst.gap: shift would run it at 03:00",
		}},
		{with(cronIn(berlin, "30 2 * * *"), func(s *schedule.Spec) { s.EndTime = warnFrom.AddDate(0, 2, 0) }), nil},
		{with(cronIn(berlin, "30 2 * * *"), func(s *schedule.Spec) {
			s.ExcludeCalendars = []schedule.Calendar{{Second: "*", Minute: "*", Hour: "*", DayOfWeek: "sun"}}
		}), nil},

		{cronIn("", "0 0 31 * *"), []string{
			"short_month cron[0]: day 31 will not run in February, April, June, September and November",
		}},
		{cronIn("", "0 0 15,31 * *"), []string{
			"short_month cron[0]: day 31 will not run in February, April, June, September and November",
		}},
		{cronIn("", "0 0 30 * *"), []string{
			"short_month cron[0]: day 30 will not run in February",
		}},
		{cronIn("", "0 0 29 * *"), []string{
			"short_month cron[0]: day 29 will not run in February, except in leap years",
		}},
		{cronIn("", "0 0 29 2 *"), []string{
			"short_month cron[0]: 29 February will run in leap years only",
		}},
		{cronIn("", "0 0 31 1,3 *"), nil},
		{cronIn("", "0 0 25-31 * *"), nil},
		{cronIn("", "0 0 */2 * *"), nil},
		{cronIn("", "0 0 31W 6 *"), []string{"never_due : will never run: no date matches"}},
		{cronIn("", "0 0 30W * *"), []string{
			"short_month cron[0]: day 30 will not run in February",
		}},
		{cronIn("", "0 0 * * fri#5"), []string{
			"short_month cron[0]: the fifth Friday will not run in months that have four",
		}},
		{cronIn("", "0 0 L * *"), nil},

		{cronIn("", "0 0 13 * fri"), []string{
			"day_fields cron[0]: both day fields are set, so a day matches if either does: on the 13th of the month or on Fridays; a calendar runs only on days that match both",
		}},
		{cronIn("", "0 9 */2 * mon"), []string{
			"day_fields cron[0]: one day field begins with *, so a day must match both: on every 2nd day from the 1st to the 31st of the month, only on Mondays",
		}},
		{schedule.Spec{Calendars: []schedule.Calendar{{DayOfMonth: "13", DayOfWeek: "fri"}}}, nil},

		{every(7*time.Hour, 0), []string{
			"drift intervals[0]: every 7 hours does not divide a day: the times change from day to day",
		}},
		{every(36*time.Hour, 0), []string{
			"drift intervals[0]: every 36 hours is no whole number of days: the times change from day to day",
		}},
		{cronIn("", "@every 25m"), []string{
			"drift cron[0]: every 25 minutes does not divide a day: the times change from day to day",
		}},
		{every(7*time.Second, 0), nil},
		{every(90*time.Second, 0), nil},
		{every(48*time.Hour, 0), nil},
		{with(every(24*time.Hour, 0), func(s *schedule.Spec) { s.TimeZone = berlin }), []string{
			"interval_ignores_zone intervals[0]: every 24 hours does not follow the clocks of Europe/Berlin: the time on the wall moves when they change; a calendar would keep it",
		}},
		{with(every(24*time.Hour, 0), func(s *schedule.Spec) { s.TimeZone = "Asia/Tokyo" }), nil},

		{cronIn("", "0 0 30 2 *"), []string{
			"never_due : will never run: no date matches",
		}},
		{cronIn("", "0 9 * * * 2020"), []string{
			"no_time_left : will not run any more: no time is left after 2026-01-15 12:00 UTC",
		}},
		{with(daily(), func(s *schedule.Spec) { s.EndTime = warnFrom.AddDate(0, -1, 0) }), []string{
			"no_time_left : will not run any more: no time is left after 2026-01-15 12:00 UTC",
		}},
		{with(daily(), func(s *schedule.Spec) { s.StartTime, s.EndTime = warnFrom, warnFrom.Add(time.Hour) }), []string{
			"never_due : will never run: no time lies between the start and the end",
		}},
		{schedule.Spec{StructuredCalendars: []schedule.StructuredCalendar{{}}}, []string{
			"never_due : will never run: no date matches",
		}},
		{schedule.Spec{At: []time.Time{warnFrom.Add(-time.Hour)}}, []string{
			"no_time_left : will not run any more: no time is left after 2026-01-15 12:00 UTC",
		}},
		{tenMinutely(schedule.Calendar{Second: "*", Minute: "*", Hour: "*"}), []string{
			"all_excluded : will never run: the excludes take out every time",
		}},

		{with(daily(), func(s *schedule.Spec) { s.Jitter = schedule.Duration(25 * time.Hour) }), []string{
			"jitter jitter: 25 hours is more than the 24 hours between two times: a time is never delayed past the following one",
		}},
		{with(daily(), func(s *schedule.Spec) { s.Jitter = schedule.Duration(time.Hour) }), nil},

		{tenMinutely(schedule.Calendar{DayOfWeek: "sat,sun"}), []string{
			"exclude_instant excludeCalendars[0]: takes out only 00:00:00 of its days: let second, minute and hour be * to take out whole days",
		}},
		{tenMinutely(schedule.Calendar{Hour: "12"}), []string{
			"exclude_instant excludeCalendars[0]: takes out only 12:00:00 of its days: let second and minute be * to take out whole hours",
		}},
		{tenMinutely(schedule.Calendar{Hour: "12-14"}), []string{
			"exclude_instant excludeCalendars[0]: takes out only single seconds such as 12:00:00 of its days: let second and minute be * to take out whole hours",
		}},
		{tenMinutely(schedule.Calendar{Second: "*", Minute: "*", Hour: "12"}), nil},
		{with(every(time.Hour, 0), func(s *schedule.Spec) { s.ExcludeCalendars = []schedule.Calendar{{Month: "dec"}} }), []string{
			"exclude_instant excludeCalendars[0]: takes out only 00:00:00 of its days: let second, minute and hour be * to take out whole days",
		}},
		{with(every(time.Hour, 0), func(s *schedule.Spec) { s.ExcludeCalendars = []schedule.Calendar{{Hour: "12"}} }), nil},
		{with(cronIn("", "@daily"), func(s *schedule.Spec) { s.ExcludeCalendars = []schedule.Calendar{{DayOfWeek: "sun"}} }), nil},

		{cronIn("", "0 2 * * *", "0 2 * * mon", "30 * * * *"), []string{
			"coincide cron[1]: coincides with cron[0], for example at 2026-01-19 02:00 UTC: such a time runs once",
		}},
		{with(cronIn(berlin, "0 9 * * *"), func(s *schedule.Spec) {
			s.Intervals = every(time.Hour, 0).Intervals
			s.At = []time.Time{warnFrom.Add(time.Minute)}
		}), []string{
			"coincide intervals[0]: coincides with cron[0], for example at 2026-01-16 09:00 Europe/Berlin: such a time runs once",
		}},
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for i, test := range warnedSpecs() {
		assert.Equal(t, test.want, warningTexts(test.spec, warnFrom), "%d: %s", i, Describe(test.spec))
	}
}

// warningTexts returns each warning in one line.
func warningTexts(spec schedule.Spec, from time.Time) []string {
	var texts []string
	for _, w := range Warnings(spec, from) {
		texts = append(texts, string(w.Code)+" "+w.Field+": "+w.Text)
	}
	return texts
}

// TestClockWarningsAreTrue compares the warnings with the search: a skipped time does not come, a repeated one comes twice.
func TestClockWarningsAreTrue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Asia/Tokyo"}).Draw(t, "zone")
		hour, minute := rapid.IntRange(0, 4).Draw(t, "hour"), rapid.SampledFrom([]int{0, 15, 30, 59}).Draw(t, "minute")
		spec := schedule.Spec{TimeZone: zone, StructuredCalendars: []schedule.StructuredCalendar{{
			Second: []schedule.Range{{}}, Minute: []schedule.Range{{Start: minute}}, Hour: []schedule.Range{{Start: hour}},
			DayOfMonth: []schedule.Range{{Start: 1, End: 31}}, Month: []schedule.Range{{Start: 1, End: 12}},
			DayOfWeek: []schedule.Range{{Start: 0, End: 6}},
		}}}
		var skipped, repeated bool
		for _, w := range Warnings(spec, warnFrom) {
			skipped = skipped || w.Code == WarnSkippedByClock
			repeated = repeated || w.Code == WarnRepeatedByClock
		}
		var shorter, longer bool
		last := time.Time{}
		compiled, err := specproc.Compile(spec)
		require.NoError(t, err)
		for next := range compiled.Between(warnFrom, warnFrom.AddDate(2, 0, 0), "") {
			gap := next.Nominal.Sub(last)
			longer = longer || !last.IsZero() && gap > 26*time.Hour
			shorter = shorter || !last.IsZero() && gap < 22*time.Hour
			last = next.Nominal
		}
		require.Equal(t, longer, skipped)
		require.Equal(t, shorter, repeated)
	})
}

func BenchmarkWarnings(b *testing.B) {
	spec := cronIn("Europe/Berlin", "0,30 2 * * *", "0 2 * * mon", "*/15 * * * *", "0 0 31 * *")
	for b.Loop() {
		Warnings(spec, warnFrom)
	}
}
