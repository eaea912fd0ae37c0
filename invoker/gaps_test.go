package invoker_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// The fates of a due action that a hand-off tells of. What is given up has one of the last three.
const (
	fateStarted    = "started"
	fateMissed     = "missed"
	fateSuperseded = "superseded"
	fateDropped    = "dropped"
)

// dueTimes is what hand-offs are made of: the times of a spec, and the fate that each has had from the first hand-off that
// has brought it.
type dueTimes struct {
	*harness
	spec  *specproc.Spec
	times []specproc.Time
	fates map[time.Time]string // by nominal time
}

func newDueTimes(t require.TestingT, every int, jitter, length time.Duration) *dueTimes {
	d := &dueTimes{harness: newHarness(t, policy(schedule.OverlapAllowAll)), fates: map[time.Time]string{}}
	d.harness.d.Schedule.Spec = schedule.Spec{
		Intervals: []schedule.Interval{{Every: schedule.Duration(every) * schedule.Duration(time.Second)}},
		Jitter:    schedule.Duration(jitter),
	}
	var err error
	d.spec, err = specproc.CompileDefinition(&d.harness.d)
	require.NoError(t, err)
	for at := range d.spec.Between(origin, origin.Add(length), d.harness.d.JitterSeed()) {
		d.times = append(d.times, at)
	}
	return d
}

// handOff is one of a range, whose times share the fates: so many are missed, then superseded, then started, and the rest
// is dropped.
func (d *dueTimes) handOff(from, to time.Time, missed, superseded, started int) (wire.Enqueue, map[time.Time]string) {
	e := wire.Enqueue{
		Incarnation: "inc", Version: 1, Source: schedule.SourceAuto, Span: wire.Span{From: from, To: to},
	}
	fates := map[time.Time]string{}
	count := func(n *int, span *wire.Span, at specproc.Time, fate string) {
		if *n == 0 {
			span.From = at.Nominal
		}
		*n++
		span.To, fates[at.Nominal.UTC()] = at.Nominal, fate
	}
	for i, at := range d.within(from, to) {
		switch {
		case i < missed:
			count(&e.Missed, &e.MissedSpan, at, fateMissed)
		case i < missed+superseded:
			count(&e.Superseded, &e.SupersededSpan, at, fateSuperseded)
		case i < missed+superseded+started:
			fates[at.Nominal.UTC()] = fateStarted
			e.Starts = append(e.Starts, wire.NewStart(&d.harness.d, schedule.SourceAuto, at.Nominal, at.Actual))
		default:
			count(&e.Dropped, &e.DroppedSpan, at, fateDropped)
		}
	}
	return e, fates
}

func (d *dueTimes) within(from, to time.Time) (due []specproc.Time) {
	for _, at := range d.times {
		if at.Actual.After(from) && !at.Actual.After(to) {
			due = append(due, at)
		}
	}
	return due
}

// deliver brings hand-offs in one transition. Each time keeps the first fate that it is given.
func (d *dueTimes) deliver(hands []wire.Enqueue, fates []map[time.Time]string) {
	settled := map[time.Time]string{}
	for _, given := range fates {
		for at, fate := range given {
			if d.fates[at] == "" {
				d.fates[at], settled[at] = fate, fate
			}
		}
	}
	d.transition(invoker.Input{Enqueues: traced(hands...).Enqueues, Spec: d.spec})
	d.checkEvents(settled)
	d.checkCounters()
}

// checkEvents: the events tell of each time that has a fate now and had none before, and of no other one.
func (d *dueTimes) checkEvents(settled map[time.Time]string) {
	told := map[time.Time]string{}
	for _, e := range d.news {
		fate, ok := fateOf(&e)
		if !ok {
			continue
		}
		between := 0
		for _, at := range d.times {
			if at.Nominal.Before(e.First) || at.Nominal.After(e.Last) {
				continue
			}
			between++
			require.Empty(d.t, told[at.Nominal.UTC()], "two events of one transition tell of %s", at.Nominal)
			told[at.Nominal.UTC()] = fate
		}
		require.Equal(d.t, between, e.Count, "from %s to %s", e.First, e.Last)
	}
	d.news = nil
	for at, fate := range settled {
		if fate == fateStarted {
			delete(settled, at)
		}
	}
	require.Equal(d.t, settled, told)
}

// fateOf is what an event says about several times.
func fateOf(e *schedule.Event) (string, bool) {
	switch {
	case e.Count == 0 || e.RequestID != "":
		return "", false
	case e.Kind == schedule.EventDropped:
		return fateDropped, true
	case e.Reason == "later than the catch-up window":
		return fateMissed, true
	}
	return fateSuperseded, true
}

func (d *dueTimes) checkCounters() {
	var want wire.Counters
	var started []time.Time
	for at, fate := range d.fates {
		switch fate {
		case fateMissed, fateSuperseded:
			want.MissedCatchup++
		case fateDropped:
			want.BufferDropped++
		default:
			started = append(started, at)
		}
	}
	require.Equal(d.t, want, d.state.Counters)
	var buffered []time.Time
	for i := range d.state.Starts {
		buffered = append(buffered, d.state.Starts[i].Nominal.UTC())
	}
	require.ElementsMatch(d.t, started, buffered)
}

