package invoker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestLifeOfAStart(t *testing.T) {
	t.Parallel()
	k := newHarness(t)
	k.due(1)
	require.Equal(t, "1 ready", k.phases())
	start := k.find(1)
	require.Equal(t, 1, start.Attempt)
	require.Equal(t, wire.RunID(start.RequestID), start.RunID)
	require.Equal(t, "q", start.TaskQueue)
	require.Equal(t, "trace-of-auto", start.Trace)
	k.now = second(2)
	k.work(invoker.Accepted)
	require.Equal(t, "1 started", k.phases())
	require.Equal(t, second(2), k.find(1).StartTime)
	k.now = second(3)
	k.complete(1, schedule.StatusCompleted)
	require.Equal(t, "1 completed", k.phases())
	require.Equal(t, second(3), k.find(1).CloseTime)
	require.Equal(t, "1 started, 1 completed", k.events())
	require.Equal(t, wire.Counters{Actions: 1}, k.state.Counters)
	require.Len(t, k.last.Ended, 1)
	require.EqualValues(t, 2, k.state.EventSequence)
}

func TestHandOffsAreTakenOnce(t *testing.T) {
	t.Parallel()
	span := func(from, to int, starts ...int) wire.Enqueue {
		k := newHarness(t)
		e := wire.Enqueue{
			Incarnation: "inc", Source: schedule.SourceAuto, Span: wire.Span{From: second(from), To: second(to)},
		}
		for _, n := range starts {
			e.Starts = append(e.Starts, k.start(schedule.SourceAuto, n, ""))
		}
		return e
	}
	counted := func(e wire.Enqueue, missed, dropped int) wire.Enqueue {
		e.Missed, e.Dropped = missed, dropped
		return e
	}
	superseded := func(e wire.Enqueue, count int) wire.Enqueue {
		e.Superseded = count
		return e
	}
	tests := map[string]struct {
		in      []wire.Enqueue
		starts  string
		covered string
		missed  int64
		dropped int64
		repeats int
	}{
		"one":             {in: []wire.Enqueue{span(0, 5, 1, 5)}, starts: "1 5", covered: "0-5"},
		"repeat":          {in: []wire.Enqueue{span(0, 5, 1), span(0, 5, 1)}, starts: "1", covered: "0-5", repeats: 1},
		"chain":           {in: []wire.Enqueue{span(0, 5, 1), span(5, 9, 9)}, starts: "1 9", covered: "0-9"},
		"overtaken":       {in: []wire.Enqueue{span(5, 9, 7), span(0, 5, 2)}, starts: "2 7", covered: "0-9"},
		"later end":       {in: []wire.Enqueue{span(0, 5, 1), span(0, 9, 1, 8)}, starts: "1 8", covered: "0-9"},
		"earlier end":     {in: []wire.Enqueue{span(0, 9, 1, 8), span(0, 5, 1)}, starts: "1 8", covered: "0-9", repeats: 1},
		"overlap":         {in: []wire.Enqueue{span(0, 5, 4), span(3, 9, 4, 6)}, starts: "4 6", covered: "0-9"},
		"gap":             {in: []wire.Enqueue{span(0, 2, 1), span(6, 9, 7)}, starts: "1 7", covered: "0-2 6-9"},
		"gap filled":      {in: []wire.Enqueue{span(0, 2, 1), span(6, 9, 7), span(2, 6, 3)}, starts: "1 3 7", covered: "0-9"},
		"gap half filled": {in: []wire.Enqueue{span(0, 2), span(6, 9), span(2, 4, 3)}, starts: "3", covered: "0-4 6-9"},
		"over a gap":      {in: []wire.Enqueue{span(0, 2, 1), span(6, 9, 7), span(0, 9, 1, 4, 7)}, starts: "1 4 7", covered: "0-9"},
		"its end, not its beginning": {
			in: []wire.Enqueue{span(0, 5, 5), span(5, 9, 5, 9)}, starts: "5 9", covered: "0-9",
		},
		"counts": {
			in:      []wire.Enqueue{counted(span(0, 5), 2, 3), counted(span(5, 9), 2, 3)},
			covered: "0-9", missed: 4, dropped: 6,
		},
		"counts of a repeat": {
			in:      []wire.Enqueue{counted(span(0, 5), 2, 3), counted(span(0, 5), 2, 3)},
			covered: "0-5", missed: 2, dropped: 3, repeats: 1,
		},
		"counts of a repeat with a later end": {
			in:      []wire.Enqueue{counted(span(0, 5), 2, 3), counted(span(0, 9), 5, 4)},
			covered: "0-9", missed: 5, dropped: 4,
		},
		"superseded": {
			in:      []wire.Enqueue{superseded(span(0, 5, 5), 4), superseded(span(0, 5, 5), 4), superseded(span(5, 9, 9), 3)},
			starts:  "5 9",
			covered: "0-9", missed: 7, repeats: 1,
		},
		"counts when one is overtaken, then repeated": {
			in:      []wire.Enqueue{counted(span(5, 9), 3, 0), counted(span(0, 5), 1, 0), counted(span(5, 12), 4, 0)},
			covered: "0-12", missed: 5,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			apart := newHarness(t, policy(schedule.OverlapAllowAll))
			for _, e := range test.in {
				apart.transition(traced(e))
			}
			together := newHarness(t, policy(schedule.OverlapAllowAll))
			together.transition(traced(test.in...))
			require.Equal(t, test.repeats, together.last.Ignored["repeat"])
			for _, k := range []*harness{apart, together} {
				have := map[string]bool{}
				for _, s := range k.state.Starts {
					have[fmt.Sprint(number(s.Nominal))] = true
				}
				want := strings.Fields(test.starts)
				require.Len(t, k.state.Starts, len(want))
				for _, n := range want {
					require.True(t, have[n], "%s of %v", n, have)
				}
				var covered []string
				for _, s := range k.state.Sources[schedule.SourceAuto].Covered {
					covered = append(covered, fmt.Sprintf("%d-%d", number(s.From), number(s.To)))
				}
				require.Equal(t, test.covered, strings.Join(covered, " "))
				require.Equal(t, test.missed, k.state.Counters.MissedCatchup)
				require.Equal(t, test.dropped, k.state.Counters.BufferDropped)
			}
		})
	}
}

