package prose

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// cronWords has the words for one calendar. The test also tries each expression as a calendar and as a structured calendar.
var cronWords = []struct{ cron, want string }{
	{"0 9 * * mon-fri", "at 09:00, Monday to Friday, Europe/Berlin"},
	{"0 9 * * 1,2,3,4,5", "at 09:00, Monday to Friday, Europe/Berlin"},
	{"* * * * *", "every minute, Europe/Berlin"},
	{"*/15 * * * *", "every 15 minutes, Europe/Berlin"},
	{"5/15 * * * *", "every 15 minutes from 00:05, Europe/Berlin"},
	{"*/7 * * * *", "every 7 minutes from :00 to :56 of every hour, Europe/Berlin"},
	{"*/7 8-10 * * *", "every 7 minutes from :00 to :56 of the hours 8 to 10 every day, Europe/Berlin"},
	{"1-59/2 * * * *", "every 2 minutes from 00:01, Europe/Berlin"},
	{"5,20,47 * * * *", "every hour at :05, :20 and :47, Europe/Berlin"},
	{"5,20,47 8-10 * * *", "at :05, :20 and :47 of the hours 8 to 10 every day, Europe/Berlin"},
	{"0,1,2,3,7,13,14 8 * * *", "at the minutes 0 to 3, 7, 13 and 14 of the hour 8 every day, Europe/Berlin"},
	{"30 * * * *", "every hour at :30, Europe/Berlin"},
	{"0 */2 * * *", "every 2 hours, Europe/Berlin"},
	{"30 1-23/2 * * *", "every 2 hours from 01:30, Europe/Berlin"},
	{"0 */5 * * *", "every 5 hours from 00:00 to 20:00 every day, Europe/Berlin"},
	{"0 8-18/2 * * *", "every 2 hours from 08:00 to 18:00 every day, Europe/Berlin"},
	{"*/15 */2 * * *", "every 15 minutes of every 2nd hour every day, Europe/Berlin"},
	{"*/15 8-10 * * mon-fri", "every 15 minutes from 08:00 to 10:45, Monday to Friday, Europe/Berlin"},
	{"*/15 8-10,14-15 * * *", "every 15 minutes from 08:00 to 10:45 and from 14:00 to 15:45 every day, Europe/Berlin"},
	{"0 8-10,14 * * *", "at 08:00, 09:00, 10:00 and 14:00 every day, Europe/Berlin"},
	{"0 6-12,20,22 * * *", "every hour from 06:00 to 12:00, at 20:00 and at 22:00 every day, Europe/Berlin"},
	{"*/5 1,3,7,8,20 * * *", "every 5 minutes of the hours 1, 3, 7, 8 and 20 every day, Europe/Berlin"},
	{"15,45 9-17 * * *", "every 30 minutes from 09:15 to 17:45 every day, Europe/Berlin"},
	{"0 0,12 * * *", "at 00:00 and 12:00 every day, Europe/Berlin"},
	{"0 9,12,17 * * *", "at 09:00, 12:00 and 17:00 every day, Europe/Berlin"},
	{"* 9-17 * * *", "every minute from 09:00 to 17:59 every day, Europe/Berlin"},
	{"* * * * * * *", "every second, Europe/Berlin"},
	{"*/10 * * * * * *", "every 10 seconds, Europe/Berlin"},
	{"*/10 * 9-17 * * * *", "every 10 seconds from 09:00:00 to 17:59:50 every day, Europe/Berlin"},
	{"7 * * * * * *", "every minute at second 7, Europe/Berlin"},
	{"3,17 * * * * * *", "at the seconds 3 and 17 of every minute, Europe/Berlin"},
	{"5,20 3 7 * * * *", "at 07:03:05 and 07:03:20 every day, Europe/Berlin"},
	{"*/20 0,1,7,30 9 * * * *", "every 20 seconds of the minutes 0, 1, 7 and 30 of the hour 9 every day, Europe/Berlin"},
	{"@yearly", "at 00:00 on the 1st of January, Europe/Berlin"},
	{"@monthly", "at 00:00 on the 1st of the month, Europe/Berlin"},
	{"@weekly", "at 00:00 on Sundays, Europe/Berlin"},
	{"@daily", "at 00:00 every day, Europe/Berlin"},
	{"@hourly", "every hour, Europe/Berlin"},
	{"0 0 1,15 1,7 *", "at 00:00 on the 1st and 15th of January and July, Europe/Berlin"},
	{"0 9 1-7 * *", "at 09:00 on the 1st to 7th of the month, Europe/Berlin"},
	{"0 9 1-7,15,16 6-8 *", "at 09:00 on the 1st to 7th, 15th and 16th of the month, June to August, Europe/Berlin"},
	{"0 9 10-20/2 * *", "at 09:00 on every 2nd day from the 10th to the 20th of the month, Europe/Berlin"},
	{"0 9 * 6-8 *", "at 09:00 every day, June to August, Europe/Berlin"},
	{"0 9 * 1,7 mon", "at 09:00 on Mondays in January and July, Europe/Berlin"},
	{"0 9 * 1,7 mon 2027", "at 09:00 on Mondays in January and July 2027, Europe/Berlin"},
	{"0 9 1 1 * 2027", "at 09:00 on the 1st of January 2027, Europe/Berlin"},
	{"0 9 * * * 2027", "at 09:00 every day in 2027, Europe/Berlin"},
	{"0 9 * * * 2027-2030", "at 09:00 every day, 2027 to 2030, Europe/Berlin"},
	{"0 9 * 6-8 * 2027,2029", "at 09:00 every day, June to August in 2027 and 2029, Europe/Berlin"},
	{"0 0 29 2 * 2000/4", "at 00:00 on the 29th of February in every 4th year from 2000 to 2100, Europe/Berlin"},
	{"0 0 * * sat,sun", "at 00:00 on Saturdays and Sundays, Europe/Berlin"},
	{"0 0 * * 5-7", "at 00:00, Friday to Sunday, Europe/Berlin"},
	{"0 0 * * mon-wed,sat", "at 00:00, Monday to Wednesday and Saturday, Europe/Berlin"},
	{"0 9 */2 * mon", "at 09:00 on every 2nd day from the 1st to the 31st of the month, only on Mondays, Europe/Berlin"},
	{"*/15 * * * sat,sun", "every 15 minutes on Saturdays and Sundays, Europe/Berlin"},
	{"0 9 L * *", "at 09:00 on the last day of the month, Europe/Berlin"},
	{"0 9 L 2,4 *", "at 09:00 on the last day of February and April, Europe/Berlin"},
	{"0 9 L-3,L * *", "at 09:00 on the 3rd day before the last and on the last day of the month, Europe/Berlin"},
	{"0 9 LW * *", "at 09:00 on the last weekday of the month, Europe/Berlin"},
	{"0 9 15W * *", "at 09:00 on the weekday nearest the 15th of the month, Europe/Berlin"},
	{"0 9 1W,15W 6-8 ?", "at 09:00 on the weekdays nearest the 1st and 15th of the month, June to August, Europe/Berlin"},
	{"0 9 1,L * ?", "at 09:00 on the 1st and on the last day of the month, Europe/Berlin"},
	{"0 9 ? * fri#2", "at 09:00 on the second Friday of the month, Europe/Berlin"},
	{"0 9 * * fri#2,fri#4", "at 09:00 on the second and fourth Friday of the month, Europe/Berlin"},
	{"0 9 * 1 friL", "at 09:00 on the last Friday of January, Europe/Berlin"},
	{"0 9 * * mon#1,thuL", "at 09:00 on the first Monday and the last Thursday of the month, Europe/Berlin"},
	{"0 9 * 7 mon,friL", "at 09:00 on Mondays and the last Friday of the month in July, Europe/Berlin"},
}

