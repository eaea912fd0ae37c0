package invoker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// TestGivenUpOnce: a generator died after it had handed over some actions. The next begins where that one did, and much
// later: all of them are late.
func TestGivenUpOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		first        func(*wire.Enqueue)
		seconds      []int
		missed, from int
	}{
		"what has been started":        {func(*wire.Enqueue) {}, []int{1, 2, 3}, 2, 4},
		"what has been given up":       {func(e *wire.Enqueue) { giveUp(e, 3) }, nil, 2, 4},
		"some of both":                 {func(e *wire.Enqueue) { giveUp(e, 2) }, []int{3}, 2, 4},
		"all that is late":             {func(e *wire.Enqueue) { giveUp(e, 5) }, nil, 0, 0},
		"under an older version":       {func(e *wire.Enqueue) { e.Version = 0 }, []int{1, 2, 3}, 2, 4},
		"nothing has been handed over": {nil, nil, 5, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newHarness(t, policy(schedule.OverlapAllowAll))
			k.d.Schedule.Spec = schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Second)}}}
			spec, err := specproc.Compile(k.d.Schedule.Spec)
			require.NoError(t, err)
			begin := wire.Span{From: origin, To: origin}
			again := wire.Enqueue{Incarnation: "inc", Version: 1, Source: schedule.SourceAuto, Span: begin}
			if test.first != nil {
				first := again
				for _, n := range test.seconds {
					first.To = second(n)
					first.Starts = append(first.Starts, k.start(schedule.SourceAuto, n, ""))
				}
				test.first(&first)
				again.Version = first.Version
				k.transition(invoker.Input{Enqueues: traced(first).Enqueues, Spec: spec})
				k.events()
			}
			before := k.state.Counters
			giveUp(&again, 5)
			again.To = second(6)
			again.Starts = append(again.Starts, k.start(schedule.SourceAuto, 6, ""))
			k.news = nil
			k.transition(invoker.Input{Enqueues: traced(again).Enqueues, Spec: spec})
			require.EqualValues(t, test.missed, k.state.Counters.MissedCatchup-before.MissedCatchup)
			for _, e := range k.news {
				if e.Kind == schedule.EventMissed {
					require.Equal(t, test.missed, e.Count)
					require.Equal(t, second(test.from), e.First.UTC())
					require.Equal(t, second(5), e.Last.UTC())
				}
			}
			require.Equal(t, []wire.Span{{From: origin, To: second(6)}}, k.state.Sources[schedule.SourceAuto].Covered)
		})
	}
}

// TestGivenUpByAnotherSpec: an update has changed the times since, so that nobody knows which of them a hand-off of before gives up
// that others have settled in part. It is believed.
func TestGivenUpByAnotherSpec(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapAllowAll))
	k.d.Version, k.d.LimitVersion = 2, 2
	k.d.Schedule.Spec = schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(2 * time.Second)}}}
	spec, err := specproc.Compile(k.d.Schedule.Spec)
	require.NoError(t, err)
	begin := wire.Span{From: origin, To: origin}
	first := wire.Enqueue{Incarnation: "inc", Version: 1, Source: schedule.SourceAuto, Span: begin}
	first.To = second(3)
	for _, n := range []int{1, 2, 3} {
		first.Starts = append(first.Starts, k.start(schedule.SourceAuto, n, ""))
	}
	k.transition(invoker.Input{Enqueues: traced(first).Enqueues, Spec: spec})
	again := wire.Enqueue{Incarnation: "inc", Version: 1, Source: schedule.SourceAuto, Span: begin}
	giveUp(&again, 5)
	k.transition(invoker.Input{Enqueues: traced(again).Enqueues, Spec: spec})
	require.EqualValues(t, 5, k.state.Counters.MissedCatchup)
}

// TestRecountAfterACalendarChanged: by the calendar that there is now, other times may be due than were handed over.
func TestRecountAfterACalendarChanged(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapAllowAll))
	k.d.Schedule.Spec = schedule.Spec{
		Intervals: []schedule.Interval{{Every: schedule.Duration(time.Second)}}, ExcludeCalendarsNamed: []string{"freeze"},
	}
	k.d.Calendars = map[string]wire.CalendarCopy{"freeze": {}}
	first := wire.Enqueue{
		Incarnation: "inc", Version: 1, Source: schedule.SourceAuto, Span: wire.Span{From: origin, To: second(1)},
		Starts: []wire.BufferedStart{k.start(schedule.SourceAuto, 1, "")},
	}
	k.transition(invoker.Input{Enqueues: traced(first).Enqueues})
	k.d.Version, k.d.CalendarsVersion = 2, 2
	k.d.Calendars = map[string]wire.CalendarCopy{"freeze": {Windows: []schedule.Blackout{{From: origin, To: second(60)}}}}
	spec, err := specproc.CompileDefinition(&k.d)
	require.NoError(t, err)
	again := wire.Enqueue{
		Incarnation: "inc", Version: 1, Source: schedule.SourceAuto, Span: wire.Span{From: origin, To: second(5)},
	}
	giveUp(&again, 5)
	k.transition(invoker.Input{Enqueues: traced(again).Enqueues, Spec: spec})
	require.EqualValues(t, 5, k.state.Counters.MissedCatchup, "none is lost, though one counts twice")
}

