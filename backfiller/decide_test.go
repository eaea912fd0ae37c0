package backfiller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now   = start.Add(30 * 24 * time.Hour)
)

func minutes(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }

func definition(every time.Duration) *wire.Definition {
	return &wire.Definition{
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
		Definition: d, Spec: spec, Now: now,
		State: wire.BackfillState{
			Incarnation: "i", ID: "b", RequestTime: now, Identity: "ann", Range: &schedule.BackfillRange{Start: from, End: to, Overlap: schedule.OverlapBufferAll},
		},
	}
}

// announced is what follows once the invoker knows of a range.
func announced(in Input) Input {
	in.State = Decide(in).State
	in.take(in.State.Mark, 0, 0)
	return in
}

func trigger(t require.TestingT) Input {
	in := backfill(t, start, start)
	in.State.Range, in.State.Trigger = nil, &schedule.Trigger{Overlap: schedule.OverlapAllowAll}
	return in
}

func nominals(e *wire.Enqueue) []time.Time {
	var times []time.Time
	for i := range e.Starts {
		times = append(times, e.Starts[i].Nominal)
	}
	return times
}

// TestRangeIsAnnounced before anything of it is handed over, so that those which come at once share the room.
func TestRangeIsAnnounced(t *testing.T) {
	t.Parallel()
	in := backfill(t, minutes(1), minutes(3))
	got := Decide(in)
	before := minutes(1).Add(-1)
	require.Equal(t, &wire.Enqueue{
		Incarnation: "i", Version: 1, Source: "b", Span: wire.Span{From: before, To: before},
	}, got.HandOff)
	require.True(t, got.Changed)
	require.Equal(t, before, got.State.Mark)
	require.Equal(t, 3, got.State.Total)
	require.Zero(t, got.State.Handed)
	require.Equal(t, now.Add(time.Second), got.WakeAt)
	require.Equal(t, []schedule.Event{in.State.Requested(in.Definition.Key())}, got.Events, "who asked may not have lived to tell")

	in.State = got.State
	require.Equal(t, Decision{State: in.State, WakeAt: now.Add(time.Second)}, Decide(in), "the invoker has not heard of it yet")
}

func TestRangeIsInclusive(t *testing.T) {
	t.Parallel()
	in := announced(backfill(t, minutes(1), minutes(3)))
	got := Decide(in)
	want := &wire.Enqueue{
		Incarnation: "i", Version: 1, Source: "b", Span: wire.Span{From: minutes(1).Add(-1), To: minutes(3)},
		Complete: true,
	}
	for i := 1; i <= 3; i++ {
		s := wire.NewStart(in.Definition, "b", minutes(i), minutes(i))
		s.Overlap, s.Identity = schedule.OverlapBufferAll, "ann"
		require.True(t, s.Manual)
		want.Starts = append(want.Starts, s)
	}
	require.Equal(t, want, got.HandOff)
	require.True(t, got.Changed)
	require.False(t, got.Finished, "not before it is taken")
	require.True(t, got.State.Done)
	require.Equal(t, minutes(3), got.State.Mark)
	require.Equal(t, 3, got.State.Handed)
	require.Equal(t, 3, got.State.Total)
	require.Equal(t, now.Add(time.Second), got.WakeAt)
}

// take is the record of an invoker that has taken over the request's times up to one, and in whose buffer so many of its
// starts, and of others, wait.
func (in *Input) take(upTo time.Time, own, others int) {
	in.Invoker = wire.InvokerState{Incarnation: "i"}
	if !upTo.IsZero() {
		in.Invoker.Sources = map[string]wire.SourceProgress{"b": {Covered: []wire.Span{{To: upTo}}}}
	}
	in.addWaiting(own, "b")
	in.addWaiting(others, "other")
}

