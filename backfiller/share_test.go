package backfiller

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// bound is how many starts of backfills may wait or run at once (docs/semantics.md §6).
const bound = 450

// harness has several backfills of one schedule and the buffer of the invoker that they share.
type harness struct {
	t          require.TestingT
	definition *wire.Definition
	spec       *specproc.Spec
	now        time.Time
	invoker    wire.InvokerState
	requests   map[string]*wire.BackfillState
	onTheWay   []*wire.Enqueue
	// taken are the nominal times of each backfill in the order in which they reached the buffer, most how many starts
	// were in it at once.
	taken map[string][]time.Time
	most  int
	// completed holds the events of those that are over.
	completed map[string]schedule.Event
}

func newHarness(t require.TestingT) *harness {
	s := &harness{
		t: t, now: now, requests: map[string]*wire.BackfillState{},
		taken: map[string][]time.Time{}, completed: map[string]schedule.Event{},
	}
	s.invoker = wire.InvokerState{Incarnation: "i", Sources: map[string]wire.SourceProgress{schedule.SourceAuto: {}}}
	s.define(definition(time.Minute))
	return s
}

func (s *harness) define(d *wire.Definition) {
	spec, err := specproc.Compile(d.Schedule.Spec)
	require.NoError(s.t, err)
	s.definition, s.spec = d, spec
}

// request adds a backfill of so many minutes.
func (s *harness) request(id string, from, count int) {
	s.requests[id] = &wire.BackfillState{
		Incarnation: "i", ID: id, RequestTime: now, Range: &schedule.BackfillRange{Start: minutes(from), End: minutes(from + count - 1)},
	}
}

// decide makes a decision about a request and carries it out; if it dies, without writing the record.
func (s *harness) decide(id string, dies bool) {
	got := Decide(Input{Definition: s.definition, Spec: s.spec, State: *s.requests[id], Invoker: s.invoker, Now: s.now})
	if got.HandOff != nil {
		s.onTheWay = append(s.onTheWay, got.HandOff)
	}
	switch {
	case dies:
	case got.Finished:
		s.completed[id] = got.Events[len(got.Events)-1]
		delete(s.requests, id)
		delete(s.invoker.Sources, id)
	case got.Changed:
		s.requests[id] = &got.State
	}
}

// take applies all hand-offs that are on their way, as the invoker does: what a range covers, it takes once.
func (s *harness) take() {
	for _, e := range s.onTheWay {
		if _, known := s.requests[e.Source]; !known {
			continue // it is over
		}
		progress, known := s.invoker.Sources[e.Source]
		if !known {
			progress.Covered = []wire.Span{{From: e.From, To: e.From}}
		}
		covered := &progress.Covered[0]
		require.False(s.t, e.From.After(covered.To), "the chain of %s has a gap", e.Source)
		for _, start := range e.Starts {
			if start.Actual.After(covered.To) {
				s.invoker.Starts = append(s.invoker.Starts, start)
				s.taken[e.Source] = append(s.taken[e.Source], start.Nominal)
			}
		}
		covered.To = latest(covered.To, e.To)
		progress.LastCount, progress.Complete = len(e.Starts), progress.Complete || e.Complete
		s.invoker.Sources[e.Source] = progress
	}
	s.onTheWay = nil
	s.most = max(s.most, len(s.invoker.Starts))
}

// drain ends the first starts in the buffer.
func (s *harness) drain(count int) {
	s.invoker.Starts = s.invoker.Starts[min(count, len(s.invoker.Starts)):]
}

func (s *harness) finish() {
	for round := 0; len(s.requests) > 0; round++ {
		require.Less(s.t, round, 5000, "some never end: %v", s.requests)
		for _, id := range s.ids() {
			s.decide(id, false)
		}
		s.take()
		s.drain(100)
	}
}