func TestARepeatChangesNothing(t *testing.T) {
	t.Parallel()
	k := newHarness(t)
	e := k.handOff(schedule.SourceAuto, "", 1)
	k.transition(traced(e))
	k.work(invoker.Accepted)
	k.complete(1, schedule.StatusCompleted)
	k.transition(traced(e))
	require.False(t, k.last.Changed)
	require.Equal(t, map[string]int{"repeat": 1}, k.last.Ignored)
	k.transition(invoker.Input{})
	require.False(t, k.last.Changed)
}

// TestAnUpdatedDefinitionDoesNotStartAgain: after an update the same time has another request ID. Coverage tells.
func TestAnUpdatedDefinitionDoesNotStartAgain(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapAllowAll))
	k.due(1)
	k.d.Version++
	k.handed = map[string]time.Time{}
	k.due(1, 2)
	require.Equal(t, "1 ready, 2 ready", k.phases())
}

// TestAHandOffAfterItsSourceIsForgotten: nothing is known any more of what the source has handed over, but the run is.
func TestAHandOffAfterItsSourceIsForgotten(t *testing.T) {
	t.Parallel()
	k := newHarness(t)
	e := k.handOff("b1", "", 1)
	k.transition(traced(e))
	k.work(invoker.Accepted)
	for _, phase := range []string{"1 started", "1 completed"} {
		k.transition(invoker.Input{Finished: []string{"b1"}})
		require.NotContains(t, k.state.Sources, "b1")
		k.events()
		k.transition(traced(e))
		require.Empty(t, k.events())
		require.Equal(t, phase, k.phases())
		if phase == "1 started" {
			k.complete(1, schedule.StatusCompleted)
		}
	}
}

func TestSourcesAreApart(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapAllowAll))
	k.due(1)
	k.trigger(1, "")
	require.Len(t, k.state.Starts, 2)
	require.Len(t, k.state.Sources, 2)

	k.transition(invoker.Input{Finished: []string{"b1", schedule.SourceAuto, "unknown"}})
	require.True(t, k.last.Changed)
	require.Len(t, k.state.Sources, 1, "the automated source stays")
	k.transition(invoker.Input{Finished: []string{"b1"}})
	require.False(t, k.last.Changed)
}

