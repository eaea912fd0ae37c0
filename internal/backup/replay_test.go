package backup

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

var epoch = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// TestEventsBringARecordForward drives the invoker's own functions through random histories. The record of any moment, with the
// events since, gives the record of a later moment: what waits, what runs and what has ended, and the counters. A generator of
// the earlier moment that hands over everything since again adds nothing.
func TestEventsBringARecordForward(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		for range rapid.IntRange(1, 30).Draw(t, "before") {
			h.step(t)
		}
		early := *h
		h.events = nil
		for range rapid.IntRange(0, 30).Draw(t, "since") {
			h.step(t)
		}
		p := reconcile(h.known(early.state))
		untold := h.untold(&early)
		requireSame(t, h, &p.Invoker, untold)
		requireNothingNew(t, h, &early, &p.Invoker, untold)
	})
}

// history is what happens to one schedule.
type history struct {
	definition wire.Definition
	state      wire.InvokerState
	events     []schedule.Event
	now        time.Time
	// handOffs are all hand-offs that were made; each has the counts that a repeat of it would have.
	handOffs []wire.Enqueue
	nominals int
}

func newHistory(t *rapid.T) *history {
	d := wire.Definition{Namespace: "default", ID: "a", Incarnation: "i", Version: 3, LimitVersion: 3, CreateTime: epoch}
	d.Schedule.Action.TaskQueue = "q"
	d.Schedule.Policies.Overlap = rapid.SampledFrom([]schedule.OverlapPolicy{
		schedule.OverlapSkip, schedule.OverlapBufferOne, schedule.OverlapBufferAll, schedule.OverlapCancelOther,
		schedule.OverlapTerminateOther, schedule.OverlapAllowAll,
	}).Draw(t, "policy")
	d.Schedule.Policies.ConcurrencyLimit = rapid.IntRange(1, 3).Draw(t, "concurrency")
	if rapid.Bool().Draw(t, "limited") {
		d.Schedule.State.LimitedActions, d.Schedule.State.RemainingActions = true, rapid.IntRange(0, 20).Draw(t, "remaining")
	}
	return &history{definition: d, now: epoch}
}

func (h *history) step(t *rapid.T) {
	h.now = h.now.Add(time.Second)
	switch rapid.SampledFrom([]string{"due", "due", "execute", "execute", "complete"}).Draw(t, "step") {
	case "due":
		h.due(t)
	case "execute":
		h.execute(t)
	case "complete":
		h.complete(t)
	}
}

func (h *history) keep(out invoker.Decision) {
	h.events = append(h.events, out.State.Outbox...)
	h.state = out.State
	h.state.Outbox = nil
}

// due hands over what has become due since the last hand-off.
func (h *history) due(t *rapid.T) {
	from := epoch
	if n := len(h.handOffs); n > 0 {
		from = h.handOffs[n-1].To
	}
	e := wire.Enqueue{
		Incarnation: "i", Version: 3, Source: schedule.SourceAuto, Span: wire.Span{From: from, To: h.now},
		Missed: rapid.IntRange(0, 2).Draw(t, "missed"),
	}
	if e.Missed > 0 {
		e.MissedSpan = wire.Span{From: from.Add(time.Millisecond), To: from.Add(2 * time.Millisecond)}
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "starts") {
		h.nominals++
		at := h.now.Add(time.Duration(i-5) * time.Millisecond)
		start := wire.NewStart(&h.definition, schedule.SourceAuto, at, at)
		start.Skip = rapid.IntRange(0, 9).Draw(t, "skip") == 0
		e.Starts = append(e.Starts, start)
	}
	if e.Missed == 0 && len(e.Starts) == 0 {
		return
	}
	h.handOffs = append(h.handOffs, e)
	h.keep(invoker.Transition(&h.definition, h.state, invoker.Input{Enqueues: []invoker.Traced[wire.Enqueue]{{Body: e}}}, h.now))
}

// refused is why a start is not accepted.
const refused = "refused"

// execute does some of the pending work.
func (h *history) execute(t *rapid.T) {
	work := invoker.WorkOf(&h.state, h.now)
	var report invoker.Report
	for _, s := range work.Starts {
		result := rapid.SampledFrom([]invoker.Result{invoker.Accepted, invoker.Accepted, invoker.Refused, invoker.Failed}).Draw(t, "result")
		report.Starts = append(report.Starts, invoker.StartReport{RequestID: s.RequestID, Result: result, Reason: refused, At: h.now})
	}
	if rapid.Bool().Draw(t, "delivered") {
		report.Delivered = work.Controls
	}
	h.keep(invoker.Apply(&h.definition, h.state, report, invoker.Bounds{}, h.now))
}

