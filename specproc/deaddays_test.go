package specproc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestExcludedStretches compares the search through excluded days with one that tries raw time after raw time.
func TestExcludedStretches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(scheduletest.ClockChanges).Draw(t, "zone").Zone
		s := mustCompile(t, schedule.Spec{
			TimeZone:            zone,
			StructuredCalendars: rapid.SliceOfN(rapid.Custom(scheduletest.DrawCalendar), 0, 2).Draw(t, "calendars"),
			Intervals:           rapid.SliceOfN(rapid.Custom(scheduletest.DrawInterval), 0, 2).Draw(t, "intervals"),
			At:                  []time.Time{around.Add(40 * 24 * time.Hour)},
			// The first exclude leaves at most one second in each minute. Others follow.
			ExcludeStructuredCalendars: append(rapid.SliceOfN(rapid.Custom(scheduletest.DrawCalendar), 0, 2).Draw(t, "excludes"),
				schedule.StructuredCalendar{
					Second: scheduletest.DrawField(t, "second", 0, 59), Minute: []schedule.Range{{End: 59}}, Hour: []schedule.Range{{End: 23}},
					DayOfMonth: []schedule.Range{{Start: 1, End: 31}}, Month: []schedule.Range{{Start: 1, End: 12}},
					DayOfWeek: scheduletest.DrawDays(t, "weekday", 0, 6),
				}),
		})
		after := drawInstant(t, around, "after").Unix()
		got := s.nextNominal(after)
		tried := s.nextRaw(after)
		for range 5000 {
			if tried == never {
				break
			}
			if p := s.zone.piece(tried); !s.excludedIn(&p, tried) {
				break
			}
			require.Greater(t, got, tried, "an excluded time was found, or one before it")
			tried = s.nextRaw(tried)
		}
		require.GreaterOrEqual(t, got, tried)
		if tried == never {
			return
		}
		if p := s.zone.piece(tried); !s.excludedIn(&p, tried) {
			require.Equal(t, tried, got)
		}
	})
}

// TestDeadRunEnds: the search finds what ends a long run of days without times, whatever it is.
func TestDeadRunEnds(t *testing.T) {
	t.Parallel()
	utc := func(year int, month time.Month, day, hour int) time.Time {
		return time.Date(year, month, day, hour, 0, 0, 0, time.UTC)
	}
	daily := []schedule.Interval{{Every: schedule.Duration(24 * time.Hour), Phase: schedule.Duration(time.Hour)}}
	for name, test := range map[string]struct {
		spec schedule.Spec
		want time.Time
	}{
		"another offset": {
			// 02:00 in Berlin in winter, 03:00 in summer.
			schedule.Spec{
				TimeZone: "Europe/Berlin", Intervals: daily,
				ExcludeCalendars: []schedule.Calendar{{Minute: "*", Hour: "3"}},
			},
			utc(2024, 10, 27, 1),
		},
		"another offset, behind a day that is excluded on both sides of the change": {
			schedule.Spec{
				TimeZone: "Europe/Berlin", Intervals: []schedule.Interval{
					{Every: daily[0].Every, Phase: schedule.Duration(30 * time.Minute)},
					{Every: daily[0].Every, Phase: schedule.Duration(12 * time.Hour)},
				},
				// 02:30 and 14:00 in summer, 01:30 and 13:00 in winter.
				ExcludeCalendars: []schedule.Calendar{{Minute: "*", Hour: "2,13,14"}},
			},
			time.Date(2024, 10, 28, 0, 30, 0, 0, time.UTC),
		},
		"a gap that ends at midnight": {
			schedule.Spec{
				Cron: []string{"30 23 * * *", "0 12 * * *"}, TimeZone: "America/Nuuk", DST: schedule.DST{Gap: schedule.GapShift},
				ExcludeCalendars: []schedule.Calendar{{Minute: "*", Hour: "12,23"}},
			},
			utc(2025, 3, 30, 1),
		},
		"a one-off time": {
			schedule.Spec{
				Cron: []string{"0 9 * * *"}, At: []time.Time{utc(2026, 5, 5, 5)},
				ExcludeCalendars: []schedule.Calendar{{Hour: "9"}},
			},
			utc(2026, 5, 5, 5),
		},
		"another calendar": {
			schedule.Spec{
				Cron: []string{"0 9 * * *", "0 10 29 2 ?"}, ExcludeCalendars: []schedule.Calendar{{Hour: "9"}},
			},
			utc(2028, 2, 29, 10),
		},
		"an exclude that ends": {
			schedule.Spec{
				Cron: []string{"0 9 * * *"}, ExcludeCalendars: []schedule.Calendar{{Hour: "9", Year: "2000-2030"}},
			},
			utc(2031, 1, 1, 9),
		},
		"a gap": {
			schedule.Spec{
				Cron: []string{"30 2 * * *"}, TimeZone: "Europe/Berlin", DST: schedule.DST{Gap: schedule.GapShift},
				ExcludeCalendars: []schedule.Calendar{{Minute: "30", Hour: "2"}},
			},
			utc(2025, 3, 30, 1),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := mustCompile(t, test.spec).Next(utc(2024, 4, 10, 0), "")
			require.True(t, ok)
			require.Equal(t, test.want, got.Nominal)
		})
	}
}

func TestTimeZoneData(t *testing.T) {
	t.Parallel()
	// A time zone file (RFC 9636) of version 1 with one type: an hour and a half east of Greenwich, named XYZ.
	data := append([]byte("TZif"), make([]byte, 40)...)
	data[39], data[43] = 1, 4 // one type, four characters
	data = append(data, 0, 0, 5400>>8, 5400&255, 0, 0, 'X', 'Y', 'Z', 0)
	s := mustCompile(t, schedule.Spec{Cron: []string{"0 12 * * *"}, TimeZone: "Own/Zone", TimeZoneData: data})
	got, ok := s.Next(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), "")
	require.True(t, ok)
	require.Equal(t, time.Date(2030, 1, 1, 10, 30, 0, 0, time.UTC), got.Nominal)
}