func TestIncarnations(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapBufferAll), actions(3))
	k.running(1)
	k.due(2)
	k.events()

	old := k.handOff(schedule.SourceAuto, "", 3)
	old.Incarnation = "before"
	k.transition(traced(old))
	require.False(t, k.last.Changed)
	require.Equal(t, map[string]int{"other_incarnation": 1}, k.last.Ignored)

	k.d.Incarnation, k.handed = "next", map[string]time.Time{}
	k.transition(invoker.Input{})
	require.True(t, k.last.Changed)
	require.Equal(t, wire.InvokerState{Incarnation: "next", LimitVersion: 1}, k.state)
	k.due(1)
	require.Equal(t, "1 ready", k.phases(), "what ran under the old one is another matter")
	require.Equal(t, "", k.events())
}

func TestBufferLimit(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapBufferAll))
	k.running(-900)
	seconds := make([]int, invoker.BufferLimit+5)
	for i := range seconds {
		seconds[i] = i + 1
	}
	k.now = second(len(seconds))
	k.due(seconds...)
	require.Len(t, k.state.Starts, 1+invoker.BufferLimit)
	require.EqualValues(t, 5, k.state.Counters.BufferDropped)
	require.Equal(t, 5, strings.Count(k.events(), "dropped"))

	k.trigger(5000, "")
	require.Equal(t, schedule.PhaseDeferred, k.find(5000).Phase, "manual ones know no limit")
	k.due(5001)
	require.EqualValues(t, 6, k.state.Counters.BufferDropped)
	k.complete(-900, schedule.StatusCompleted)
	k.work(invoker.Accepted)
	k.due(5002)
	require.EqualValues(t, 7, k.state.Counters.BufferDropped, "the manual one has taken the room")
	k.complete(1, schedule.StatusCompleted)
	k.work(invoker.Accepted)
	k.due(5003)
	require.Equal(t, schedule.PhaseDeferred, k.find(5003).Phase)
}

func TestOverlapPolicies(t *testing.T) {
	t.Parallel()
	tests := map[schedule.OverlapPolicy]struct{ phases, events string }{
		"": {"1 started", "2 skipped, 3 skipped"},
		schedule.OverlapSkip: {
			"1 started", "2 skipped, 3 skipped",
		},
		schedule.OverlapBufferOne: {
			"1 started, 2 deferred", "2 deferred, 3 skipped",
		},
		schedule.OverlapBufferAll: {
			"1 started, 2 deferred, 3 deferred", "2 deferred, 3 deferred",
		},
		schedule.OverlapCancelOther: {
			"1 started, 2 deferred, 3 deferred", "2 deferred, 3 deferred, 1 cancel_requested",
		},
		schedule.OverlapTerminateOther: {
			"1 started, 2 deferred, 3 deferred", "2 deferred, 3 deferred, 1 terminated",
		},
		schedule.OverlapAllowAll: {
			"1 started, 2 ready, 3 ready", "",
		},
	}
	for p, test := range tests {
		t.Run("policy "+string(p), func(t *testing.T) {
			t.Parallel()
			k := newHarness(t, policy(p))
			k.running(1)
			k.due(2, 3)
			require.Equal(t, test.phases, k.phases())
			require.Equal(t, test.events, k.events())
			require.EqualValues(t, strings.Count(test.events, "skipped"), k.state.Counters.OverlapSkipped)

			byStart := newHarness(t, policy(schedule.OverlapAllowAll))
			byStart.running(1)
			byStart.dueUnder(p, 2, 3)
			if p != "" {
				require.Equal(t, test.phases, byStart.phases(), "a start's own policy goes first")
			}
		})
	}
}

func TestDeferredStartsReturn(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapBufferAll))
	k.running(1)
	k.due(2, 3)
	k.events()
	k.complete(1, schedule.StatusCompleted)
	require.Equal(t, "1 completed, 2 ready, 3 deferred", k.phases())
	require.Equal(t, "1 completed", k.events(), "3 has been deferred once")
	k.work(invoker.Accepted)
	k.complete(2, schedule.StatusFailed)
	require.Equal(t, "1 completed, 2 completed, 3 ready", k.phases())
}

