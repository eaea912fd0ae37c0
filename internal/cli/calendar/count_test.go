package calendar_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/cli/calendar"
	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// TestCountAgainstAList counts the same times one by one, in months with clock changes: at midnight, of half an hour, and of a whole day.
func TestCountAgainstAList(t *testing.T) {
	t.Parallel()
	months := []struct {
		zone        string
		year, month int
	}{
		{"Europe/Berlin", 2026, 3}, {"Europe/Berlin", 2026, 10}, {"Asia/Beirut", 2024, 3}, {"America/Havana", 2024, 11},
		{"Australia/Lord_Howe", 2024, 4}, {"Pacific/Apia", 2011, 12}, {"America/St_Johns", 2010, 11}, {"UTC", 2024, 2},
	}
	rapid.Check(t, func(t *rapid.T) {
		month := rapid.SampledFrom(months).Draw(t, "month")
		loc, err := schedule.LoadZone(month.zone)
		require.NoError(t, err)
		spec, err := specproc.Compile(schedule.Spec{
			TimeZone: month.zone,
			Cron: []string{rapid.SampledFrom([]string{
				"*/5 * * * *", "0 0 * * *", "30 23 * * *", "*/10 0-3 * * sat,sun", "30 2 L * *", "1 0 * * * 2024",
			}).Draw(t, "cron")},
			Intervals: rapid.SliceOfN(rapid.Just(schedule.Interval{Every: schedule.Duration(47 * time.Minute)}), 0, 1).Draw(t, "every"),
		})
		require.NoError(t, err)
		first := time.Date(month.year, time.Month(month.month), 1, 0, 0, 0, 0, time.UTC)
		last := first.AddDate(0, rapid.IntRange(1, 2).Draw(t, "months"), 0)

		want := calendar.Days{}
		total := 0
		for at := range spec.Between(first.AddDate(0, 0, -2), last.AddDate(0, 0, 2), "") {
			wall := at.Nominal.In(loc)
			if date := wall.Format(time.DateOnly); date >= first.Format(time.DateOnly) && date < last.Format(time.DateOnly) {
				want[date]++
				total++
			}
		}
		got := calendar.Count(spec, loc, first, last)
		require.Equal(t, want, got)
		require.Equal(t, total, got.Total())
	})
}
