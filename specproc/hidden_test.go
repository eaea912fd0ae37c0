package specproc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TestDayThatComesTwice: in St. John's the clock was set back at 00:01. So the first minute of a day came, and then the last hour
// of the day before it. To exclude one of the two days does not exclude the other.
func TestDayThatComesTwice(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, schedule.Spec{
		Cron: []string{"0,30 * * * *"}, TimeZone: "America/St_Johns", ExcludeDates: []schedule.DateRange{"2010-11-07"},
	})
	loc, err := schedule.LoadZone("America/St_Johns")
	require.NoError(t, err)
	var got []string
	for due := range s.Between(time.Date(2010, 11, 7, 1, 0, 0, 0, time.UTC), time.Date(2010, 11, 8, 4, 0, 0, 0, time.UTC), "") {
		got = append(got, due.Nominal.In(loc).Format(time.DateTime))
	}
	require.Equal(t, []string{
		"2010-11-06 23:00:00", "2010-11-06 23:30:00", "2010-11-06 23:30:00", "2010-11-08 00:00:00", "2010-11-08 00:30:00",
	}, got)
}

func TestBlackoutBounds(t *testing.T) {
	t.Parallel()
	at := func(second, nanosecond int) time.Time {
		return time.Date(2026, 3, 1, 9, 0, second, nanosecond, time.UTC)
	}
	s := mustCompile(t, schedule.Spec{Cron: []string{"* * * * * * *"}, Blackouts: []schedule.Blackout{
		{From: at(2, 0), To: at(4, 0)}, {From: at(6, 1), To: at(8, 1)}, {From: at(8, 500), To: at(10, 0)}, {From: at(12, 1), To: at(12, 2)},
	}})
	var got []int
	for due := range s.Between(at(0, 0), at(14, 0), "") {
		got = append(got, due.Nominal.Second())
	}
	require.Equal(t, []int{1, 4, 5, 6, 10, 11, 12, 13, 14}, got, "from counts, to does not")
}

func TestNamedCalendars(t *testing.T) {
	t.Parallel()
	spec := schedule.Spec{
		Cron: []string{"0 12 * * *"}, TimeZone: "Asia/Tokyo", ExcludeCalendarsNamed: []string{"holidays", "freeze"},
		ExcludeDates: []schedule.DateRange{"2026-01-05"},
	}
	_, err := Compile(spec)
	require.EqualError(t, err, `excludeCalendarsNamed[0]: named calendar "holidays" does not exist: the namespace has none`)
	s, err := CompileWith(spec, map[string]schedule.NamedCalendar{
		"holidays": {Name: "holidays", Dates: []schedule.DateRange{"2026-01-01/2026-01-03"}},
		"freeze": {Name: "freeze", Windows: []schedule.Blackout{{
			From: time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 1, 8, 3, 0, 0, 0, time.UTC),
		}}},
		"unused": {Name: "unused", Dates: []schedule.DateRange{"2000-01-01/2100-12-31"}},
	})
	require.NoError(t, err)
	var got []string
	for _, next := range atMost(s, 3, time.Date(2025, 12, 31, 12, 0, 0, 0, time.UTC), "") {
		got = append(got, next.Nominal.Format(time.RFC3339))
	}
	require.Equal(t, []string{"2026-01-04T03:00:00Z", "2026-01-08T03:00:00Z", "2026-01-09T03:00:00Z"}, got)
}

// TestStretches compares with a set of numbers.
func TestStretches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var (
			all []stretch
			in  [60]bool
		)
		for range rapid.IntRange(0, 6).Draw(t, "count") {
			one := stretch{first: rapid.Int64Range(0, 50).Draw(t, "first")}
			one.until = one.first + rapid.Int64Range(1, 9).Draw(t, "length")
			all = append(all, one)
			for n := one.first; n < one.until; n++ {
				in[n] = true
			}
		}
		joined := newStretches(all)
		for n := range in {
			until, ok := joined.holding(int64(n))
			require.Equal(t, in[n], ok)
			if ok {
				require.False(t, in[until], "it ends where nothing is hidden")
				require.Greater(t, until, int64(n))
			}
		}
	})
}