func TestStartsOfOneMoment(t *testing.T) {
	t.Parallel()
	k := newHarness(t)
	in := traced(k.handOff(schedule.SourceAuto, "", 1))
	in.Enqueues = append(in.Enqueues,
		traced(k.handOff("b2", schedule.OverlapCancelOther, 2)).Enqueues[0],
		traced(k.handOff("b3", schedule.OverlapAllowAll, 3)).Enqueues[0])
	k.transition(in)
	require.Equal(t, "2 ready, 3 ready", k.phases(), "1 has given way, before it ran")
	require.Equal(t, "1 skipped", k.events())

	k.work(invoker.Accepted)
	k.events()
	in = traced(k.handOff("b4", schedule.OverlapTerminateOther, 4))
	in.Enqueues = append(in.Enqueues, traced(k.handOff("b5", schedule.OverlapAllowAll, 5)).Enqueues[0])
	k.transition(in)
	require.Equal(t, "2 started, 3 started, 4 deferred", k.phases())
	require.Equal(t, "4 deferred, 5 skipped, 2 terminated", k.events())
	require.EqualValues(t, 2, k.state.Counters.OverlapSkipped)
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		window time.Duration
		late   time.Duration
		missed bool
	}{
		"in time":          {0, time.Hour, false},
		"default window":   {0, 365*24*time.Hour + time.Second, true},
		"at the edge":      {time.Minute, time.Minute, false},
		"past it":          {time.Minute, time.Minute + 1, true},
		"window too small": {time.Second, 9 * time.Second, false},
		"raised and past":  {time.Second, 11 * time.Second, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newHarness(t, catchup(test.window), actions(1))
			k.now = second(1).Add(test.late)
			k.due(1)
			if !test.missed {
				require.Equal(t, "1 ready", k.phases())
				return
			}
			require.Equal(t, "1 missed", k.events())
			require.Equal(t, wire.Counters{MissedCatchup: 1}, k.state.Counters)
			require.Equal(t, 1, k.state.RemainingActions(&k.d), "a missed start takes no action")
			k.trigger(1, "")
			require.Equal(t, "1 ready", k.phases(), "manual starts have no deadline")
		})
	}
}

// TestAStartThatMayNotExecuteCostsNoOtherItsPlace: what is late, paused or beyond the limit goes before the overlap
// policies look at it.
func TestAStartThatMayNotExecuteCostsNoOtherItsPlace(t *testing.T) {
	t.Parallel()
	t.Run("late", func(t *testing.T) {
		t.Parallel()
		k := newHarness(t, catchup(10*time.Second))
		k.now = second(20)
		k.due(1, 2, 19)
		require.Equal(t, "19 ready", k.phases())
		require.Equal(t, wire.Counters{MissedCatchup: 2}, k.state.Counters)
	})
	t.Run("late, and would have replaced one in time", func(t *testing.T) {
		t.Parallel()
		k := newHarness(t, catchup(10*time.Second))
		k.now = second(20)
		k.transition(traced(k.handOff("b15", "", 15), k.handOff(schedule.SourceAuto, schedule.OverlapCancelOther, 1)))
		require.Equal(t, "15 ready", k.phases())
	})
	t.Run("late, and would have ended a run", func(t *testing.T) {
		t.Parallel()
		k := newHarness(t, catchup(10*time.Second), policy(schedule.OverlapTerminateOther))
		k.running(1)
		k.now = second(20)
		k.due(2)
		require.Equal(t, "1 started", k.phases())
		require.Empty(t, k.state.Controls)
		require.Equal(t, "2 missed", k.events())
	})
	t.Run("paused", func(t *testing.T) {
		t.Parallel()
		k := newHarness(t, paused)
		k.transition(traced(k.handOff(schedule.SourceAuto, "", 1), k.handOff("b2", schedule.OverlapSkip, 2)))
		require.Equal(t, "2 ready", k.phases())
		require.Equal(t, "1 dropped", k.events())
	})
	t.Run("no actions left", func(t *testing.T) {
		t.Parallel()
		k := newHarness(t, actions(0), policy(schedule.OverlapCancelOther))
		k.trigger(1, "")
		k.work(invoker.Accepted)
		k.due(2)
		require.Equal(t, "1 started", k.phases())
		require.Empty(t, k.state.Controls)
		require.EqualValues(t, 1, k.state.Counters.BufferDropped)
	})
}

func TestLimitedActions(t *testing.T) {
	t.Parallel()
	k := newHarness(t, actions(2), policy(schedule.OverlapAllowAll))
	k.due(1, 2, 3)
	require.Equal(t, "1 ready, 2 ready", k.phases(), "the first in order")
	require.Equal(t, "3 dropped", k.events())
	require.Zero(t, k.state.RemainingActions(&k.d))
	k.trigger(4, "")
	require.Equal(t, "1 ready, 2 ready, 4 ready", k.phases(), "manual ones go on")
	k.due(5)
	require.EqualValues(t, 2, k.state.Counters.BufferDropped)

	k.d.Version, k.d.LimitVersion = 2, 2
	require.Equal(t, 2, k.state.RemainingActions(&k.d))
	k.due(6)
	require.Equal(t, schedule.PhaseReady, k.find(6).Phase)
	require.Equal(t, 1, k.state.LimitUsed)
	require.EqualValues(t, 2, k.state.LimitVersion)
}

