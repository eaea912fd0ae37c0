package specproc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TestCount: Count counts as many times as Between yields, whatever the spec and the bounds, also between two nominal times.
func TestCount(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC) // the clocks in Berlin change a day later
	rapid.Check(t, func(t *rapid.T) {
		second := schedule.Duration(time.Second)
		s := mustCompile(t, schedule.Spec{
			TimeZone:  "Europe/Berlin",
			Intervals: []schedule.Interval{{Every: schedule.Duration(rapid.IntRange(60, 9000).Draw(t, "every")) * second}},
			Cron:      []string{rapid.SampledFrom([]string{"*/7 * * * *", "30 2 * * *", "0 9 * * mon"}).Draw(t, "cron")},
			Jitter:    schedule.Duration(rapid.IntRange(0, 3600).Draw(t, "jitter")) * second,
		})
		from := begin.Add(time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "from")))
		to := from.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(48*time.Hour)).Draw(t, "length")))
		first := begin.Add(time.Duration(rapid.IntRange(-3600, 96*3600).Draw(t, "first")) * time.Second)
		last := first.Add(time.Duration(rapid.IntRange(-3600, 48*3600).Draw(t, "first to last")) * time.Second)
		want, tally := 0, Tally{}
		for at := range s.Between(from, to, "seed") {
			want++
			if !at.Nominal.Before(first) && !at.Nominal.After(last) {
				if tally.Count++; tally.Count == 1 {
					tally.First = at.Nominal.UTC()
				}
				tally.Last = at.Nominal.UTC()
			}
		}
		require.Equal(t, want, s.Count(from, to, "seed"))
		require.Equal(t, tally, s.Tally(from, to, "seed", first, last))
	})
}

func TestCountOfNothing(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, schedule.Spec{})
	require.Zero(t, s.Count(time.Unix(0, 0), time.Unix(1<<40, 0), ""))
}

func BenchmarkCountOfAYear(b *testing.B) {
	s := mustCompile(b, schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Second)}}})
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for b.Loop() {
		s.Count(from, from.AddDate(1, 0, 0), "")
	}
}