func TestFinishedWhenTaken(t *testing.T) {
	t.Parallel()
	in := announced(backfill(t, minutes(1), minutes(3)))
	in.State = Decide(in).State
	for _, taken := range []time.Time{{}, minutes(2), minutes(3).Add(-1)} {
		in.take(taken, 0, 0)
		got := Decide(in)
		require.Equal(t, Decision{State: in.State, WakeAt: now.Add(time.Second)}, got, "the last batch is on its way")
	}
	in.take(minutes(3), 1, 0)
	require.Equal(t, Decision{State: in.State, WakeAt: now.Add(time.Minute)}, Decide(in), "one of them waits")
	in.take(minutes(3), 0, 7)
	require.Equal(t, Decision{State: in.State, Finished: true, Events: []schedule.Event{{
		ID: "i-backfill_completed-b", Time: now, Namespace: "default", ScheduleID: "s", Kind: schedule.EventBackfillCompleted,
		Count: 3, First: minutes(1), Last: minutes(3), Source: "b", Identity: "ann",
	}}}, Decide(in))
}

// TestTotal is counted once for each version of the definition.
func TestTotal(t *testing.T) {
	t.Parallel()
	in := announced(backfill(t, minutes(1), minutes(1000)))
	in.State = Decide(in).State
	require.Equal(t, 1000, in.State.Total)
	require.Equal(t, 100, in.State.Handed)
	in.take(in.State.Mark, 0, 0)
	d := *in.Definition
	d.Version++
	d.Schedule.Spec.Intervals = []schedule.Interval{{Every: schedule.Duration(10 * time.Minute)}}
	in.Definition = &d
	var err error
	in.Spec, err = specproc.Compile(d.Schedule.Spec)
	require.NoError(t, err)
	got := Decide(in)
	require.Equal(t, 190, got.State.Total, "the rest goes by the new spec")
	require.Equal(t, minutes(110), got.HandOff.Starts[0].Nominal)
	require.True(t, got.HandOff.Complete)

	in = backfill(t, start, start.AddDate(10, 0, 0))
	require.Equal(t, wire.MaxBackfillTotal, Decide(in).State.Total, "and counted so far at most")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	canceled := func(in Input) Input {
		in.State.Canceled, in.State.CanceledBy, in.State.CancelRequestID = true, "bob", "r2"
		return in
	}
	fresh := canceled(backfill(t, minutes(1), minutes(1000)))
	require.Equal(t, Decision{State: fresh.State, Finished: true, Events: []schedule.Event{
		fresh.State.Requested(fresh.Definition.Key()), {
			ID: "i-backfill_canceled-b", Time: now, Namespace: "default", ScheduleID: "s", Kind: schedule.EventBackfillCanceled,
			First: minutes(1), Last: minutes(1000), Source: "b", Identity: "bob", RequestID: "r2",
		},
	}}, Decide(fresh), "it has never handed over anything")

	for name, in := range map[string]Input{
		"announced":         backfill(t, minutes(1), minutes(1000)),
		"in the middle":     announced(backfill(t, minutes(1), minutes(1000))),
		"all handed over":   announced(backfill(t, minutes(1), minutes(50))),
		"a waiting trigger": trigger(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in.State = Decide(in).State
			in = canceled(in)
			got := Decide(in)
			require.True(t, got.WakeInvoker, "the invoker has not seen it")
			require.Nil(t, got.HandOff)
			in.take(in.State.Mark, 1, 0)
			require.True(t, Decide(in).WakeInvoker)
			withdrawn := in.Invoker.Sources["b"]
			withdrawn.Withdrawn = true
			in.Invoker.Sources["b"] = withdrawn
			got = Decide(in)
			require.False(t, got.Finished || got.WakeInvoker, "a start that is being executed is waited for")
			in.Invoker.Starts = nil
			got = Decide(in)
			require.True(t, got.Finished)
			require.Equal(t, schedule.EventBackfillCanceled, got.Events[len(got.Events)-1].Kind)
			require.Equal(t, "bob", got.Events[len(got.Events)-1].Identity)
			require.Equal(t, in.State.Handed, got.Events[len(got.Events)-1].Count)
			withdrawn.Covered = nil
			in.Invoker.Sources["b"] = withdrawn
			require.False(t, Decide(in).Finished, "the last batch is on its way, and will be dropped")
		})
	}
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
		{0, 1, 100}, {0, 9, 50}, {0, 100, 4}, {351, 1, 99}, {440, 3, 3}, {449, 1, 1}, {449, 2, 0}, {450, 1, 0}, {1000, 1, 0},
	} {
		in := announced(backfill(t, minutes(1), minutes(1000)))
		in.addWaiting(test.waiting, "other")
		in.share(test.backfills)
		got := Decide(in)
		assert.False(t, got.State.Done)
		if test.want == 0 {
			assert.Nil(t, got.HandOff, "%+v", test)
			continue
		}
		assert.Len(t, got.HandOff.Starts, test.want, "%+v", test)
		assert.Equal(t, minutes(test.want), got.State.Mark)
		assert.Equal(t, got.State.Mark, got.HandOff.To)
	}
}