// TestLimitedActionsInOrder: a start beside the others does not take the action of one before it.
func TestLimitedActionsInOrder(t *testing.T) {
	t.Parallel()
	k := newHarness(t, actions(1))
	e := k.handOff(schedule.SourceAuto, "", 1, 2)
	e.Starts[1].Overlap = schedule.OverlapAllowAll
	k.transition(traced(e))
	require.Equal(t, "1 ready", k.phases())
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	k := newHarness(t)
	k.due(1)
	waits := []int{1, 2, 4, 8, 16, 32, 60, 60, 60}
	for i, wait := range waits {
		k.work(invoker.Failed)
		start := k.find(1)
		require.Equal(t, schedule.PhaseReady, start.Phase)
		require.Equal(t, i+2, start.Attempt)
		require.Equal(t, time.Duration(wait)*time.Second, start.BackoffUntil.Sub(k.now))
		require.Empty(t, invoker.WorkOf(&k.state, k.now).Starts)
		require.Equal(t, start.BackoffUntil, invoker.RetryAt(&k.state, k.now))
		k.now = start.BackoffUntil
		require.Len(t, invoker.WorkOf(&k.state, k.now).Starts, 1)
	}
	require.Equal(t, "1 retried"+strings.Repeat(", 1 retried", 8), k.events())
	id := k.find(1).RequestID
	k.work(invoker.Failed)
	require.Equal(t, "1 dropped", k.events(), "after the tenth attempt")
	require.Empty(t, k.state.Starts)
	require.Equal(t, wire.Counters{BufferDropped: 1}, k.state.Counters)
	// One of the attempts may have been stored all the same.
	require.Len(t, k.state.Controls, 1)
	require.Equal(t, schedule.ControlTerminate, k.state.Controls[0].Kind)
	require.Equal(t, id, k.state.Controls[0].RequestID)
	k.work(invoker.Accepted)
	require.Empty(t, k.state.Controls)
	require.Empty(t, k.events())
}

func TestARetryThatComesTooLate(t *testing.T) {
	t.Parallel()
	k := newHarness(t, catchup(10*time.Second))
	k.due(1)
	k.now = second(5)
	k.work(invoker.Failed)
	k.events()
	k.now = second(30)
	k.transition(invoker.Input{})
	require.Equal(t, "1 ready", k.phases(), "it may have been stored: whoever tries again finds out")
	k.work(invoker.TooLate)
	require.Equal(t, "1 missed", k.events())
	require.Empty(t, k.state.Starts)
	require.Equal(t, wire.Counters{MissedCatchup: 1}, k.state.Counters)
}

func TestARefusedStartIsDropped(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapBufferAll))
	k.due(1, 2)
	k.events()
	k.work(invoker.Refused)
	require.Equal(t, "2 ready", k.phases(), "the next one has its place")
	require.Equal(t, "1 dropped", k.events())
	require.Equal(t, wire.Counters{BufferDropped: 1}, k.state.Counters)
}

func TestAStartThatIsOverWaitsForItsCompletion(t *testing.T) {
	t.Parallel()
	k := newHarness(t)
	k.due(1)
	k.work(invoker.Over)
	require.False(t, k.last.Changed)
	require.Equal(t, "1 ready", k.phases())
	require.Equal(t, k.now.Add(time.Second), invoker.RetryAt(&k.state, k.now), "not at once, over and over")
	c := k.completion(1, schedule.StatusCompleted)
	c.StartTime = second(-5)
	k.transition(invoker.Input{Completions: []schedule.Completion{c}})
	require.Equal(t, "1 started, 1 completed", k.events())
	require.Equal(t, second(-5), k.find(1).StartTime)
	require.Equal(t, wire.Counters{Actions: 1}, k.state.Counters)
}

func TestReportsOfOtherStartsAreIgnored(t *testing.T) {
	t.Parallel()
	k := newHarness(t)
	k.running(1)
	for _, id := range []string{k.id(1), "unknown"} {
		k.apply(invoker.Report{Starts: []invoker.StartReport{{RequestID: id, Result: invoker.Refused}}})
		require.False(t, k.last.Changed)
	}
}

