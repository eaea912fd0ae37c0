package invoker_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// told returns the events since the last call, by number and kind.
func (k *harness) told() map[string]schedule.Event {
	told := map[string]schedule.Event{}
	for _, e := range k.news {
		one := k.news
		k.news = []schedule.Event{e}
		told[k.events()] = e
		k.news = one
	}
	k.news = nil
	return told
}

func TestSkippedOnRequest(t *testing.T) {
	t.Parallel()
	k := newHarness(t, actions(2))
	e := k.handOff(schedule.SourceAuto, "", 1, 2)
	e.Starts[0].Skip = true
	k.transition(traced(e))
	require.Equal(t, "2 ready", k.phases())
	event := k.told()["1 skipped"]
	require.Equal(t, "skipped on request", event.Reason)
	require.Empty(t, event.Overlap)
	require.Equal(t, e.Starts[0].RequestID, event.RequestID)
	require.Equal(t, wire.Counters{SkippedOnRequest: 1}, k.state.Counters)
	require.Equal(t, 1, k.state.LimitUsed, "it takes no action")
	k.transition(traced(e))
	require.False(t, k.last.Changed, "once")

	// Unskipped meanwhile: the generator had died before it wrote its state, and hands over again.
	later := e
	later.To = second(3)
	later.Starts = []wire.BufferedStart{k.start(schedule.SourceAuto, 1, ""), e.Starts[1]}
	k.transition(traced(later))
	require.Equal(t, "2 ready", k.phases())
	require.Equal(t, wire.Counters{SkippedOnRequest: 1}, k.state.Counters)
}

// TestASkippedStartNeedsNoRoom: a full buffer drops it no more than it would have to take it.
func TestASkippedStartNeedsNoRoom(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapBufferAll))
	k.running(-900)
	seconds := make([]int, invoker.BufferLimit)
	for i := range seconds {
		seconds[i] = i + 1
	}
	k.now = second(len(seconds) + 1)
	k.due(seconds...)
	e := k.handOff(schedule.SourceAuto, "", len(seconds)+1)
	e.Starts[0].Skip = true
	k.transition(traced(e))
	require.Equal(t, wire.Counters{Actions: 1, SkippedOnRequest: 1}, k.state.Counters)
}

func TestCountedEventsSayFromWhenToWhen(t *testing.T) {
	t.Parallel()
	k := newHarness(t)
	e := k.handOff(schedule.SourceAuto, "", 9)
	e.Missed, e.MissedSpan = 2, wire.Span{From: second(1), To: second(2)}
	e.Superseded, e.SupersededSpan = 3, wire.Span{From: second(3), To: second(5)}
	e.Dropped, e.DroppedSpan = 4, wire.Span{From: second(10), To: second(13)}
	k.transition(traced(e))
	var counted []schedule.Event
	for _, event := range k.news {
		if event.Count > 0 {
			require.Equal(t, "trace-of-auto", event.Trace)
			require.Equal(t, schedule.SourceAuto, event.Source)
			counted = append(counted, schedule.Event{Kind: event.Kind, Count: event.Count, First: event.First, Last: event.Last})
		}
	}
	require.Equal(t, []schedule.Event{
		{Kind: schedule.EventMissed, Count: 2, First: second(1), Last: second(2)},
		{Kind: schedule.EventMissed, Count: 3, First: second(3), Last: second(5)},
		{Kind: schedule.EventDropped, Count: 4, First: second(10), Last: second(13)},
	}, counted)
	require.Equal(t, wire.Counters{MissedCatchup: 5, BufferDropped: 4}, k.state.Counters)
}

func TestWhatEventsSayOfAStart(t *testing.T) {
	t.Parallel()
	k := newHarness(t)
	e := k.handOff("b", schedule.OverlapBufferOne, 1)
	e.Starts[0].Identity = "ann@harness"
	k.transition(traced(e))
	k.work(invoker.Accepted)
	k.now = second(3)
	k.complete(1, schedule.StatusCompleted)
	told := k.told()
	for name, event := range told {
		require.Equal(t, "b", event.Source, name)
		require.Equal(t, "ann@harness", event.Identity, name)
		require.True(t, event.Manual, name)
		require.Equal(t, "trace-of-b", event.Trace, name)
	}
	require.Equal(t, "q", told["1 started"].TaskQueue)
	require.Equal(t, "q", told["1 completed"].TaskQueue)
	require.NotEmpty(t, told["1 completed"].RunID)
}