func TestDescribeCron(t *testing.T) {
	t.Parallel()
	for _, test := range cronWords {
		t.Run(test.cron, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, Describe(schedule.Spec{Cron: []string{test.cron}, TimeZone: "Europe/Berlin"}))
		})
	}
}

// TestDescribeFormsAlike writes the expressions as calendars and as structured calendars.
func TestDescribeFormsAlike(t *testing.T) {
	t.Parallel()
	for _, test := range cronWords {
		cron, err := schedule.ParseCron(test.cron)
		require.NoError(t, err)
		structured := schedule.Spec{StructuredCalendars: cron.Calendars, TimeZone: "Europe/Berlin"}
		assert.Equal(t, test.want, Describe(structured), test.cron)
		if !strings.HasPrefix(test.cron, "@") {
			text := schedule.Spec{Calendars: []schedule.Calendar{calendarOf(test.cron)}, TimeZone: "Europe/Berlin"}
			assert.Equal(t, test.want, Describe(text), test.cron)
		}
	}
}

// calendarOf puts the fields of an expression into a calendar. At most one day field of the expression is restricted.
func calendarOf(cron string) schedule.Calendar {
	fields := strings.Fields(strings.ReplaceAll(cron, "?", "*"))
	second, year := "0", "*"
	switch len(fields) {
	case 6:
		year = fields[5]
	case 7:
		second, year, fields = fields[0], fields[6], fields[1:6]
	}
	field := func(i int) schedule.CalendarField { return schedule.CalendarField(fields[i]) }
	return schedule.Calendar{
		Second: schedule.CalendarField(second), Minute: field(0), Hour: field(1), DayOfMonth: field(2), Month: field(3),
		DayOfWeek: field(4), Year: schedule.CalendarField(year),
	}
}

