package specproc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/schedule"
)

// every10m is due every ten minutes; noon is one of its times.
func every10m(t *testing.T) (s *Spec, noon time.Time) {
	s = mustCompile(t, schedule.Spec{
		Intervals: []schedule.Interval{{Every: schedule.Duration(10 * time.Minute)}},
	})
	return s, time.Date(2024, 6, 13, 12, 0, 0, 0, time.UTC)
}

func nominals(times []Time) []string {
	var texts []string
	for _, t := range times {
		texts = append(texts, t.Nominal.Format(time.TimeOnly))
	}
	return texts
}

func TestProcessTimeRange(t *testing.T) {
	t.Parallel()
	s, noon := every10m(t)
	minutes := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	tests := []struct {
		name string
		give Range
		want []string
		mark time.Time
		next time.Time
		// missed, dropped and superseded count; truncated as in RangeResult.
		missed, dropped, superseded int
		truncated                   bool
	}{
		{
			name: "from is exclusive, to inclusive",
			give: Range{From: noon, To: minutes(20), CatchupWindow: time.Hour, Limit: 10},
			want: []string{"12:10:00", "12:20:00"}, mark: minutes(20), next: minutes(30),
		},
		{
			name: "frozen: all are dropped, also what is later than the catch-up window",
			give: Range{From: noon, To: minutes(30), CatchupWindow: 15 * time.Minute, Limit: 1, Frozen: true},
			mark: minutes(30), next: minutes(40), dropped: 3,
		},
		{
			name: "frozen and paused: nothing is told",
			give: Range{From: noon, To: minutes(30), CatchupWindow: time.Hour, Limit: 10, Frozen: true, Paused: true},
			mark: minutes(30), next: minutes(40),
		},
		{
			name: "nothing due",
			give: Range{From: noon, To: minutes(9), CatchupWindow: time.Hour, Limit: 10},
			mark: minutes(9), next: minutes(10),
		},
		{
			name: "a clock that went back",
			give: Range{From: noon, To: minutes(-5), CatchupWindow: time.Hour, Limit: 10},
			mark: noon, next: minutes(10),
		},
		{
			name: "paused",
			give: Range{From: noon, To: minutes(25), CatchupWindow: time.Hour, Limit: 10, Paused: true},
			mark: minutes(25), next: minutes(30),
		},
		{
			name: "out of actions",
			give: Range{From: noon, To: minutes(25), CatchupWindow: time.Hour, Limit: 10, OutOfActions: true},
			mark: minutes(25), next: minutes(30),
		},
		{
			name: "before the update",
			give: Range{From: noon, To: minutes(30), CatchupWindow: time.Hour, Limit: 10, UpdateTime: minutes(20)},
			want: []string{"12:20:00", "12:30:00"}, mark: minutes(30), next: minutes(40),
		},
		{
			name: "outside the window",
			give: Range{From: noon, To: minutes(40), CatchupWindow: 10 * time.Minute, Limit: 10},
			want: []string{"12:30:00", "12:40:00"}, mark: minutes(40), next: minutes(50), missed: 2,
		},
		{
			name: "before the update is not missed",
			give: Range{From: noon, To: minutes(40), CatchupWindow: time.Minute, Limit: 10, UpdateTime: minutes(15)},
			want: []string{"12:40:00"}, mark: minutes(40), next: minutes(50), missed: 2,
		},
		{
			name: "limit",
			give: Range{From: noon, To: minutes(50), CatchupWindow: time.Hour, Limit: 2},
			want: []string{"12:10:00", "12:20:00"}, mark: minutes(50), next: minutes(60), dropped: 3,
		},
		{
			name: "limit of zero",
			give: Range{From: noon, To: minutes(50), CatchupWindow: time.Hour},
			mark: minutes(50), next: minutes(60), dropped: 5,
		},
		{
			name: "no limit",
			give: Range{From: noon, To: minutes(20), CatchupWindow: time.Hour, Limit: -1},
			want: []string{"12:10:00", "12:20:00"}, mark: minutes(20), next: minutes(30),
		},
		{
			name: "latest of several late ones",
			give: Range{From: noon, To: minutes(55), CatchupWindow: time.Hour, CatchupMode: schedule.CatchupLatest, Limit: 10},
			want: []string{"12:50:00"}, mark: minutes(55), next: minutes(60), superseded: 4,
		},
		{
			name: "latest is in time",
			give: Range{From: noon, To: minutes(50), CatchupWindow: time.Hour, CatchupMode: schedule.CatchupLatest, Limit: 10},
			want: []string{"12:50:00"}, mark: minutes(50), next: minutes(60), superseded: 4,
		},
		{
			name: "latest with a single one",
			give: Range{From: noon, To: minutes(15), CatchupWindow: time.Hour, CatchupMode: schedule.CatchupLatest, Limit: 10},
			want: []string{"12:10:00"}, mark: minutes(15), next: minutes(20),
		},
		{
			name: "latest with none",
			give: Range{From: noon, To: minutes(5), CatchupWindow: time.Hour, CatchupMode: schedule.CatchupLatest, Limit: 10},
			mark: minutes(5), next: minutes(10),
		},
		{
			name: "latest within the window",
			give: Range{From: noon, To: minutes(55), CatchupWindow: 20 * time.Minute, CatchupMode: schedule.CatchupLatest, Limit: 10},
			want: []string{"12:50:00"}, mark: minutes(55), next: minutes(60), missed: 3, superseded: 1,
		},
		{
			name: "latest without room",
			give: Range{From: noon, To: minutes(55), CatchupWindow: time.Hour, CatchupMode: schedule.CatchupLatest},
			mark: minutes(55), next: minutes(60), dropped: 1, superseded: 4,
		},
		{
			name: "manual ignores pause, update, window and mode",
			give: Range{
				From: noon, To: minutes(20), Manual: true, Paused: true, OutOfActions: true, UpdateTime: minutes(15), Limit: 10,
				CatchupMode: schedule.CatchupLatest,
			},
			want: []string{"12:10:00", "12:20:00"}, mark: minutes(20), next: minutes(30),
		},
		{
			name: "manual stops at the limit",
			give: Range{From: noon, To: minutes(50), Manual: true, Limit: 2},
			want: []string{"12:10:00", "12:20:00"}, mark: minutes(20), next: minutes(30), truncated: true,
		},
		{
			name: "manual that fits exactly is complete",
			give: Range{From: noon, To: minutes(25), Manual: true, Limit: 2},
			want: []string{"12:10:00", "12:20:00"}, mark: minutes(25), next: minutes(30),
		},
		{
			name: "manual without room",
			give: Range{From: noon, To: minutes(25), Manual: true},
			mark: noon, next: minutes(10), truncated: true,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := s.ProcessTimeRange(test.give)
			require.Equal(t, test.want, nominals(got.Times))
			require.Equal(t, test.mark, got.Mark)
			require.Equal(t, test.next, got.Next)
			require.Equal(t, test.missed, got.Missed.Count)
			require.Equal(t, test.dropped, got.Dropped.Count)
			require.Equal(t, test.superseded, got.Superseded.Count)
			require.Equal(t, test.truncated, got.Truncated)
		})
	}
}