// TestEachTimeHasOneFate: hand-offs of any ranges come in any order, any number of times, alone and together. Each time has
// the fate that the first of them gives it; events and counters say so exactly.
func TestEachTimeHasOneFate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const length = 20 * time.Second
		jitter := rapid.SampledFrom([]time.Duration{0, 700 * time.Millisecond, 5 * time.Second}).Draw(t, "jitter")
		d := newDueTimes(t, rapid.IntRange(1, 3).Draw(t, "every"), jitter, length)
		moment := rapid.Custom(func(t *rapid.T) time.Time {
			return origin.Add(time.Duration(rapid.IntRange(0, int(length/(500*time.Millisecond))).Draw(t, "half seconds")) * 500 * time.Millisecond)
		})
		few := rapid.IntRange(0, 6)
		var hands []wire.Enqueue
		var fates []map[time.Time]string
		for range rapid.IntRange(1, 8).Draw(t, "hand-offs") {
			from, to := moment.Draw(t, "from"), moment.Draw(t, "to")
			if to.Before(from) {
				from, to = to, from
			}
			e, given := d.handOff(from, to, few.Draw(t, "missed"), few.Draw(t, "superseded"), few.Draw(t, "started"))
			hands, fates = append(hands, e), append(fates, given)
		}
		order := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, len(hands)-1), 1, 2), 1, 12).Draw(t, "order")
		for _, together := range append(order, allOf(len(hands))) {
			var group []wire.Enqueue
			var given []map[time.Time]string
			for _, i := range together {
				group, given = append(group, hands[i]), append(given, fates[i])
			}
			d.deliver(group, given)
		}
		for _, e := range hands {
			for _, at := range d.within(e.From, e.To) {
				require.NotEmpty(t, d.fates[at.Nominal.UTC()])
			}
		}
	})
}

func allOf(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// TestAHandOffAroundWhatIsCovered: the last of three hand-offs comes first. It settles a time in the middle of the second
// one, and leaves two gaps in the others, which have events of their own.
func TestAHandOffAroundWhatIsCovered(t *testing.T) {
	t.Parallel()
	for name, started := range map[string]int{"given up": 0, "started": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDueTimes(t, 1, 0, 6*time.Second)
			first, ofFirst := d.handOff(second(2), second(3), 0, 0, started)
			wide, ofWide := d.handOff(second(1), second(5), 9, 0, 0)
			d.deliver([]wire.Enqueue{first}, []map[time.Time]string{ofFirst})
			d.transition(invoker.Input{Enqueues: traced(wide).Enqueues, Spec: d.spec})
			var told []string
			for _, e := range d.news {
				told = append(told, fmt.Sprintf("%d from %d to %d", e.Count, number(e.First), number(e.Last)))
			}
			require.Equal(t, []string{"1 from 2 to 2", "2 from 4 to 5"}, told)
			require.EqualValues(t, 3, d.state.Counters.MissedCatchup)
			require.Equal(t, 4, len(ofWide))
			require.Equal(t, 1, len(d.state.Sources[schedule.SourceAuto].Covered))
			require.False(t, slices.ContainsFunc(d.state.Starts, func(s wire.BufferedStart) bool {
				return number(s.Nominal) != 3
			}))
		})
	}
}

// TestAHandOffAroundAnEmptyOne: a hand-off by which a source makes itself known covers nothing, and parts nothing: one event tells
// of all that is given up.
func TestAHandOffAroundAnEmptyOne(t *testing.T) {
	t.Parallel()
	d := newDueTimes(t, 1, 0, 6*time.Second)
	empty := wire.Enqueue{
		Incarnation: "inc", Version: 1, Source: schedule.SourceAuto, Span: wire.Span{From: second(3), To: second(3)},
	}
	d.transition(traced(empty))
	wide, _ := d.handOff(second(1), second(5), 9, 0, 0)
	d.transition(invoker.Input{Enqueues: traced(wide).Enqueues, Spec: d.spec})
	require.Len(t, d.news, 1)
	require.EqualValues(t, 4, d.news[0].Count)
}

// TestMoreGivenUpThanCanBeCountedOneByOne: a year of seconds is counted as exactly.
func TestMoreGivenUpThanCanBeCountedOneByOne(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * 3600
	d := newDueTimes(t, 1, 0, 0)
	e := wire.Enqueue{
		Incarnation: "inc", Version: 1, Source: schedule.SourceAuto, Span: wire.Span{From: second(10), To: second(20)},
	}
	e.Missed, e.MissedSpan = 10, wire.Span{From: second(11), To: second(20)}
	d.transition(invoker.Input{Enqueues: traced(e).Enqueues, Spec: d.spec})
	e.Span, e.Missed, e.MissedSpan = wire.Span{From: origin, To: second(year)}, year, wire.Span{From: second(1), To: second(year)}
	d.transition(invoker.Input{Enqueues: traced(e).Enqueues, Spec: d.spec})
	require.EqualValues(t, year, d.state.Counters.MissedCatchup)
}
