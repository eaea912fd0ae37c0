package invoker_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

var origin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func second(n int) time.Time { return origin.Add(time.Duration(n) * time.Second) }

// harness calls the pure functions of the invoker by hand. Starts go by the second, counted from origin, at which they are due.
type harness struct {
	t     require.TestingT
	d     wire.Definition
	state wire.InvokerState
	now   time.Time
	// handed is the end of the last hand-off of each source.
	handed map[string]time.Time
	// news are the events since they were last looked at, seen the IDs of all.
	news []schedule.Event
	seen map[string]bool
	last invoker.Decision
	// bounds are what the namespace allows, ask answers who asks for room.
	bounds invoker.Bounds
	ask    func(starts int) *invoker.Room
}

func newHarness(t require.TestingT, changes ...func(*wire.Definition)) *harness {
	d := &harness{
		t: t, now: origin, handed: map[string]time.Time{}, seen: map[string]bool{},
		d: wire.Definition{
			Namespace: "default", ID: "nightly", Incarnation: "inc", CreateTime: origin, Version: 1, LimitVersion: 1,
			Schedule: schedule.Schedule{Action: schedule.Action{Type: "record", TaskQueue: "q"}},
		},
	}
	for _, change := range changes {
		change(&d.d)
	}
	return d
}

func policy(p schedule.OverlapPolicy) func(*wire.Definition) {
	return func(d *wire.Definition) { d.Schedule.Policies.Overlap = p }
}

func limit(n int) func(*wire.Definition) {
	return func(d *wire.Definition) { d.Schedule.Policies.ConcurrencyLimit = n }
}

func catchup(w time.Duration) func(*wire.Definition) {
	return func(d *wire.Definition) { d.Schedule.Policies.CatchupWindow = schedule.Duration(w) }
}

func pauseOnFailure(d *wire.Definition) { d.Schedule.Policies.PauseOnFailure = true }

func paused(d *wire.Definition) { d.Schedule.State.Paused = true }

func actions(n int) func(*wire.Definition) {
	return func(d *wire.Definition) {
		d.Schedule.State.LimitedActions, d.Schedule.State.RemainingActions = true, n
	}
}

func (k *harness) start(source string, n int, overlap schedule.OverlapPolicy) wire.BufferedStart {
	s := wire.NewStart(&k.d, source, second(n), second(n))
	s.Overlap = overlap
	return s
}

func (k *harness) id(n int) string { return k.start(schedule.SourceAuto, n, "").RequestID }

// handOff is the next one of a source, up to the last of the seconds; without any, the empty one by which a source makes
// itself known.
func (k *harness) handOff(source string, overlap schedule.OverlapPolicy, seconds ...int) wire.Enqueue {
	from, ok := k.handed[source]
	if !ok {
		from = second(-1000)
	}
	e := wire.Enqueue{
		Incarnation: k.d.Incarnation, Version: k.d.Version, Source: source,
		Span: wire.Span{From: from, To: from},
	}
	for _, n := range seconds {
		e.To = second(n)
		e.Starts = append(e.Starts, k.start(source, n, overlap))
	}
	k.handed[source] = e.To
	return e
}

func traced(hands ...wire.Enqueue) invoker.Input {
	var in invoker.Input
	for _, e := range hands {
		in.Enqueues = append(in.Enqueues, invoker.Traced[wire.Enqueue]{Body: e, Trace: "trace-of-" + e.Source})
	}
	return in
}

// due hands over automated starts, under the schedule's policy.
func (k *harness) due(seconds ...int) { k.dueUnder("", seconds...) }

func (k *harness) dueUnder(overlap schedule.OverlapPolicy, seconds ...int) {
	k.transition(traced(k.handOff(schedule.SourceAuto, overlap, seconds...)))
}

// trigger hands over one manual start.
func (k *harness) trigger(n int, overlap schedule.OverlapPolicy) {
	k.transition(traced(k.handOff("b"+strconv.Itoa(n), overlap, n)))
}

func (k *harness) complete(n int, status schedule.Status) {
	k.transition(invoker.Input{Completions: []schedule.Completion{k.completion(n, status)}})
}

func (k *harness) completion(n int, status schedule.Status) schedule.Completion {
	c := schedule.Completion{RequestID: k.find(n).RequestID, Status: status, CloseTime: k.now}
	if status != schedule.StatusCompleted {
		c.Failure = &schedule.Failure{Message: "boom"}
	}
	return c
}

func (k *harness) transition(in invoker.Input) {
	in.Bounds = k.bounds
	if asks := invoker.Transition(&k.d, k.state, in, k.now).Asks; asks > 0 {
		in.Bounds.Room = k.ask(asks)
	}
	k.pure(func(state wire.InvokerState) invoker.Decision { return invoker.Transition(&k.d, state, in, k.now) })
}

// work executes everything there is, with one result.
func (k *harness) work(result invoker.Result) {
	work := invoker.WorkOf(&k.state, k.now)
	report := invoker.Report{Delivered: slices.Clone(work.Controls)}
	for _, s := range work.Starts {
		report.Starts = append(report.Starts, invoker.StartReport{RequestID: s.RequestID, Result: result, Reason: "why", At: k.now})
	}
	k.apply(report)
}