func TestCompletionsThatSayNothingNew(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapBufferAll))
	k.running(1)
	k.due(2)
	done := k.completion(1, schedule.StatusCompleted)
	waits := k.completion(2, schedule.StatusCompleted)
	k.transition(invoker.Input{Completions: []schedule.Completion{waits, {RequestID: "x", Status: schedule.StatusFailed}}})
	require.False(t, k.last.Changed)
	require.Equal(t, 2, k.last.Ignored["unknown_request"])
	k.transition(invoker.Input{Completions: []schedule.Completion{done, done}})
	require.Len(t, k.last.Ended, 1)
	require.Equal(t, 1, k.last.Ignored["unknown_request"])
	k.transition(invoker.Input{Completions: []schedule.Completion{done}})
	require.False(t, k.last.Changed)
}

// TestCompletionsOfAnotherQueueAreIgnored: what the permissions of a worker let it say does not end the runs of others.
func TestCompletionsOfAnotherQueueAreIgnored(t *testing.T) {
	t.Parallel()
	k := newHarness(t)
	k.running(1)
	forged := k.completion(1, schedule.StatusFailed)
	forged.TaskQueue = "another"
	k.transition(invoker.Input{Completions: []schedule.Completion{forged}})
	require.False(t, k.last.Changed)
	require.Equal(t, 1, k.last.Ignored["other_task_queue"])
	own := k.completion(1, schedule.StatusCompleted)
	own.TaskQueue = "q"
	k.transition(invoker.Input{Completions: []schedule.Completion{own}})
	require.Len(t, k.last.Ended, 1)
}

// TestCloseTimes: a worker without a clock, or with one that is ahead, must not upset the order of runs.
func TestCloseTimes(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{{}, second(9999)} {
		k := newHarness(t)
		k.running(1)
		k.now = second(7)
		c := k.completion(1, schedule.StatusFailed)
		c.CloseTime = at
		k.transition(invoker.Input{Completions: []schedule.Completion{c}})
		require.Equal(t, second(7), k.find(1).CloseTime)
		require.Equal(t, second(7), k.last.Ended[0].CloseTime)
	}
}

// TestRecentStartsOfOneGroup: which of them closed last counts, whatever the order in which they are heard of.
func TestRecentStartsOfOneGroup(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapAllowAll))
	k.running(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	var in invoker.Input
	for i, n := range []int{5, 12, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11} {
		c := k.completion(n, schedule.StatusCompleted)
		c.CloseTime = second(100 - i)
		in.Completions = append(in.Completions, c)
	}
	k.now = second(200)
	k.transition(in)
	require.Equal(t, invoker.RecentLimit, k.state.Ended.Len())
	for _, n := range []int{10, 11} { // the first to close
		require.Equal(t, "no such start", k.find(n).RequestID)
	}
}

func TestRecentStarts(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapAllowAll))
	k.running(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	for i, n := range []int{3, 12, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11} {
		k.now = second(100 + i)
		k.complete(n, schedule.StatusCompleted)
	}
	require.Equal(t, invoker.RecentLimit, k.state.Ended.Len())
	for _, n := range []int{3, 12} { // the first to complete
		require.Equal(t, "no such start", k.find(n).RequestID)
	}
	require.EqualValues(t, 12, k.state.Counters.Actions)
}

// TestTheNewestActionIsRemembered, though runs that were due earlier, those of a backfill for instance, end later, and are more than
// are kept. Idle schedules are closed by it.
func TestTheNewestActionIsRemembered(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*harness){
		"as it is": func(*harness) {},
		// As an earlier release writes it, which does not know the field.
		"a process of an earlier release in between": func(k *harness) { k.state.LastDue = time.Time{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newHarness(t, policy(schedule.OverlapAllowAll))
			k.running(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 50)
			require.Equal(t, second(50), k.state.LastAction())
			k.complete(50, schedule.StatusCompleted)
			write(k)
			for n := 1; n <= 12; n++ {
				k.complete(n, schedule.StatusCompleted)
				require.Equal(t, second(50), k.state.LastAction())
			}
			require.Equal(t, invoker.RecentLimit, k.state.Ended.Len())
			k.running(60)
			k.complete(60, schedule.StatusCompleted)
			require.Equal(t, second(60), k.state.LastAction(), "the next one")
		})
	}
}