// giveUp makes a hand-off say that everything up to a second was missed.
func giveUp(e *wire.Enqueue, last int) {
	e.Missed, e.MissedSpan = last, wire.Span{From: second(1), To: second(last)}
	if e.To.Before(second(last)) {
		e.To = second(last)
	}
}

// TestHandedOverBeforeAnUpdate: a generator died after it had handed over some actions, and before it wrote that down. An
// update then moves their times by another jitter behind what has been covered.
func TestHandedOverBeforeAnUpdate(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapAllowAll))
	handOff := func(version uint64, from, to int, nominals ...int) {
		e := wire.Enqueue{
			Incarnation: "inc", Version: version, Source: schedule.SourceAuto, Span: wire.Span{From: second(from), To: second(to)},
		}
		for _, n := range nominals {
			start := k.start(schedule.SourceAuto, n, "")
			if version > 1 {
				start.Actual = start.Nominal.Add(5 * time.Second)
				start.RequestID += "-later"
			}
			e.Starts = append(e.Starts, start)
		}
		k.transition(invoker.Input{Enqueues: traced(e).Enqueues})
	}
	handOff(1, 0, 2, 1, 2)
	handOff(2, 0, 9, 1, 2, 3, 4)
	var nominals []time.Time
	for i := range k.state.Starts {
		nominals = append(nominals, k.state.Starts[i].Nominal.UTC())
	}
	require.Equal(t, []time.Time{second(1), second(2), second(3), second(4)}, nominals)
	handOff(2, 9, 12, 5, 6, 7)
	require.Len(t, k.state.Starts, 7)
	handOff(2, 13, 20, 14)
	handOff(1, 12, 13, 13) // which that one has overtaken
	require.Len(t, k.state.Starts, 9)
}

// TestHandedOverOnceByAnyVersion: hand-offs of several versions come in any order, each with times of its own for the same actions. What
// is missing is not settled; what lies behind that, and has been handed over, is.
func TestHandedOverOnceByAnyVersion(t *testing.T) {
	t.Parallel()
	type hand struct {
		version  uint64
		from, to int
		later    time.Duration // than the nominal times
		nominals []int
	}
	for name, test := range map[string]struct {
		hands []hand
		want  []int
	}{
		"behind a gap": {
			[]hand{{1, 3, 6, 0, []int{4, 5, 6}}, {2, 6, 13, 5 * time.Second, []int{2, 3, 4, 5, 6, 7, 8}}},
			[]int{2, 3, 4, 5, 6, 7, 8},
		},
		"of the version before the newest, which has overtaken it": {
			[]hand{{1, 0, 3, 0, []int{1, 2, 3}}, {3, 5, 8, 0, []int{6, 7, 8}}, {2, 2, 5, time.Second, []int{2, 3, 4}}},
			[]int{1, 2, 3, 4, 6, 7, 8},
		},
		"by the newest version first": {
			[]hand{{1, 0, 3, 0, []int{1, 2, 3}}, {2, 3, 5, 0, []int{4, 5}}, {1, 3, 7, time.Second, []int{3, 4, 5, 6}}},
			[]int{1, 2, 3, 4, 5, 6},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newHarness(t, policy(schedule.OverlapAllowAll))
			for _, h := range test.hands {
				e := wire.Enqueue{
					Incarnation: "inc", Version: h.version, Source: schedule.SourceAuto,
					Span: wire.Span{From: second(h.from), To: second(h.to)},
				}
				for _, n := range h.nominals {
					start := k.start(schedule.SourceAuto, n, "")
					if h.later > 0 {
						start.Actual = start.Nominal.Add(h.later)
						start.RequestID += "-later"
					}
					e.Starts = append(e.Starts, start)
				}
				k.transition(invoker.Input{Enqueues: traced(e).Enqueues})
			}
			var nominals []int
			for i := range k.state.Starts {
				nominals = append(nominals, number(k.state.Starts[i].Nominal))
			}
			require.ElementsMatch(t, test.want, nominals)
		})
	}
}