func (k *harness) apply(report invoker.Report) {
	k.pure(func(state wire.InvokerState) invoker.Decision {
		return invoker.Apply(&k.d, state, report, k.bounds, k.now)
	})
}

// pure makes a step twice and checks that it gives the same twice, leaves its input alone, and what holds of any outcome.
func (k *harness) pure(step func(wire.InvokerState) invoker.Decision) {
	before := dump(k.state)
	out := step(k.state)
	require.Equal(k.t, before, dump(k.state), "the input has been changed")
	require.Equal(k.t, dump(out), dump(step(k.state)), "the same input, another outcome")
	if !out.Changed {
		require.Empty(k.t, out.State.Outbox, "events nobody writes")
		require.Equal(k.t, dump(known(&out.State)), dump(known(&k.state)), "changes nobody writes")
		require.Equal(k.t, out.State.Counters, k.state.Counters)
	}
	k.checkRecord(&out.State)
	for _, e := range out.State.Outbox {
		require.False(k.t, k.seen[e.ID], "event %s twice", e.ID)
		require.Equal(k.t, "nightly", e.ScheduleID)
		require.Equal(k.t, k.now, e.Time)
		k.seen[e.ID] = true
	}
	k.news = append(k.news, out.State.Outbox...)
	k.last, k.state = out, out.State
	k.state.Outbox = nil // published
}

// checkRecord checks what holds of any record, also after it has been stored.
func (k *harness) checkRecord(state *wire.InvokerState) {
	data, err := codec.Marshal(state)
	require.NoError(k.t, err)
	var stored wire.InvokerState
	require.NoError(k.t, codec.Unmarshal(data, &stored))
	require.Equal(k.t, dump(state), dump(&stored))
	for source, progress := range state.Sources {
		for i, span := range progress.Covered {
			require.False(k.t, span.To.Before(span.From), source)
			require.True(k.t, i == 0 || progress.Covered[i-1].To.Before(span.From), "%s: %v", source, progress.Covered)
		}
	}
	ids := map[string]bool{}
	for _, s := range known(state) {
		require.False(k.t, ids[s.RequestID], "%s twice", s.RequestID)
		ids[s.RequestID] = true
		require.True(k.t, s.Phase != schedule.PhasePending || s.Delayed(), "a transition decides about every start")
	}
	require.False(k.t, slices.ContainsFunc(state.Starts, func(s wire.BufferedStart) bool {
		return s.Phase == schedule.PhaseCompleted
	}), "a run that has ended leaves the buffer")
	require.LessOrEqual(k.t, state.Ended.Len(), invoker.RecentLimit)
	for _, s := range invoker.WorkOf(state, k.now).Starts {
		require.Equal(k.t, schedule.PhaseReady, s.Phase)
		require.False(k.t, s.BackoffUntil.After(k.now))
	}
}

func dump(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// known lists the starts that a record knows of: those of the runs that ended last, as far as it keeps them, and the buffer.
func known(state *wire.InvokerState) []wire.BufferedStart {
	var starts []wire.BufferedStart
	for _, run := range state.Ended.Runs() {
		starts = append(starts, wire.BufferedStart{
			RequestID: run.RequestID, WorkflowID: run.WorkflowID, RunID: run.RunID, Nominal: run.NominalTime, Actual: run.DueTime,
			StartTime: run.StartTime, CodeTime: run.CodeTime, CloseTime: run.CloseTime, Status: run.Status, Manual: run.Manual,
			Source: run.Source, TaskQueue: run.TaskQueue, Identity: run.Identity, RunAttempt: run.Attempt, Worker: run.Worker,
			Outcome: run.Outcome, Phase: schedule.PhaseCompleted,
		})
	}
	return append(starts, state.Starts...)
}

// find returns the start of a second, of whatever source.
func (k *harness) find(n int) wire.BufferedStart {
	for _, s := range known(&k.state) {
		if s.Nominal.Equal(second(n)) {
			return s
		}
	}
	return wire.BufferedStart{RequestID: "no such start"}
}

// phases lists the starts as "3 ready".
func (k *harness) phases() string {
	var all []string
	for _, s := range known(&k.state) {
		all = append(all, fmt.Sprintf("%d %s", number(s.Nominal), s.Phase))
	}
	return strings.Join(all, ", ")
}

// events lists what has happened since the last call as "3 started".
func (k *harness) events() string {
	var all []string
	for _, e := range k.news {
		text := string(e.Kind)
		if !e.Nominal.IsZero() {
			text = fmt.Sprintf("%d %s", number(e.Nominal), e.Kind)
		}
		if e.Count > 1 || e.Count == 1 && e.RequestID == "" {
			text += fmt.Sprintf(" x%d", e.Count)
		}
		all = append(all, text)
	}
	k.news = nil
	return strings.Join(all, ", ")
}

func number(t time.Time) int { return int(t.Sub(origin) / time.Second) }

// running brings automated starts to the phase started, whatever else there is.
func (k *harness) running(seconds ...int) {
	k.due(seconds...)
	k.work(invoker.Accepted)
	for _, n := range seconds {
		require.Equal(k.t, schedule.PhaseStarted, k.find(n).Phase)
	}
	k.events()
}
