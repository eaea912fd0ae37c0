package invoker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// TestGivenUpOnce: a generator died after it had handed over some actions. The next begins where that one did, and much
// later: all of them are late.
func TestGivenUpOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		first        func(*schedule.Enqueue)
		seconds      []int
		missed, from int
	}{
		"what has been started":        {func(*schedule.Enqueue) {}, []int{1, 2, 3}, 2, 4},
		"what has been given up":       {func(e *schedule.Enqueue) { giveUp(e, 3) }, nil, 2, 4},
		"some of both":                 {func(e *schedule.Enqueue) { giveUp(e, 2) }, []int{3}, 2, 4},
		"all that is late":             {func(e *schedule.Enqueue) { giveUp(e, 5) }, nil, 0, 0},
		"under an older spec":          {func(e *schedule.Enqueue) { e.Version = 0 }, []int{1, 2, 3}, 5, 1},
		"nothing has been handed over": {nil, nil, 5, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newDesk(t, policy(schedule.OverlapAllowAll))
			k.d.Schedule.Spec = schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Second)}}}
			spec, err := specproc.Compile(k.d.Schedule.Spec)
			require.NoError(t, err)
			begin := schedule.Span{From: origin, To: origin}
			again := schedule.Enqueue{Incarnation: "inc", Version: 1, Source: schedule.SourceAuto, Span: begin}
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
			require.Equal(t, []schedule.Span{{From: origin, To: second(6)}}, k.state.Sources[schedule.SourceAuto].Covered)
		})
	}
}

// giveUp makes a hand-off say that everything up to a second was missed.
func giveUp(e *schedule.Enqueue, last int) {
	e.Missed, e.MissedSpan = last, schedule.Span{From: second(1), To: second(last)}
	if e.To.Before(second(last)) {
		e.To = second(last)
	}
}
