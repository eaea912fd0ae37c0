package generator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

func frozenFrom(from, until time.Duration) *schedule.Freeze {
	f := &schedule.Freeze{Reason: "moving house", From: at(from)}
	if until > 0 {
		f.Until = at(until)
	}
	return f
}

func TestFrozen(t *testing.T) {
	t.Parallel()
	d := every(time.Minute)
	const half = 30 * time.Second
	minutes := func(n time.Duration) time.Duration { return n * time.Minute }
	starts := func(d time.Duration) []time.Time { return []time.Time{at(d)} }
	for name, test := range map[string]struct {
		freeze   *schedule.Freeze
		mark     time.Duration // of what was decided before, without the freeze
		now      time.Duration
		starts   []time.Time
		dropped  int
		from, to time.Duration // nominal times of those
	}{
		"in the middle": {
			freeze: frozenFrom(minutes(1)+half, 0), mark: minutes(1) + half, now: minutes(2),
			dropped: 1, from: minutes(2), to: minutes(2),
		},
		"for long": {
			freeze: frozenFrom(minutes(1)+half, 0), mark: minutes(1) + half, now: minutes(6),
			dropped: 5, from: minutes(2), to: minutes(6),
		},
		"over": {
			freeze: frozenFrom(minutes(1)+half, minutes(3)), mark: minutes(1) + half, now: minutes(4),
			dropped: 1, from: minutes(2), to: minutes(2),
		},
		"over, nothing was in": {
			freeze: frozenFrom(minutes(1)+half/3, minutes(1)+half/2), mark: minutes(1) + 1, now: minutes(2), starts: starts(minutes(2)),
		},
		"what was due before": {freeze: frozenFrom(minutes(1)+half, 0), now: minutes(6), starts: starts(minutes(1))},
		"from a due time on":  {freeze: frozenFrom(minutes(1), 0), now: minutes(1), dropped: 1, from: minutes(1), to: minutes(1)},
		"until a due time":    {freeze: frozenFrom(0, minutes(1)), now: minutes(1), starts: starts(minutes(1))},
		"long over":           {freeze: frozenFrom(0, time.Second), now: minutes(1), starts: starts(minutes(1))},
		"to come":             {freeze: frozenFrom(time.Hour, 0), now: minutes(1), starts: starts(minutes(1))},
		"of no time":          {freeze: frozenFrom(time.Hour, minutes(1)), now: minutes(1), starts: starts(minutes(1))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := with(input(t, d, at(test.now)), at(test.mark))
			in.Freeze = test.freeze
			got := Decide(in)
			require.NotNil(t, got.HandOff)
			require.ElementsMatch(t, test.starts, nominals(got.HandOff))
			require.Equal(t, test.dropped, got.HandOff.Dropped)
			if test.dropped > 0 {
				require.Empty(t, got.HandOff.Starts)
				require.Equal(t, wire.Span{From: at(test.from), To: at(test.to)}, got.HandOff.DroppedSpan)
				require.Equal(t, "namespace frozen: moving house", got.HandOff.DropReason)
			} else {
				require.Empty(t, got.HandOff.DropReason)
			}
			require.Equal(t, wire.ReasonDue, got.Reason, "the timer stays armed")
			require.False(t, got.WakeAt.IsZero())
		})
	}
}

// TestFreezeOfAPausedSchedule tells nothing, and neither does one of a schedule with nothing due.
func TestFreezeOfAPausedSchedule(t *testing.T) {
	t.Parallel()
	d := every(time.Minute)
	d.Schedule.State.Paused = true
	in := input(t, d, at(time.Hour))
	in.Freeze = frozenFrom(time.Minute, 0)
	require.Nil(t, Decide(in).HandOff)
	require.Zero(t, Decide(in).WakeAt)
	in = input(t, every(2*time.Hour), at(time.Hour))
	in.Freeze = frozenFrom(time.Minute, 0)
	require.Nil(t, Decide(in).HandOff)
	require.Equal(t, at(2*time.Hour), Decide(in).WakeAt)
}

// TestFreezesCountEveryTimeOnce: however often somebody looks, and whatever the freeze, each time is started or dropped, by
// whether it lies in the freeze.
func TestFreezesCountEveryTimeOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		second := func(name string) time.Duration {
			return time.Duration(rapid.IntRange(0, 120).Draw(rt, name)) * time.Second
		}
		d := every(time.Duration(rapid.IntRange(1, 7).Draw(rt, "every")) * time.Second)
		d.Schedule.Spec.Jitter = schedule.Duration(rapid.IntRange(0, 900).Draw(rt, "jitter")) * schedule.Duration(time.Millisecond)
		in := input(rt, d, created)
		in.Freeze = frozenFrom(second("from"), second("until"))
		started, dropped, decisions := 0, 0, 0
		end := at(2 * time.Minute)
		for in.Now.Before(end) {
			in.Now = earliest(in.Now.Add(time.Second+second("later")), end)
			for more := true; more; decisions++ {
				got := Decide(in)
				if got.HandOff != nil {
					require.True(rt, got.HandOff.From.Equal(latest(in.State.HandedOff, created)), "hand-offs are a chain")
					for i := range got.HandOff.Starts {
						require.False(rt, in.Freeze.Covers(got.HandOff.Starts[i].Actual))
					}
					started, dropped = started+len(got.HandOff.Starts), dropped+got.HandOff.Dropped
				}
				more = got.HandOff != nil && due(got.WakeAt, in.Now)
				in.State = got.State
			}
			require.Less(rt, decisions, 1000)
		}
		wantStarted, wantDropped := 0, 0
		for due := range in.Spec.Between(created, end, d.JitterSeed()) {
			if in.Freeze.Covers(due.Actual) {
				wantDropped++
			} else {
				wantStarted++
			}
		}
		require.Equal(rt, [2]int{wantStarted, wantDropped}, [2]int{started, dropped})
	})
}
