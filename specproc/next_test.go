package specproc

import (
	"slices"
	"testing"
	"time"

	"github.com/dgryski/go-farm"
	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// drawJittered draws a spec around a time, with jitter in two cases of three.
func drawJittered(t *rapid.T, around time.Time) *Spec {
	spec := scheduletest.DrawSpec(t, rapid.SampledFrom(scheduletest.ClockChanges).Draw(t, "zone").Zone, around, around.Add(48*time.Hour))
	spec.Jitter = schedule.Duration(rapid.OneOf(
		rapid.Just(int64(0)), rapid.Int64Range(0, int64(time.Minute)), rapid.Int64Range(0, int64(48*time.Hour)),
	).Draw(t, "jitter"))
	return mustCompile(t, spec)
}

func drawInstant(t *rapid.T, around time.Time, name string) time.Time {
	return around.Add(time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, name)))
}

// atMost collects up to n times of a spec after a nominal time.
func atMost(s *Spec, n int, after time.Time, seed string) []Time {
	var times []Time
	for len(times) < n {
		next, ok := s.Next(after, seed)
		if !ok {
			break
		}
		times = append(times, next)
		after = next.Nominal
	}
	return times
}

var around = time.Date(2024, 10, 26, 12, 0, 0, 0, time.UTC)

// TestFingerprint: the jitter of every existing schedule was computed with Fingerprint32, so delay must give the same results.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(t, "text")
		require.Equal(t, farm.Fingerprint32(text), farm.Hash32(text))
	})
}

func TestNextProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawJittered(t, around)
		after := drawInstant(t, around, "after")
		previous := Time{Nominal: after, Actual: after.Add(-time.Hour)}
		for _, next := range atMost(s, 50, after, "seed") {
			require.True(t, next.Nominal.After(previous.Nominal), "strictly after")
			require.True(t, next.Actual.After(previous.Actual), "in order by actual time as well")
			require.False(t, next.Actual.Before(next.Nominal), "jitter only delays")
			require.LessOrEqual(t, next.Actual.Sub(next.Nominal), time.Duration(s.jitter)*time.Millisecond)
			if raw := s.nextRaw(next.Nominal.Unix()); raw != never {
				require.Less(t, next.Actual.UnixMilli(), raw*1000, "jitter never reaches the following raw time")
			}
			p := s.zone.piece(next.Nominal.Unix())
			require.False(t, s.excludedIn(&p, next.Nominal.Unix()), "excludes win")
			again, ok := s.Next(next.Nominal.Add(-1), "seed")
			require.True(t, ok)
			require.Equal(t, next, again, "the same from any place before it")
			previous = next
		}
	})
}

// TestNextDue checks the exact rule against a list of all times in the neighbourhood.
func TestNextDue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawJittered(t, around)
		var all []Time
		for next := range s.Between(around.Add(-50*time.Hour), around.Add(50*time.Hour), "seed") {
			if all = append(all, next); len(all) == 3000 {
				break
			}
		}
		if len(all) == 0 {
			return
		}
		begin, end := all[0].Actual, all[len(all)-1].Actual
		at := begin.Add(time.Duration(rapid.Int64Range(0, max(1, int64(end.Sub(begin)))).Draw(t, "at")))
		if rapid.Bool().Draw(t, "at a time") {
			at = rapid.SampledFrom(all).Draw(t, "time").Actual
		}
		i := slices.IndexFunc(all, func(t Time) bool { return t.Actual.After(at) })
		if i < 0 {
			return
		}
		got, ok := s.NextDue(at, "seed")
		require.True(t, ok)
		require.Equal(t, all[i], got)
	})
}

func TestNextDueFindsWhatJitterHolds(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, schedule.Spec{
		Cron: []string{"@daily"}, Jitter: schedule.Duration(time.Hour),
	})
	midnight := time.Date(2022, 3, 24, 0, 0, 0, 0, time.UTC)
	want := Time{Nominal: midnight, Actual: midnight.Add(2_124_276 * time.Millisecond)}
	for _, after := range []time.Time{midnight.Add(-1), midnight, midnight.Add(time.Minute), want.Actual.Add(-1)} {
		got, ok := s.NextDue(after, "")
		require.True(t, ok)
		require.Equal(t, want, got, "after %v", after)
	}
	for _, after := range []time.Time{midnight, want.Actual} {
		got, ok := s.Next(after, "")
		require.True(t, ok)
		require.Equal(t, midnight.AddDate(0, 0, 1), got.Nominal, "after %v", after)
	}
	got, ok := s.NextDue(want.Actual, "")
	require.True(t, ok)
	require.Equal(t, midnight.AddDate(0, 0, 1), got.Nominal)
}