// TestEventsNameThePolicy: that of the start that waits or is skipped, and that by which a run is ended.
func TestEventsNameThePolicy(t *testing.T) {
	t.Parallel()
	tests := map[schedule.OverlapPolicy]map[string]schedule.OverlapPolicy{
		schedule.OverlapSkip:      {"2 skipped": schedule.OverlapSkip, "3 skipped": schedule.OverlapSkip},
		schedule.OverlapBufferOne: {"2 deferred": schedule.OverlapBufferOne, "3 skipped": schedule.OverlapBufferOne},
		schedule.OverlapBufferAll: {"2 deferred": schedule.OverlapBufferAll, "3 deferred": schedule.OverlapBufferAll},
		schedule.OverlapCancelOther: {
			"2 deferred": schedule.OverlapCancelOther, "3 deferred": schedule.OverlapCancelOther,
			"1 cancel_requested": schedule.OverlapCancelOther,
		},
		schedule.OverlapTerminateOther: {
			"2 deferred": schedule.OverlapTerminateOther, "3 deferred": schedule.OverlapTerminateOther,
			"1 terminated": schedule.OverlapTerminateOther,
		},
	}
	for p, want := range tests {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			k := newHarness(t, policy(p))
			k.running(1)
			k.due(2, 3)
			have := map[string]schedule.OverlapPolicy{}
			for name, event := range k.told() {
				if event.Overlap != "" {
					have[name] = event.Overlap
				}
			}
			require.Equal(t, want, have)
		})
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	largest := `"` + strings.Repeat("x", schedule.MaxOutcomeResultBytes-2) + `"`
	tests := map[string]struct {
		completion schedule.Completion
		want       schedule.Outcome
	}{
		"no result": {schedule.Completion{Status: schedule.StatusCompleted}, schedule.Outcome{}},
		"result": {
			schedule.Completion{Status: schedule.StatusCompleted, Result: json.RawMessage(largest)},
			schedule.Outcome{Result: json.RawMessage(largest), ResultBytes: 1024},
		},
		"a larger one": {
			schedule.Completion{Status: schedule.StatusCompleted, Result: json.RawMessage(largest + " ")},
			schedule.Outcome{ResultBytes: 1025},
		},
		"failure": {
			schedule.Completion{Status: schedule.StatusFailed, Failure: &schedule.Failure{
				Type: "T", Message: strings.Repeat("m", 600), Details: json.RawMessage(`{}`),
			}},
			schedule.Outcome{Failure: &schedule.Failure{Type: "T", Message: strings.Repeat("m", 512)}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newHarness(t)
			k.running(1)
			c := test.completion
			c.RequestID, c.Attempt, c.Worker, c.StartTime, c.CloseTime = k.id(1), 3, "w", k.now, k.now
			k.transition(invoker.Input{Completions: []schedule.Completion{c}})
			start, event := k.find(1), k.told()["1 completed"]
			require.Equal(t, test.want, start.Outcome)
			require.Equal(t, test.want, event.Outcome)
			require.Equal(t, 3, start.RunAttempt)
			require.Equal(t, "w", start.Worker)
			require.Equal(t, 3, event.Attempt)
			require.Equal(t, "w", event.Worker)
			require.Equal(t, "w", wire.NewRun(&start).Worker)
		})
	}
}