// TestGivenUpBeforeAnUpdate: what an earlier version has given up, for whatever reason, is settled, and does not start by the
// times of the next.
func TestGivenUpBeforeAnUpdate(t *testing.T) {
	t.Parallel()
	given := wire.Span{From: second(1), To: second(3)}
	for name, giveUp := range map[string]func(*wire.Enqueue){
		"missed":     func(e *wire.Enqueue) { e.Missed, e.MissedSpan = 3, given },
		"superseded": func(e *wire.Enqueue) { e.Superseded, e.SupersededSpan = 3, given },
		"dropped":    func(e *wire.Enqueue) { e.Dropped, e.DroppedSpan = 3, given },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newHarness(t, policy(schedule.OverlapAllowAll))
			first := wire.Enqueue{
				Incarnation: "inc", Version: 1, Source: schedule.SourceAuto, Span: wire.Span{From: origin, To: second(3)},
			}
			giveUp(&first)
			k.transition(traced(first))
			next := wire.Enqueue{
				Incarnation: "inc", Version: 2, Source: schedule.SourceAuto, Span: wire.Span{From: second(3), To: second(9)},
			}
			for n := range 4 {
				start := k.start(schedule.SourceAuto, n+1, "")
				start.Actual = start.Nominal.Add(5 * time.Second)
				next.Starts = append(next.Starts, start)
			}
			k.transition(traced(next))
			require.Len(t, k.state.Starts, 1)
			require.Equal(t, second(4), k.state.Starts[0].Nominal.UTC())
		})
	}
}

// TestTheFirstHandOffIsOvertakenByAnUpdate: nothing is known of its times, though there is no gap in what is covered.
func TestTheFirstHandOffIsOvertakenByAnUpdate(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapAllowAll))
	handOff := func(version uint64, from, to int, nominals ...int) {
		e := wire.Enqueue{
			Incarnation: "inc", Version: version, Source: schedule.SourceAuto, Span: wire.Span{From: second(from), To: second(to)},
		}
		for _, n := range nominals {
			e.Starts = append(e.Starts, k.start(schedule.SourceAuto, n, ""))
		}
		k.transition(invoker.Input{Enqueues: traced(e).Enqueues})
	}
	handOff(1, 2, 3, 3)
	handOff(2, 0, 4, 1, 2, 3, 4) // by a generator that a lagging replica has shown no record
	handOff(1, 0, 2, 1, 2)
	require.Len(t, k.state.Starts, 4)
}

// TestGivenUpOnceAfterAnUpdate is the same for what is given up by the time it is handed over again.
func TestGivenUpOnceAfterAnUpdate(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapAllowAll))
	k.d.Schedule.Spec = schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Second)}}}
	spec, err := specproc.Compile(k.d.Schedule.Spec)
	require.NoError(t, err)
	begin := wire.Span{From: origin, To: origin}
	first := wire.Enqueue{Incarnation: "inc", Version: 1, Source: schedule.SourceAuto, Span: begin}
	giveUp(&first, 2)
	k.transition(invoker.Input{Enqueues: traced(first).Enqueues, Spec: spec})
	k.d.Version = 2
	again := wire.Enqueue{Incarnation: "inc", Version: 2, Source: schedule.SourceAuto, Span: begin}
	giveUp(&again, 5)
	again.From = second(2)
	again.MissedSpan.From = second(1) // by another jitter
	k.transition(invoker.Input{Enqueues: traced(again).Enqueues, Spec: spec})
	require.EqualValues(t, 5, k.state.Counters.MissedCatchup)
}

// TestGivenUpOnceByAnotherJitter: an update moves what an earlier version has given up to where nothing is covered. It is not
// counted again.
func TestGivenUpOnceByAnotherJitter(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapAllowAll))
	every := []schedule.Interval{{Every: schedule.Duration(time.Second)}}
	first := wire.Enqueue{
		Incarnation: "inc", Version: 1, Source: schedule.SourceAuto, Span: wire.Span{From: origin, To: origin},
	}
	giveUp(&first, 2)
	k.transition(traced(first))
	k.d.Version, k.d.Schedule.Spec = 2, schedule.Spec{Intervals: every, Jitter: schedule.Duration(900 * time.Millisecond)}
	spec, err := specproc.Compile(k.d.Schedule.Spec)
	require.NoError(t, err)
	moved, ok := spec.NextDue(second(2), k.d.JitterSeed())
	require.True(t, ok)
	require.Equal(t, second(2), moved.Nominal.UTC(), "it is due later now")
	again := wire.Enqueue{
		Incarnation: "inc", Version: 2, Source: schedule.SourceAuto, Span: wire.Span{From: second(2), To: second(7)},
		Missed: 5, MissedSpan: wire.Span{From: second(1), To: second(6)},
	}
	k.transition(invoker.Input{Enqueues: traced(again).Enqueues, Spec: spec})
	require.EqualValues(t, 6, k.state.Counters.MissedCatchup)
}
