package backfiller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now   = start.Add(30 * 24 * time.Hour)
)

func minutes(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }

func definition(every time.Duration) *schedule.Definition {
	return &schedule.Definition{
		Namespace: "default", ID: "s", Incarnation: "i", Version: 1, CreateTime: start,
		Schedule: schedule.Schedule{Spec: schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(every)}}}},
	}
}

// backfill is the first decision about a range of a schedule that is due every minute.
func backfill(t require.TestingT, from, to time.Time) Input {
	d := definition(time.Minute)
	spec, err := specproc.Compile(d.Schedule.Spec)
	require.NoError(t, err)
	return Input{
		Definition: d, Spec: spec, Backfills: 1, Now: now,
		State: schedule.BackfillState{
			Incarnation: "i", ID: "b", RequestTime: now, Range: &schedule.BackfillRange{Start: from, End: to, Overlap: schedule.OverlapBufferAll},
		},
	}
}

func trigger(t require.TestingT) Input {
	in := backfill(t, start, start)
	in.State.Range, in.State.Trigger = nil, &schedule.Trigger{Overlap: schedule.OverlapAllowAll}
	return in
}

func nominals(e *schedule.Enqueue) []time.Time {
	var times []time.Time
	for i := range e.Starts {
		times = append(times, e.Starts[i].Nominal)
	}
	return times
}

func TestRangeIsInclusive(t *testing.T) {
	t.Parallel()
	in := backfill(t, minutes(1), minutes(3))
	got := Decide(in)
	want := &schedule.Enqueue{
		Incarnation: "i", Version: 1, Source: "b", Span: schedule.Span{From: minutes(1).Add(-1), To: minutes(3)},
	}
	for i := 1; i <= 3; i++ {
		s := schedule.NewStart(in.Definition, "b", minutes(i), minutes(i))
		s.Overlap = schedule.OverlapBufferAll
		require.True(t, s.Manual)
		want.Starts = append(want.Starts, s)
	}
	require.Equal(t, want, got.HandOff)
	require.True(t, got.Changed)
	require.False(t, got.Finished, "not before it is taken")
	require.True(t, got.State.Done)
	require.Equal(t, minutes(3), got.State.Mark)
	require.Equal(t, 3, got.State.Handed)
	require.Equal(t, now.Add(time.Second), got.WakeAt)
}

func TestFinishedWhenTaken(t *testing.T) {
	t.Parallel()
	in := backfill(t, minutes(1), minutes(3))
	in.State = Decide(in).State
	for _, taken := range []time.Time{{}, minutes(2), minutes(3).Add(-1)} {
		in.Taken = taken
		got := Decide(in)
		require.Equal(t, Decision{State: in.State, WakeAt: now.Add(time.Second)}, got, "the last batch is on its way")
	}
	in.Taken = minutes(3)
	require.Equal(t, Decision{State: in.State, Finished: true}, Decide(in))
}

func TestRangeWithoutTimes(t *testing.T) {
	t.Parallel()
	got := Decide(backfill(t, minutes(1).Add(1), minutes(2).Add(-1)))
	require.Nil(t, got.HandOff)
	require.True(t, got.Finished)
	got = Decide(backfill(t, minutes(2), minutes(1)))
	require.Nil(t, got.HandOff)
	require.True(t, got.Finished, "a range that ends before it begins")
}

func TestRoom(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ waiting, backfills, want int }{
		{0, 1, 450}, {0, 2, 225}, {0, 100, 4}, {1, 1, 449}, {440, 3, 3}, {449, 1, 1}, {449, 2, 0}, {450, 1, 0}, {1000, 1, 0}, {0, 0, 450},
	} {
		in := backfill(t, minutes(1), minutes(1000))
		in.Waiting, in.Backfills = test.waiting, test.backfills
		got := Decide(in)
		require.NotNil(t, got.HandOff, "without room, an empty one")
		assert.Len(t, got.HandOff.Starts, test.want, "%+v", test)
		assert.False(t, got.State.Done)
		if test.want > 0 {
			assert.Equal(t, minutes(test.want), got.State.Mark)
			assert.Equal(t, got.State.Mark, got.HandOff.To)
		}
	}
}