// ids lists the open requests, in order.
func (s *harness) ids() []string {
	var ids []string
	for i := range schedule.MaxBackfills {
		if id := fmt.Sprint("b", i); s.requests[id] != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestManyBackfillsShareTheBuffer: whatever the order of decisions, deaths, hand-overs and ends of runs, each time of each
// backfill is handed over once and in order, and there are never more than the buffer has room for.
func TestManyBackfillsShareTheBuffer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newHarness(t)
		counts := map[string]int{}
		for i := range rapid.IntRange(1, 12).Draw(t, "backfills") {
			id, count := fmt.Sprint("b", i), rapid.IntRange(1, 400).Draw(t, "count")
			counts[id] = count
			s.request(id, 10_000*i, count)
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			ids := s.ids()
			if len(ids) == 0 {
				break
			}
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				s.take()
			case 1:
				s.drain(rapid.IntRange(0, 300).Draw(t, "ended"))
			default:
				s.decide(rapid.SampledFrom(ids).Draw(t, "id"), rapid.IntRange(0, 4).Draw(t, "fate") == 0)
			}
		}
		s.finish()
		require.LessOrEqual(t, s.most, bound)
		for i := range counts {
			var want []time.Time
			for minute := range counts[i] {
				want = append(want, s.completed[i].First.Add(time.Duration(minute)*time.Minute))
			}
			require.Equal(t, want, s.taken[i])
			require.Equal(t, counts[i], s.completed[i].Count)
			require.Equal(t, schedule.EventBackfillCompleted, s.completed[i].Kind)
		}
	})
}

// TestAHundredAtOnce come in together, before the invoker has heard of any of them.
func TestAHundredAtOnce(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	for i := range schedule.MaxBackfills {
		s.request(fmt.Sprint("b", i), 1000*i, 1000)
	}
	for range 3 {
		for _, id := range s.ids() {
			s.decide(id, false)
		}
		s.take()
	}
	require.LessOrEqual(t, s.most, bound)
	for i := range schedule.MaxBackfills {
		require.Len(t, s.taken[fmt.Sprint("b", i)], 4, "evenly")
	}
	s.finish()
	require.LessOrEqual(t, s.most, bound)
	require.Len(t, s.completed, schedule.MaxBackfills)
}

// TestUpdatesDuringABackfill change how often and with how much jitter the schedule is due while backfills go on: no
// nominal time comes twice, and what comes after the last change is all there.
func TestUpdatesDuringABackfill(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newHarness(t)
		s.request("b0", 0, rapid.IntRange(1, 1500).Draw(t, "count"))
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			if len(s.requests) == 0 {
				break
			}
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				d := *s.definition
				d.Version++
				second := schedule.Duration(time.Second)
				d.Schedule.Spec.Intervals = []schedule.Interval{{
					Every: schedule.Duration(rapid.SampledFrom([]int{7, 60, 90, 600}).Draw(t, "every")) * second,
				}}
				d.Schedule.Spec.Jitter = schedule.Duration(rapid.IntRange(0, 900).Draw(t, "jitter")) * second
				s.define(&d)
			default:
				s.decide("b0", false)
				s.take()
				s.drain(200)
			}
		}
		var rest []time.Time // is still to come, as the spec is now
		if open := s.requests["b0"]; open != nil && !open.Done {
			from := latest(open.Mark, open.Range.Start.Add(-1))
			for next := range s.spec.Between(from, open.Range.End, s.definition.JitterSeed()) {
				if open.Handed == 0 || next.Nominal.After(from) {
					rest = append(rest, next.Nominal)
				}
			}
		}
		s.finish()
		seen := map[time.Time]bool{}
		for _, nominal := range s.taken["b0"] {
			require.False(t, seen[nominal], "%s twice", nominal)
			seen[nominal] = true
		}
		require.Equal(t, len(s.taken["b0"]), s.completed["b0"].Count)
		taken := s.taken["b0"]
		require.ElementsMatch(t, rest, taken[len(taken)-len(rest):])
	})
}