func TestWithoutRoomItWaits(t *testing.T) {
	t.Parallel()
	in := announced(backfill(t, minutes(1), minutes(2)))
	before := in.State.Mark
	in.take(before, 0, 1000)
	for _, backoff := range []time.Duration{2, 4, 8, 16, 32, 60, 60, 60} {
		got := Decide(in)
		require.Nil(t, got.HandOff)
		require.True(t, got.Changed)
		require.Equal(t, now.Add(backoff*time.Second), got.WakeAt)
		in.State = got.State
	}
	in.State.Attempt = 1 << 40
	require.Equal(t, now.Add(time.Minute), Decide(in).WakeAt)

	in.take(before, 0, 0)
	got := Decide(in)
	require.Equal(t, []time.Time{minutes(1), minutes(2)}, nominals(got.HandOff))
	require.Equal(t, before, got.HandOff.From)
	require.Zero(t, got.State.Attempt)
}

func TestTriggerIgnoresRoom(t *testing.T) {
	t.Parallel()
	in := trigger(t)
	in.take(time.Time{}, 0, 5000)
	in.State.Trigger.Input = []byte("1")
	in.Definition.Schedule.State.Paused = true
	got := Decide(in)
	s := wire.NewStart(in.Definition, "b", now, now)
	s.Overlap, s.Identity, s.Overridden = schedule.OverlapAllowAll, "ann", true
	require.Equal(t, &wire.Enqueue{
		Incarnation: "i", Version: 1, Source: "b", Span: wire.Span{From: now.Add(-1), To: now}, Starts: []wire.BufferedStart{s},
		Complete: true,
	}, got.HandOff)
	require.False(t, got.Finished)

	in.State = got.State
	require.False(t, Decide(in).Finished)
	in.take(now, 1, 0)
	require.False(t, Decide(in).Finished, "what it overrides is needed until the start is executed")
	in.take(now, 0, 0)
	require.Equal(t, Decision{State: in.State, Finished: true}, Decide(in))
}

// TestTriggerThatWasHandedOver by the frontend needs no more than to be waited for.
func TestTriggerThatWasHandedOver(t *testing.T) {
	t.Parallel()
	in := trigger(t)
	requested := []schedule.Event{in.State.Requested(in.Definition.Key())}
	in.take(now, 1, 0)
	want := Decision{State: in.State.Triggered(), Changed: true, WakeAt: now.Add(time.Minute), Events: requested}
	require.Equal(t, want, Decide(in))
	again := in
	again.State = want.State
	require.Empty(t, Decide(again).Events, "it has been told of")
	in.take(now, 0, 0)
	require.Equal(t, Decision{State: in.State.Triggered(), Finished: true, Events: requested}, Decide(in))
}

// TestCanceledTrigger that the invoker does not know of may be on its way to it, from the frontend.
func TestCanceledTrigger(t *testing.T) {
	t.Parallel()
	in := trigger(t)
	in.State.Canceled, in.State.CanceledBy = true, "bob"
	got := Decide(in)
	require.NotNil(t, got.HandOff, "the invoker is to know of it, and to drop it")
	require.False(t, got.Finished)
	in.State = got.State
	in.take(now, 0, 0)
	in.Invoker.Sources["b"] = wire.SourceProgress{Covered: []wire.Span{{To: now}}, Withdrawn: true}
	got = Decide(in)
	require.True(t, got.Finished)
	require.Equal(t, schedule.EventBackfillCanceled, got.Events[len(got.Events)-1].Kind)
}

// TestEndIsToldToTheGenerator of a schedule that may close, since it counts from the last sign of life.
func TestEndIsToldToTheGenerator(t *testing.T) {
	t.Parallel()
	finished := func(change func(*schedule.Schedule)) bool {
		in := trigger(t)
		change(&in.Definition.Schedule)
		var err error
		in.Spec, err = specproc.Compile(in.Definition.Schedule.Spec)
		require.NoError(t, err)
		in.take(now, 0, 0)
		got := Decide(in)
		require.True(t, got.Finished)
		return got.WakeGenerator
	}
	require.False(t, finished(func(*schedule.Schedule) {}))
	require.True(t, finished(func(s *schedule.Schedule) { s.Spec.EndTime = start }))
	require.True(t, finished(func(s *schedule.Schedule) { s.State.LimitedActions = true }))
}

