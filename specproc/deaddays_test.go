package specproc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TestExcludedStretches compares the search through excluded days with one that tries raw time after raw time.
func TestExcludedStretches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(clockChanges).Draw(t, "zone").zone
		s := mustCompile(t, schedule.Spec{
			TimeZone:            zone,
			StructuredCalendars: rapid.SliceOfN(rapid.Custom(drawCalendar), 0, 2).Draw(t, "calendars"),
			Intervals:           rapid.SliceOfN(rapid.Custom(drawInterval), 0, 2).Draw(t, "intervals"),
			At:                  []time.Time{around.Add(40 * 24 * time.Hour)},
			// One that leaves a second in the minute or less, and others.
			ExcludeStructuredCalendars: append(rapid.SliceOfN(rapid.Custom(drawCalendar), 0, 2).Draw(t, "excludes"),
				schedule.StructuredCalendar{
					Second: drawField(t, "second", 0, 59), Minute: []schedule.Range{{End: 59}}, Hour: []schedule.Range{{End: 23}},
					DayOfMonth: []schedule.Range{{Start: 1, End: 31}}, Month: []schedule.Range{{Start: 1, End: 12}},
					DayOfWeek: drawDays(t, "weekday", 0, 6),
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