func TestPauseOnFailure(t *testing.T) {
	t.Parallel()
	for _, status := range []schedule.Status{
		schedule.StatusCompleted, schedule.StatusFailed, schedule.StatusCanceled, schedule.StatusTerminated, schedule.StatusTimedOut,
	} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			k := newHarness(t, pauseOnFailure, policy(schedule.OverlapBufferAll))
			k.running(1)
			k.due(2)
			k.trigger(3, "")
			k.due(4)
			k.events()
			run := k.find(1)
			k.complete(1, status)
			if status != schedule.StatusFailed && status != schedule.StatusTimedOut {
				require.Nil(t, k.last.Pause)
				require.Equal(t, "1 completed, 2 ready, 3 deferred, 4 deferred", k.phases())
				return
			}
			note := "paused on failure: run " + run.RunID + " of nightly-2026-03-01T12:00:01Z " + string(status) + ": boom"
			require.Equal(t, &schedule.Event{
				ID: k.d.Incarnation + "-paused-2", Time: k.now.UTC(), Namespace: k.d.Namespace, ScheduleID: k.d.ID,
				Kind: schedule.EventPaused, RequestID: run.RequestID, WorkflowID: run.WorkflowID, RunID: run.RunID,
				Source: schedule.SourceAuto, Reason: note, Trace: run.Trace,
			}, k.last.Pause)
			require.Equal(t, "1 completed, 2 dropped", k.events(), "the pause is told by the definition")
			require.Equal(t, "1 completed, 3 ready, 4 deferred", k.phases(), "the manual one goes on")

			// The shell writes the pause into the definition.
			k.d.Schedule.State.Paused, k.d.Schedule.State.Notes = true, note
			k.work(invoker.Accepted)
			k.complete(3, schedule.StatusFailed)
			require.Nil(t, k.last.Pause, "it is paused already")
			require.Equal(t, "3 started, 3 completed, 4 dropped", k.events())
		})
	}
}

func TestPauseOnFailureNoteIsBounded(t *testing.T) {
	t.Parallel()
	k := newHarness(t, pauseOnFailure)
	k.running(1)
	c := k.completion(1, schedule.StatusFailed)
	c.Failure.Message = strings.Repeat("ü", 5000)
	k.transition(invoker.Input{Completions: []schedule.Completion{c}})
	require.LessOrEqual(t, len(k.last.Pause.Reason), schedule.MaxNoteBytes)
	require.Greater(t, len(k.last.Pause.Reason), schedule.MaxNoteBytes-3)
	for _, e := range k.news {
		require.LessOrEqual(t, len(e.Reason), schedule.MaxNoteBytes)
	}
}

func TestCancelOther(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapCancelOther))
	k.running(1)
	run := k.find(1)
	k.due(2)
	want := wire.PendingControl{
		Kind: schedule.ControlCancel, RequestID: run.RequestID, WorkflowID: run.WorkflowID, RunID: run.RunID, TaskQueue: "q",
	}
	require.Equal(t, []wire.PendingControl{want}, k.state.Controls)
	require.Equal(t, schedule.ControlCancel, k.find(1).Ending)
	require.Equal(t, k.now.Add(time.Second), invoker.RetryAt(&k.state, k.now), "until it is delivered")
	k.apply(invoker.Report{})
	require.Len(t, k.state.Controls, 1)
	k.work(invoker.Accepted)
	require.Empty(t, k.state.Controls)
	require.Equal(t, "1 started, 2 deferred", k.phases(), "it ends when it reports")
	k.due(3)
	require.Empty(t, k.state.Controls, "it is asked once")
	k.events()
	k.complete(1, schedule.StatusCanceled)
	require.Equal(t, "1 completed, 3 ready", k.phases())
	require.Equal(t, "1 completed, 2 skipped", k.events(), "3 would end 2, which has not begun")
}

func TestTerminateOther(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapTerminateOther))
	k.running(1)
	k.due(2)
	require.Equal(t, schedule.ControlTerminate, k.state.Controls[0].Kind)
	require.Equal(t, "2 deferred, 1 terminated", k.events())
	k.work(invoker.Accepted)
	require.Equal(t, "1 completed, 2 ready", k.phases())
	require.Equal(t, schedule.StatusTerminated, k.find(1).Status)
	require.Equal(t, "1 completed", k.events())
	require.Empty(t, k.last.Ended, "it says nothing about the last result")
	k.complete(1, schedule.StatusFailed)
	require.False(t, k.last.Changed, "whatever it reports is ignored")
}