// TestLatestOfEverySecond: a schedule that is due every second loses nothing as long as it is processed in time.
func TestLatestOfEverySecond(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, schedule.Spec{Cron: []string{"* * * * * * *"}})
	r := Range{From: around, To: around.Add(time.Second), CatchupWindow: time.Minute, CatchupMode: schedule.CatchupLatest, Limit: -1}
	require.Equal(t, []string{"12:00:01"}, nominals(s.ProcessTimeRange(r).Times))
	r.To = around.Add(2 * time.Second)
	require.Equal(t, []string{"12:00:01", "12:00:02"}, nominals(s.ProcessTimeRange(r).Times), "a second late is not too late")
	r.To = r.To.Add(1)
	require.Equal(t, []string{"12:00:02"}, nominals(s.ProcessTimeRange(r).Times))
	require.Equal(t, Tally{Count: 1, First: around.Add(time.Second), Last: around.Add(time.Second)}, s.ProcessTimeRange(r).Superseded)
}

func TestTallySaysWhich(t *testing.T) {
	t.Parallel()
	s, noon := every10m(t)
	out := s.ProcessTimeRange(Range{From: noon, To: noon.Add(time.Hour), CatchupWindow: 20 * time.Minute, Limit: 1})
	require.Equal(t, Tally{Count: 3, First: noon.Add(10 * time.Minute), Last: noon.Add(30 * time.Minute)}, out.Missed)
	require.Equal(t, []string{"12:40:00"}, nominals(out.Times))
	require.Equal(t, Tally{Count: 2, First: noon.Add(50 * time.Minute), Last: noon.Add(time.Hour)}, out.Dropped)
}