func TestJitterOfCenturies(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, schedule.Spec{
		At: []time.Time{around}, Jitter: schedule.Duration(1<<63 - 1),
	})
	got, ok := s.Next(around.Add(-time.Second), "seed")
	require.True(t, ok)
	require.True(t, got.Actual.After(got.Nominal), "no overflow: %v", got)
	require.Less(t, got.Actual.Sub(got.Nominal), time.Duration(1<<63-1))
}

func TestSpecsWithoutTimes(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]schedule.Spec{
		"empty":       {},
		"empty field": {StructuredCalendars: []schedule.StructuredCalendar{{}}},
		"end before start": {
			Cron: []string{"* * * * *"}, StartTime: around, EndTime: around.Add(-time.Hour),
		},
		"only excludes": {ExcludeCalendars: []schedule.Calendar{{}}},
		"past year":     {Cron: []string{"0 0 1 1 * 2001"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustCompile(t, spec)
			_, ok := s.Next(around, "")
			require.False(t, ok)
			_, ok = s.NextDue(around, "")
			require.False(t, ok)
			out := s.ProcessTimeRange(Range{From: around, To: around.AddDate(100, 0, 0), Limit: 10})
			require.Equal(t, RangeResult{Mark: around.AddDate(100, 0, 0)}, out)
		})
	}
}

func TestExtremeInstants(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, schedule.Spec{Cron: []string{"* * * * *"}, Jitter: schedule.Duration(time.Second)})
	first, ok := s.Next(time.Time{}, "")
	require.True(t, ok)
	require.Equal(t, time.Unix(0, 0).UTC(), first.Nominal, "without a start, times begin at the epoch")
	for _, late := range []time.Time{time.Unix(1<<62, 0), time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)} {
		_, ok = s.Next(late, "")
		require.False(t, ok)
		_, ok = s.NextDue(late, "")
		require.False(t, ok)
	}
	_, ok = s.NextDue(time.Unix(-1<<62, 0), "")
	require.True(t, ok)
}

// TestSearchIsQuick: the pathological specs take milliseconds. A search that tried times one by one would need minutes. The
// deadline leaves room for a busy machine.
func TestSearchIsQuick(t *testing.T) {
	const deadline = 20 * time.Second
	for _, bench := range benchSpecs {
		if !bench.pathological {
			continue
		}
		s := mustCompile(t, bench.spec)
		began := time.Now()
		_, ok := s.Next(time.Time{}, "seed")
		require.False(t, ok, bench.name)
		require.Less(t, time.Since(began), deadline, bench.name)
	}
}

// TestAgainstRobfig compares with another library on expressions that both read in the same way. It uses only UTC, because that
// library has other rules for clock changes.
func TestAgainstRobfig(t *testing.T) {
	t.Parallel()
	field := func(name string, values ...string) *rapid.Generator[string] { return rapid.SampledFrom(values) }
	rapid.Check(t, func(t *rapid.T) {
		text := field("minute", "*", "0", "*/7", "5-59/9", "3,44").Draw(t, "minute") + " " +
			field("hour", "*", "0", "*/5", "9-17", "23").Draw(t, "hour") + " " +
			field("day", "*", "1", "31", "13,29", "10-20/3").Draw(t, "day") + " " +
			field("month", "*", "2", "*/4", "6-8").Draw(t, "month") + " " +
			field("weekday", "*", "0", "1-5", "tue,fri").Draw(t, "weekday")
		expression, err := cron.ParseStandard(text)
		require.NoError(t, err)
		s := mustCompile(t, schedule.Spec{Cron: []string{text}})
		at := drawInstant(t, around, "after")
		for _, got := range atMost(s, 20, at, "") {
			if at = expression.Next(at); at.IsZero() {
				return // that library gives up after five years
			}
			require.Equal(t, at, got.Nominal, text)
		}
	})
}