// complete ends a run.
func (h *history) complete(t *rapid.T) {
	var running []string
	for i := range h.state.Starts {
		if h.state.Starts[i].Running() {
			running = append(running, h.state.Starts[i].RequestID)
		}
	}
	if len(running) == 0 {
		return
	}
	c := schedule.Completion{RequestID: rapid.SampledFrom(running).Draw(t, "run"), CloseTime: h.now, Status: schedule.StatusCompleted}
	h.keep(invoker.Transition(&h.definition, h.state, invoker.Input{Completions: []schedule.Completion{c}}, h.now))
}

// known returns what a backup has if its records are from an earlier moment and its other streams from this one. The events come
// in any order, and some of them twice. In the worst case all hand-offs are still waiting.
func (h *history) known(early wire.InvokerState) *known {
	k := &known{
		Definition: h.definition, Invoker: early, Events: slices.Clone(h.events), Queued: map[string]queued{},
		Arriving: h.handOffs, HandedOver: func(string, wire.Span) bool { return false },
	}
	slices.Reverse(k.Events)
	k.Events = append(k.Events, h.events...)
	for i := range h.state.Starts {
		if s := &h.state.Starts[i]; s.Running() {
			k.Queued[s.RequestID] = queued{Sequence: uint64(i + 1), TaskQueue: "q"}
		}
	}
	return k
}

// untold returns the starts that have been chosen since an earlier moment and that no event reports. Their hand-offs still wait,
// and bring them again.
func (h *history) untold(early *history) map[string]bool {
	untold := map[string]bool{}
	for i := range h.state.Starts {
		if s := &h.state.Starts[i]; s.Phase == schedule.PhaseReady {
			untold[s.RequestID] = find(&early.state, s.RequestID) == nil
		}
	}
	for i := range h.events {
		delete(untold, h.events[i].RequestID)
	}
	maps.DeleteFunc(untold, func(_ string, is bool) bool { return !is })
	return untold
}

// requireSame compares a record that was brought forward with the real one.
func requireSame(t *rapid.T, h *history, have *wire.InvokerState, untold map[string]bool) {
	require.Equal(t, h.state.Counters, have.Counters)
	require.Equal(t, h.state.EventSequence, have.EventSequence)
	require.ElementsMatch(t, phases(&h.state, untold), phases(have, nil))
	chosen := 0
	for i := range h.state.Starts {
		if s := &h.state.Starts[i]; s.Phase == schedule.PhaseReady && s.Attempt == 1 {
			chosen++
		}
	}
	for i := range h.events {
		if h.events[i].Kind == schedule.EventDropped && h.events[i].Reason == refused {
			chosen++
		}
	}
	// No event reports that a start has been chosen before it is executed. If it was not executed, it is chosen again. If it was
	// refused, it takes none of the remaining actions, so that no more are started than the limit allows.
	require.LessOrEqual(t, have.LimitUsed, h.state.LimitUsed)
	require.GreaterOrEqual(t, have.LimitUsed, h.state.LimitUsed-chosen)
	for _, control := range h.state.Controls {
		if s := find(have, control.RequestID); s != nil && s.Phase != schedule.PhaseCompleted {
			require.Contains(t, have.Controls, control)
		}
	}
}

// phases returns for each start that has not ended whether it waits or runs.
func phases(state *wire.InvokerState, but map[string]bool) []string {
	var all []string
	for i := range state.Starts {
		if s := &state.Starts[i]; s.Phase != schedule.PhaseCompleted && !but[s.RequestID] {
			all = append(all, fmt.Sprint(s.RequestID, " running: ", s.Running(), " ending: ", s.Running() && s.Ending != ""))
		}
	}
	return all
}

func find(state *wire.InvokerState, requestID string) *wire.BufferedStart {
	for i := range state.Starts {
		if state.Starts[i].RequestID == requestID {
			return &state.Starts[i]
		}
	}
	return nil
}

// requireNothingNew makes the hand-off of a generator of the earlier moment, all in one. It brings what no event has reported,
// and nothing else.
func requireNothingNew(t *rapid.T, h, early *history, state *wire.InvokerState, untold map[string]bool) {
	since := h.handOffs[len(early.handOffs):]
	if len(since) == 0 {
		return
	}
	again := since[0]
	again.Starts = slices.Clone(again.Starts)
	for _, e := range since[1:] {
		again.To = e.To
		again.Missed += e.Missed
		again.Starts = append(again.Starts, e.Starts...)
	}
	before := state.Counters
	out := invoker.Transition(&h.definition, *state, invoker.Input{Enqueues: []invoker.Traced[wire.Enqueue]{{Body: again}}}, h.now)
	for _, e := range out.State.Outbox {
		if (e.Kind == schedule.EventDeferred || e.Kind == schedule.EventStarted) && find(state, e.RequestID) == nil {
			require.True(t, untold[e.RequestID], e.RequestID)
		}
		require.Zero(t, e.Count)
	}
	require.Equal(t, before.MissedCatchup, out.State.Counters.MissedCatchup)
	require.Equal(t, before.SkippedOnRequest, out.State.Counters.SkippedOnRequest)
	require.Len(t, out.State.Sources[schedule.SourceAuto].Covered, 1)
}