func every(every, phase time.Duration) schedule.Spec {
	return schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(every), Phase: schedule.Duration(phase)}}}
}

func daily() schedule.Spec { return schedule.Spec{Cron: []string{"0 9 * * *"}} }

// with changes a spec.
func with(spec schedule.Spec, change func(*schedule.Spec)) schedule.Spec {
	change(&spec)
	return spec
}

func excluding(calendars ...schedule.Calendar) schedule.Spec {
	return with(daily(), func(s *schedule.Spec) { s.ExcludeCalendars = calendars })
}

func describedSpecs() []struct {
	spec schedule.Spec
	want string
} {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	allDay := func(c schedule.Calendar) schedule.Calendar {
		c.Second, c.Minute, c.Hour = "*", "*", "*"
		return c
	}
	return []struct {
		spec schedule.Spec
		want string
	}{
		{schedule.Spec{}, "only when triggered"},
		{schedule.Spec{TimeZone: "Asia/Tokyo"}, "only when triggered"},
		{schedule.Spec{ExcludeCalendars: []schedule.Calendar{{}}}, "only when triggered"},
		{schedule.Spec{StructuredCalendars: []schedule.StructuredCalendar{{}}}, "never (a field is empty), UTC"},
		{schedule.Spec{Cron: []string{"61 * * * *"}}, "invalid: cron[0]: minute \"61\" is out of range: use 0 to 59"},
		{every(time.Second, 0), "every second"},
		{every(90*time.Minute, 0), "every 90 minutes"},
		{every(90*time.Minute, 15*time.Minute), "every 90 minutes offset by 15 minutes"},
		{every(157*time.Minute, 0), "every 2 hours 37 minutes"},
		{every(time.Hour, 0), "every hour"},
		{every(24*time.Hour, 9*time.Hour), "every 24 hours at 09:00 UTC"},
		{every(48*time.Hour, 9*time.Hour+30*time.Second), "every 2 days offset by 9 hours 30 seconds"},
		{every(7*24*time.Hour, 4*24*time.Hour+9*time.Hour), "every 7 days on Mondays at 09:00 UTC"},
		{every(3661*time.Second, 0), "every 1 hour 1 minute 1 second"},
		{schedule.Spec{Cron: []string{"@every 90m/15m"}, TimeZone: "Asia/Tokyo"}, "every 90 minutes offset by 15 minutes"},
		{schedule.Spec{Cron: []string{"0 9 * * *"}}, "at 09:00 every day, UTC"},
		{schedule.Spec{Cron: []string{"*/15 * * * *"}}, "every 15 minutes"},
		{schedule.Spec{Cron: []string{"CRON_TZ=Asia/Tokyo 0 9 * * * # morning"}}, "at 09:00 every day, Asia/Tokyo"},
		{schedule.Spec{Cron: []string{"0 0 13 * fri"}}, "at 00:00 on the 13th of the month or on Fridays, UTC"},
		{schedule.Spec{Cron: []string{"0 0 13 1,2 mon-fri 2027"}}, "at 00:00 on the 13th of the month or Monday to Friday in January and February 2027, UTC"},
		{schedule.Spec{Cron: []string{"0 0 L * fri#2"}}, "at 00:00 on the last day of the month or on the second Friday of the month, UTC"},
		{schedule.Spec{Calendars: []schedule.Calendar{{DayOfMonth: "13", DayOfWeek: "fri"}}}, "at 00:00 on the 13th of the month, only on Fridays, UTC"},
		{schedule.Spec{Calendars: []schedule.Calendar{{DayOfMonth: "1-7", DayOfWeek: "mon-fri"}}}, "at 00:00 on the 1st to 7th of the month, only Monday to Friday, UTC"},
		{schedule.Spec{Cron: []string{"0 9 * * *", "@hourly"}, Intervals: every(time.Minute, 0).Intervals}, "at 09:00 every day; also every hour; also every minute; UTC"},
		{schedule.Spec{At: []time.Time{noon}}, "once at 2026-03-01 12:00 UTC"},
		{schedule.Spec{At: []time.Time{noon.Add(time.Second), noon, noon}}, "once at 2026-03-01 12:00 UTC and 2026-03-01 12:00:01 UTC"},
		{
			schedule.Spec{At: []time.Time{noon, noon.Add(1e9), noon.Add(2e9), noon.Add(3e9), noon.Add(4e9)}},
			"once at 2026-03-01 12:00 UTC, 2026-03-01 12:00:01 UTC, 2026-03-01 12:00:02 UTC and 2 more times",
		},
		{excluding(schedule.Calendar{DayOfWeek: "sat,sun"}), "at 09:00 every day, except at 00:00 on Saturdays and Sundays, UTC"},
		{excluding(allDay(schedule.Calendar{DayOfWeek: "sat,sun"})), "at 09:00 every day, except on Saturdays and Sundays, UTC"},
		{excluding(allDay(schedule.Calendar{DayOfMonth: "25", Month: "12"})), "at 09:00 every day, except on the 25th of December, UTC"},
		{excluding(allDay(schedule.Calendar{Month: "6-8"})), "at 09:00 every day, except June to August, UTC"},
		{excluding(allDay(schedule.Calendar{})), "at 09:00 every day, except always, UTC"},
		{excluding(schedule.Calendar{Second: "*", Minute: "*", Hour: "12"}), "at 09:00 every day, except between 12:00 and 13:00, UTC"},
		{excluding(schedule.Calendar{Second: "*", Minute: "30-59", Hour: "12"}), "at 09:00 every day, except between 12:30 and 13:00, UTC"},
		{excluding(schedule.Calendar{Second: "*", Minute: "*", Hour: "0-7,20-23", DayOfWeek: "mon-fri"}), "at 09:00 every day, except between 00:00 and 08:00 and between 20:00 and 24:00, Monday to Friday, UTC"},
		{excluding(schedule.Calendar{Minute: "*", Hour: "12"}), "at 09:00 every day, except every minute from 12:00 to 12:59, UTC"},
		{with(daily(), func(s *schedule.Spec) { s.ExcludeDates = []schedule.DateRange{"2026-12-24/2026-12-26", "2027-01-01"} }), "at 09:00 every day, except on 2026-12-24 to 2026-12-26 and 2027-01-01, UTC"},
		{with(daily(), func(s *schedule.Spec) { s.Blackouts = []schedule.Blackout{{From: noon, To: noon.Add(time.Hour)}} }), "at 09:00 every day, except from 2026-03-01 12:00 UTC to 2026-03-01 13:00 UTC, UTC"},
		{with(daily(), func(s *schedule.Spec) { s.ExcludeCalendarsNamed = []string{"holidays", "freeze"} }), "at 09:00 every day, except the calendars \"holidays\" and \"freeze\", UTC"},
		{with(every(time.Hour, 0), func(s *schedule.Spec) { s.ExcludeDates = []schedule.DateRange{"2026-12-24"} }), "every hour, except on 2026-12-24, UTC"},
		{with(daily(), func(s *schedule.Spec) { s.StartTime, s.EndTime = noon, noon.Add(1500*time.Millisecond) }), "at 09:00 every day, UTC, starting 2026-03-01 12:00 UTC, ending 2026-03-01 12:00:01.5 UTC"},
		{with(daily(), func(s *schedule.Spec) { s.Jitter = schedule.Duration(90 * time.Second) }), "at 09:00 every day, UTC, delayed by up to 90 seconds"},
		{with(daily(), func(s *schedule.Spec) { s.Jitter = schedule.Duration(250 * time.Millisecond) }), "at 09:00 every day, UTC, delayed by up to 250 milliseconds"},
		{with(daily(), func(s *schedule.Spec) { s.DST = schedule.DST{Gap: "shift", Repeat: "first"} }), "at 09:00 every day, UTC, after the gap if the clocks skip it, only the first time if the clocks repeat it"},
		{with(daily(), func(s *schedule.Spec) { s.DST = schedule.DST{Gap: "skip", Repeat: "last"} }), "at 09:00 every day, UTC, only the last time if the clocks repeat it"},
		{with(every(time.Hour, 0), func(s *schedule.Spec) { s.DST = schedule.DST{Gap: "shift"} }), "every hour"},
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for i, test := range describedSpecs() {
		assert.Equal(t, test.want, Describe(test.spec), "%d", i)
	}
}

// TestDescribeProperties draws specs of every kind.
func TestDescribeProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := scheduletest.DrawSpec(t, rapid.SampledFrom(scheduletest.ClockChanges).Draw(t, "zone").Zone, warnFrom, warnFrom.Add(48*time.Hour))
		words := Describe(spec)
		require.NotEmpty(t, words)
		require.NotContains(t, words, "invalid")
		require.NotContains(t, words, "  ")
		require.NotContains(t, words, " ,")
		for i := range spec.StructuredCalendars {
			spec.StructuredCalendars[i] = spelledOut(spec.StructuredCalendars[i])
		}
		require.Equal(t, words, Describe(spec), "the same values, written one by one")
	})
}