// TestRangesAddUp: processing (a, b] and then (b, c] gives what (a, c] gives.
func TestRangesAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawJittered(t, around)
		a := drawInstant(t, around, "a")
		b := a.Add(time.Duration(rapid.Int64Range(0, int64(6*time.Hour)).Draw(t, "b")))
		c := b.Add(time.Duration(rapid.Int64Range(0, int64(6*time.Hour)).Draw(t, "c")))
		r := Range{
			From: a, To: c, Manual: rapid.Bool().Draw(t, "manual"), Limit: -1, Seed: "seed",
			CatchupWindow: schedule.DefaultCatchupWindow, UpdateTime: drawInstant(t, around, "update"),
		}
		first, second := r, r
		first.To, second.From = b, b
		whole, one, two := s.ProcessTimeRange(r), s.ProcessTimeRange(first), s.ProcessTimeRange(second)
		require.Equal(t, whole.Times, append(one.Times, two.Times...))
		require.Equal(t, whole.Mark, two.Mark)
		require.Equal(t, whole.Next, two.Next)
	})
}

// TestEveryTimeIsAccountedFor: each time of a range is taken, missed, superseded or dropped, whatever the window, the mode
// and the limit.
func TestEveryTimeIsAccountedFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawJittered(t, around)
		r := Range{From: drawInstant(t, around, "from"), Limit: rapid.IntRange(0, 40).Draw(t, "limit"), Seed: "seed"}
		r.To = r.From.Add(time.Duration(rapid.Int64Range(1, int64(6*time.Hour)).Draw(t, "length")))
		r.CatchupWindow = time.Duration(rapid.Int64Range(0, int64(6*time.Hour)).Draw(t, "window"))
		r.CatchupMode = rapid.SampledFrom([]schedule.CatchupMode{"", schedule.CatchupAll, schedule.CatchupLatest}).Draw(t, "mode")
		var all []Time
		for due := range s.Between(r.From, r.To, r.Seed) {
			all = append(all, due)
		}
		out := s.ProcessTimeRange(r)
		passed := out.Missed.Count + out.Superseded.Count
		require.Equal(t, len(all), passed+len(out.Times)+out.Dropped.Count)
		if kept := all[passed:]; len(kept) > 0 {
			require.Equal(t, kept[:min(r.Limit, len(kept))], append([]Time{}, out.Times...))
		}
		for i, due := range all {
			missed := r.To.Sub(due.Actual) > r.CatchupWindow
			superseded := !missed && r.CatchupMode == schedule.CatchupLatest && i < len(all)-1 && r.To.Sub(due.Actual) > time.Second
			require.Equal(t, i < out.Missed.Count, missed)
			require.Equal(t, i >= out.Missed.Count && i < passed, superseded)
		}
	})
}

// TestBackfillInBatches: a manual range taken in batches, each from the mark of the one before, misses nothing.
func TestBackfillInBatches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawJittered(t, around)
		from := drawInstant(t, around, "from")
		r := Range{From: from, To: from.Add(time.Hour), Manual: true, Seed: "seed", Limit: -1}
		want := s.ProcessTimeRange(r).Times
		r.Limit = rapid.IntRange(1, 100).Draw(t, "limit")
		var got []Time
		for more := true; more; {
			out := s.ProcessTimeRange(r)
			got = append(got, out.Times...)
			r.From, more = out.Mark, out.Truncated
		}
		require.Equal(t, want, got)
	})
}

func TestLongOutage(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, schedule.Spec{Cron: []string{"* * * * * * *"}, TimeZone: "Europe/Berlin"})
	to := time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)
	from := to.AddDate(-3, 0, 0)
	out := s.ProcessTimeRange(Range{From: from, To: to, CatchupWindow: 10 * time.Second, Limit: 5})
	require.Equal(t, int(to.Sub(from)/time.Second)-11, out.Missed.Count)
	require.Len(t, out.Times, 5)
	require.Equal(t, 6, out.Dropped.Count)
}