// TestWithoutRoomItMakesItselfKnown: the invoker wakes the requests it has had something of.
func TestWithoutRoomItMakesItselfKnown(t *testing.T) {
	t.Parallel()
	in := backfill(t, minutes(1), minutes(2))
	in.Waiting = 1000
	got := Decide(in)
	before := minutes(1).Add(-1)
	require.Equal(t, &schedule.Enqueue{
		Incarnation: "i", Version: 1, Source: "b", Span: schedule.Span{From: before, To: before},
	}, got.HandOff)
	require.True(t, got.Changed)

	in.State, in.Taken = got.State, before
	for _, backoff := range []time.Duration{2, 4, 8, 16, 32, 60, 60, 60} {
		got = Decide(in)
		require.Nil(t, got.HandOff)
		require.True(t, got.Changed)
		require.Equal(t, now.Add(backoff*time.Second), got.WakeAt)
		in.State = got.State
	}
	in.State.Attempt = 1 << 40
	require.Equal(t, now.Add(time.Minute), Decide(in).WakeAt)

	in.Waiting = 0
	got = Decide(in)
	require.Equal(t, []time.Time{minutes(1), minutes(2)}, nominals(got.HandOff))
	require.Equal(t, before, got.HandOff.From)
	require.Zero(t, got.State.Attempt)
}

func TestTriggerIgnoresRoom(t *testing.T) {
	t.Parallel()
	in := trigger(t)
	in.Waiting, in.Backfills = 5000, 100
	in.Definition.Schedule.State.Paused = true
	got := Decide(in)
	s := schedule.NewStart(in.Definition, "b", now, now)
	s.Overlap = schedule.OverlapAllowAll
	require.Equal(t, &schedule.Enqueue{
		Incarnation: "i", Version: 1, Source: "b", Span: schedule.Span{From: now.Add(-1), To: now}, Starts: []schedule.BufferedStart{s},
	}, got.HandOff)
	require.False(t, got.Finished)

	in.State = got.State
	require.False(t, Decide(in).Finished)
	in.Taken = now
	require.True(t, Decide(in).Finished)
}

// invoker is the invoker as far as hand-offs go.
type invoker struct {
	from, taken time.Time
	starts      []schedule.BufferedStart
}

func (i *invoker) take(t require.TestingT, e *schedule.Enqueue) {
	if i.taken.IsZero() {
		i.from, i.taken = e.From, e.From
	}
	require.False(t, e.From.After(i.taken), "the chain has a gap")
	for _, s := range e.Starts {
		if s.Actual.After(i.taken) {
			i.starts = append(i.starts, s)
		}
	}
	i.taken = latest(i.taken, e.To)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// TestEveryTimeOnce simulates an invoker that takes batches sooner or later and drains at random, and a backfiller that
// may die between a hand-off and the write.
func TestEveryTimeOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from := start.Add(time.Duration(rapid.IntRange(0, 600_000).Draw(t, "from")) * time.Millisecond)
		to := from.Add(time.Duration(rapid.IntRange(0, 100_000).Draw(t, "length")) * time.Second)
		in := backfill(t, from, to)
		in.Definition.Schedule.Spec.Jitter = schedule.Duration(rapid.IntRange(0, 90_000).Draw(t, "jitter")) * schedule.Duration(time.Millisecond)
		var err error
		in.Spec, err = specproc.Compile(in.Definition.Schedule.Spec)
		require.NoError(t, err)
		var inv invoker
		var onTheWay []*schedule.Enqueue
		finished := false
		for step := 0; !finished; step++ {
			require.Less(t, step, 2000, "it does not come to an end")
			// After a while nothing bad happens any more.
			calm := step > 200
			in.Waiting, in.Backfills = rapid.IntRange(0, 600).Draw(t, "waiting"), rapid.IntRange(1, 5).Draw(t, "backfills")
			if calm {
				in.Waiting, in.Backfills = 0, 1
			}
			state := in.State
			got := Decide(in)
			require.Equal(t, state, in.State, "the input is left alone")
			require.Equal(t, got, Decide(in), "the same input gives the same")
			require.True(t, got.Finished || got.WakeAt.After(in.Now))
			require.False(t, got.Finished && got.HandOff != nil, "a hand-off that nobody has taken yet")
			if got.HandOff != nil {
				require.LessOrEqual(t, len(got.HandOff.Starts), max(0, 450-in.Waiting))
				onTheWay = append(onTheWay, got.HandOff)
			}
			if calm || rapid.IntRange(0, 3).Draw(t, "fate") > 0 {
				finished = got.Finished
				if got.Changed {
					in.State = got.State
				}
			}
			if calm || rapid.Bool().Draw(t, "arrives") {
				for _, e := range onTheWay {
					inv.take(t, e)
				}
				onTheWay, in.Taken = nil, inv.taken
			}
		}
		var want, have []string
		for time := range in.Spec.Between(from.Add(-1), to, in.Definition.JitterSeed()) {
			want = append(want, fmt.Sprint(time.Nominal, time.Actual))
		}
		for _, s := range inv.starts {
			have = append(have, fmt.Sprint(s.Nominal, s.Actual))
		}
		slices.Sort(want)
		slices.Sort(have)
		require.Equal(t, want, have)
	})
}