// TestTerminateGoesFirst: one start cancels, another terminates, and there are two runs to choose from.
func TestTerminateGoesFirst(t *testing.T) {
	t.Parallel()
	k := newHarness(t, limit(2))
	k.running(1, 2)
	e := k.handOff(schedule.SourceAuto, schedule.OverlapCancelOther, 3, 4)
	e.Starts[1].Overlap = schedule.OverlapTerminateOther
	k.transition(traced(e))
	require.Equal(t, schedule.ControlTerminate, k.find(1).Ending)
	require.Equal(t, schedule.ControlCancel, k.find(2).Ending)
	require.Len(t, k.state.Controls, 2)

	one := newHarness(t)
	one.running(1)
	one.transition(traced(e))
	require.Equal(t, schedule.ControlTerminate, one.find(1).Ending)
	require.Len(t, one.state.Controls, 1, "terminate wins over cancel")
}

func TestACanceledRunMayStillBeTerminated(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapCancelOther))
	k.running(1)
	k.due(2)
	k.work(invoker.Accepted)
	k.dueUnder(schedule.OverlapTerminateOther, 3)
	require.Equal(t, schedule.ControlTerminate, k.find(1).Ending)
	k.work(invoker.Accepted)
	require.Equal(t, schedule.StatusTerminated, k.find(1).Status)
}

// TestTerminateBeforeTheStart: the run to end is ready but has not been accepted yet.
func TestTerminateBeforeTheStart(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapTerminateOther))
	k.due(1)
	k.due(2)
	require.Equal(t, "1 ready, 2 deferred", k.phases())
	work := invoker.WorkOf(&k.state, k.now)
	require.Len(t, work.Controls, 1)
	require.Equal(t, k.find(1).RunID, work.Controls[0].RunID)
	k.apply(invoker.Report{Delivered: work.Controls}) // the pool leaves the start out
	require.Equal(t, "1 completed, 2 ready", k.phases())
	require.Equal(t, schedule.StatusTerminated, k.find(1).Status)
}

func TestTimedOut(t *testing.T) {
	t.Parallel()
	k := newHarness(t)
	k.running(1)
	k.complete(1, schedule.StatusTimedOut)
	require.Equal(t, "1 completed", k.phases())
	require.Equal(t, schedule.ControlTerminate, k.state.Controls[0].Kind, "it is withdrawn, and its worker told")
	k.work(invoker.Accepted)
	require.Equal(t, schedule.StatusTimedOut, k.find(1).Status)
	require.Empty(t, k.state.Controls)
	require.Equal(t, "1 completed", k.events())
}

func TestConcurrencyLimit(t *testing.T) {
	t.Parallel()
	k := newHarness(t, limit(3), policy(schedule.OverlapBufferAll))
	k.due(1, 2, 3, 4, 5)
	require.Equal(t, "1 ready, 2 ready, 3 ready, 4 deferred, 5 deferred", k.phases())
	k.work(invoker.Accepted)
	k.trigger(6, schedule.OverlapAllowAll)
	require.Equal(t, schedule.PhaseReady, k.find(6).Phase, "allow all ignores it")
	k.work(invoker.Accepted)
	k.complete(2, schedule.StatusCompleted)
	require.Equal(t, schedule.PhaseDeferred, k.find(4).Phase, "but counts among what runs")
	k.complete(3, schedule.StatusCompleted)
	require.Equal(t, schedule.PhaseReady, k.find(4).Phase)

	k = newHarness(t, limit(2), policy(schedule.OverlapCancelOther))
	k.running(1, 2)
	k.due(3)
	require.Equal(t, schedule.ControlCancel, k.find(1).Ending, "the oldest")
	require.Empty(t, k.find(2).Ending)
}

func TestOneGroupDoesAllOfIt(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapSkip))
	k.running(1)
	in := traced(k.handOff(schedule.SourceAuto, "", 2))
	in.Completions = []schedule.Completion{k.completion(1, schedule.StatusCompleted)}
	k.transition(in)
	require.Equal(t, "1 completed, 2 ready", k.phases(), "the completion counts first")
}

func TestWorkOf(t *testing.T) {
	t.Parallel()
	k := newHarness(t)
	require.True(t, invoker.WorkOf(&k.state, k.now).Empty())
	assert.True(t, invoker.RetryAt(&k.state, k.now).IsZero())
	k.due(1)
	require.False(t, invoker.WorkOf(&k.state, k.now).Empty())
	k.work(invoker.Accepted)
	require.True(t, invoker.WorkOf(&k.state, k.now).Empty())
}