// invoker is the invoker as far as hand-offs go.
type invoker struct {
	taken    time.Time
	complete bool
	starts   []wire.BufferedStart
}

func (i *invoker) take(t require.TestingT, e *wire.Enqueue) {
	if i.taken.IsZero() {
		i.taken = e.From
	}
	require.False(t, e.From.After(i.taken), "the chain has a gap")
	for _, s := range e.Starts {
		if s.Actual.After(i.taken) {
			i.starts = append(i.starts, s)
		}
	}
	i.taken, i.complete = latest(i.taken, e.To), i.complete || e.Complete
}

// addWaiting adds waiting starts of a source to the invoker's record.
func (in *Input) addWaiting(count int, source string) {
	for range count {
		in.Invoker.Starts = append(in.Invoker.Starts, wire.BufferedStart{Phase: schedule.PhaseDeferred, Source: source})
	}
}

// share adds other backfills, so that there are so many with this one.
func (in *Input) share(backfills int) {
	if in.Invoker.Sources == nil {
		in.Invoker.Sources = map[string]wire.SourceProgress{}
	}
	in.Invoker.Sources[schedule.SourceAuto] = wire.SourceProgress{}
	in.Invoker.Sources["complete"] = wire.SourceProgress{Complete: true}
	in.Invoker.Sources["withdrawn"] = wire.SourceProgress{Withdrawn: true}
	for i := range backfills - 1 {
		in.Invoker.Sources[fmt.Sprint("other", i)] = wire.SourceProgress{}
	}
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
		var onTheWay []*wire.Enqueue
		finished := false
		for step := 0; !finished; step++ {
			require.Less(t, step, 2000, "it does not come to an end")
			// After a while nothing bad happens any more.
			calm := step > 200
			waiting, own, backfills := rapid.IntRange(0, 600).Draw(t, "waiting"), rapid.IntRange(0, 2).Draw(t, "own"), rapid.IntRange(1, 5).Draw(t, "backfills")
			if calm {
				waiting, own, backfills = 0, 0, 1
			}
			in.take(inv.taken, own, waiting)
			in.share(backfills)
			state := in.State
			got := Decide(in)
			require.Equal(t, state, in.State, "the input is left alone")
			require.Equal(t, got, Decide(in), "the same input gives the same")
			require.True(t, got.Finished || got.WakeAt.After(in.Now))
			require.False(t, got.Finished && got.HandOff != nil, "a hand-off that nobody has taken yet")
			if got.HandOff != nil {
				require.LessOrEqual(t, len(got.HandOff.Starts), max(0, 450-waiting-own))
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
				onTheWay = nil
			}
		}
		require.True(t, inv.complete || len(inv.starts) == 0, "the invoker knows that nothing follows")
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

// TestStaysUntilTheGeneratorHasNotedIt: the generator, or the next one, makes the record of a request that came with a definition once
// more if it dies before it has noted that. It must find the first one.
func TestStaysUntilTheGeneratorHasNotedIt(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]Input{
		"a range": announced(backfill(t, start, minutes(1))), "a trigger": trigger(t), "a range without times": backfill(t, start.Add(time.Second), start.Add(2*time.Second)),
	} {
		t.Run(name, func(t *testing.T) {
			in.State.Version, in.Noted = 2, 1
			for range 4 {
				d := Decide(in)
				if d.HandOff != nil {
					in.take(d.HandOff.Span.To, 0, 0)
				}
				require.False(t, d.Finished)
				in.State = d.State
			}
			d := Decide(in)
			require.False(t, d.Finished)
			require.Greater(t, d.WakeAt.Sub(in.Now), firstBackoff)
			require.LessOrEqual(t, d.WakeAt.Sub(in.Now), longestBackoff)
			require.True(t, d.Changed, "it remembers how often it has looked")
			in.State, in.Noted = d.State, 2
			require.True(t, Decide(in).Finished)
		})
	}
}