// spelledOut writes each value as a range of its own, from the last to the first.
func spelledOut(c schedule.StructuredCalendar) schedule.StructuredCalendar {
	for _, field := range []*[]schedule.Range{
		&c.Second, &c.Minute, &c.Hour, &c.DayOfMonth, &c.Month, &c.Year, &c.DayOfWeek,
	} {
		var single []schedule.Range
		for _, value := range valuesOf(*field) {
			single = append([]schedule.Range{{Start: value, End: value}}, single...)
		}
		*field = single
	}
	return c
}

func TestDescribeNeverPanics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := schedule.Spec{
			Cron:     rapid.SliceOfN(rapid.StringMatching(`[*0-9,/LW#?-]{1,5}( [*0-9,/LW#?a-f-]{1,5}){4,6}`), 0, 2).Draw(t, "cron"),
			TimeZone: rapid.SampledFrom([]string{"", "UTC", "Europe/Berlin", "Nowhere"}).Draw(t, "zone"),
			Jitter:   schedule.Duration(rapid.Int64().Draw(t, "jitter")),
		}
		require.NotEmpty(t, Describe(spec))
		Warnings(spec, warnFrom)
	})
}

func BenchmarkDescribe(b *testing.B) {
	spec := schedule.Spec{Cron: []string{"*/15 8-10 * * mon-fri"}, TimeZone: "Europe/Berlin"}
	b.ReportAllocs()
	for b.Loop() {
		Describe(spec)
	}
}