// TestAnUpdateReachesWhatIsDeferred: whatever wakes the invoker after a change makes it decide anew.
func TestAnUpdateReachesWhatIsDeferred(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*wire.Definition)
		phases string
		events string
	}{
		"nothing":           {func(*wire.Definition) {}, "1 started, 2 deferred, 3 deferred", ""},
		"allow all":         {policy(schedule.OverlapAllowAll), "1 started, 2 ready, 3 ready", ""},
		"higher limit":      {limit(2), "1 started, 2 ready, 3 deferred", ""},
		"skip":              {policy(schedule.OverlapSkip), "1 started", "2 skipped, 3 skipped"},
		"buffer one":        {policy(schedule.OverlapBufferOne), "1 started, 2 deferred", "3 skipped"},
		"cancel other":      {policy(schedule.OverlapCancelOther), "1 started, 2 deferred, 3 deferred", "1 cancel_requested"},
		"terminate other":   {policy(schedule.OverlapTerminateOther), "1 started, 2 deferred, 3 deferred", "1 terminated"},
		"paused":            {paused, "1 started, 2 deferred, 3 deferred", ""},
		"paused, allow all": {func(d *wire.Definition) { paused(d); policy(schedule.OverlapAllowAll)(d) }, "1 started", "2 dropped, 3 dropped"},
		"no actions left":   {actions(0), "1 started, 2 deferred, 3 deferred", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newHarness(t, policy(schedule.OverlapBufferAll))
			k.running(1)
			k.due(2, 3)
			k.events()
			k.d.Version++
			test.change(&k.d)
			k.transition(invoker.Input{})
			require.Equal(t, test.phases, k.phases())
			require.Equal(t, test.events, k.events())
		})
	}
}

// TestPausedStartsAreDroppedWhenTheyWouldStart: a pause is not the end of what waits, only of what it would start.
func TestPausedStartsAreDroppedWhenTheyWouldStart(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapBufferAll))
	k.running(1)
	k.due(2)
	k.trigger(3, "")
	k.events()
	paused(&k.d)
	k.transition(invoker.Input{})
	require.Equal(t, "1 started, 2 deferred, 3 deferred", k.phases())
	k.d.Schedule.State.Paused = false
	k.transition(invoker.Input{})
	require.Equal(t, "1 started, 2 deferred, 3 deferred", k.phases(), "unpaused in time")
	paused(&k.d)
	k.complete(1, schedule.StatusCompleted)
	require.Equal(t, "1 completed, 3 ready", k.phases())
	require.Equal(t, "1 completed, 2 dropped", k.events())
}

func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapAllowAll))
	seconds := make([]int, 3*invoker.RoundLimit)
	for i := range seconds {
		seconds[i] = i + 1
	}
	k.backfill("b", true, "", seconds...)
	k.due(500)
	work := invoker.WorkOf(&k.state, k.now)
	require.Len(t, work.Starts, invoker.RoundLimit)
	require.Equal(t, second(500), work.Starts[0].Nominal, "the automated one does not wait for those before it")
	require.Equal(t, second(1), work.Starts[1].Nominal)
	for range 4 {
		k.work(invoker.Accepted)
	}
	require.EqualValues(t, len(seconds)+1, k.state.Counters.Actions)

	k.now = k.now.Add(time.Second)
	var ended []schedule.Completion
	for _, s := range k.state.Starts {
		ended = append(ended, schedule.Completion{RequestID: s.RequestID, Status: schedule.StatusTimedOut})
	}
	k.transition(invoker.Input{Completions: ended})
	require.Len(t, k.state.Controls, len(seconds)+1)
	require.Len(t, invoker.WorkOf(&k.state, k.now).Controls, invoker.RoundLimit)
	for range 4 {
		k.work(invoker.Accepted)
	}
	require.Empty(t, k.state.Controls)
}

// TestWhatIsToBeTerminatedIsNotStarted: however long the delivery takes.
func TestWhatIsToBeTerminatedIsNotStarted(t *testing.T) {
	t.Parallel()
	k := newHarness(t, policy(schedule.OverlapTerminateOther))
	k.due(1)
	k.due(2)
	require.Empty(t, invoker.WorkOf(&k.state, k.now).Starts)
	k.apply(invoker.Report{})
	require.False(t, k.last.Changed)
	require.Equal(t, k.now.Add(time.Second), invoker.RetryAt(&k.state, k.now))
	k.work(invoker.Accepted)
	require.Equal(t, "1 completed, 2 ready", k.phases())
}
