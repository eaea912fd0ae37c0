package backup

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

var due = epoch.Add(time.Minute)

// settled is what a backup has of a schedule with one run. All of it is consistent.
func settled(t *testing.T) *known {
	t.Helper()
	d := wire.Definition{Namespace: "default", ID: "a", Incarnation: "i", Version: 3, CreateTime: epoch}
	d.Schedule.Spec.Intervals = []schedule.Interval{{Every: schedule.Duration(time.Second)}}
	d.Schedule.Action.TaskQueue = "q"
	spec, err := specproc.Compile(d.Schedule.Spec)
	require.NoError(t, err)
	return &known{
		Definition: d, Spec: spec,
		Generator: wire.GeneratorState{Incarnation: "i", Version: 3, Mark: due, HandedOff: due, LastNominal: due},
		Invoker: wire.InvokerState{
			Incarnation: "i", EventSequence: 10, Counters: wire.Counters{Actions: 5},
			Starts: []wire.BufferedStart{{
				RequestID: "r1", Phase: schedule.PhaseStarted, Attempt: 1, Source: schedule.SourceAuto, Nominal: due, Actual: due,
				TaskQueue: "q", RunID: wire.RunID("r1"), StartTime: due,
			}},
			Sources: map[string]wire.SourceProgress{schedule.SourceAuto: {Covered: []wire.Span{{From: epoch, To: due}}}},
		},
		Backfills: map[string]wire.BackfillState{}, Queued: map[string]queued{"r1": {Sequence: 7, TaskQueue: "q"}},
		Reported: map[string]bool{}, Dead: map[string]bool{},
		HandedOver: func(string, wire.Span) bool { return false },
	}
}

// event returns an event of the invoker about a start that was due a second after r1.
func event(number int, kind schedule.EventKind, requestID, source string) schedule.Event {
	return schedule.Event{
		ID: fmt.Sprintf("i-%d", number), Kind: kind, RequestID: requestID, Source: source, Manual: source != schedule.SourceAuto,
		Nominal: due.Add(time.Second), Actual: due.Add(time.Second), Time: due.Add(time.Second), TaskQueue: "q",
	}
}

func TestWhatGoesTogetherStays(t *testing.T) {
	t.Parallel()
	k := settled(t)
	p := reconcile(k)
	assert.Zero(t, p.Counts)
	assert.False(t, p.InvokerChanged || p.GeneratorChanged || p.Deleted)
	assert.Empty(t, p.Withdraw)
	assert.Equal(t, k.Invoker, p.Invoker)
}

// TestReconcile changes one thing at a time.
func TestReconcile(t *testing.T) {
	t.Parallel()
	auto := schedule.SourceAuto
	for name, c := range map[string]struct {
		change func(*known)
		want   Counts
		check  func(*testing.T, *plan)
	}{
		"a run that has ended, says an event, leaves the queue": {
			func(k *known) { k.Events = []schedule.Event{event(11, schedule.EventCompleted, "r1", auto)} },
			Counts{Completed: 1, Withdrawn: 1},
			func(t *testing.T, p *plan) {
				assert.Equal(t, schedule.PhaseCompleted, p.Invoker.Starts[0].Phase)
				assert.Equal(t, []uint64{7}, p.Withdraw)
				assert.Len(t, p.Ended, 1)
			},
		},
		"an event the record knows changes nothing": {
			func(k *known) { k.Events = []schedule.Event{event(10, schedule.EventCompleted, "r1", auto)} }, Counts{}, nil,
		},
		"nor does one of another incarnation": {
			func(k *known) {
				e := event(11, schedule.EventCompleted, "r1", auto)
				e.ID = "other-11"
				k.Events = []schedule.Event{e}
			},
			Counts{}, nil,
		},
		"a run whose completion waits leaves the queue": {
			func(k *known) { k.Reported["r1"] = true }, Counts{Withdrawn: 1},
			func(t *testing.T, p *plan) { assert.True(t, p.Invoker.Starts[0].Running(), "the completion ends it") },
		},
		"a request nobody knows any more leaves the queue": {
			func(k *known) { k.Queued["r0"] = queued{Sequence: 3} }, Counts{Withdrawn: 1},
			func(t *testing.T, p *plan) { assert.Equal(t, []uint64{3}, p.Withdraw) },
		},
		"a run that began after the requests were copied begins again, and is told of once": {
			func(k *known) {
				k.Events = []schedule.Event{event(11, schedule.EventDeferred, "r2", auto), event(12, schedule.EventStarted, "r2", auto)}
			},
			Counts{Deferred: 1, Started: 1, Requeued: 1},
			func(t *testing.T, p *plan) {
				assert.Equal(t, schedule.PhaseReady, p.Invoker.Starts[1].Phase)
				assert.Equal(t, []string{"i-12"}, p.Forget)
				assert.EqualValues(t, 5, p.Invoker.Counters.Actions)
				assert.EqualValues(t, 12, p.Invoker.EventSequence)
			},
		},
		"one that is a dead letter does not": {
			func(k *known) { k.Queued, k.Dead["r1"] = nil, true }, Counts{}, nil,
		},
		"a start that waits, and whose request is queued, has been chosen": {
			func(k *known) {
				k.Events = []schedule.Event{event(11, schedule.EventDeferred, "r2", auto)}
				k.Queued["r2"] = queued{Sequence: 8, TaskQueue: "other"}
			},
			Counts{Deferred: 1},
			func(t *testing.T, p *plan) {
				assert.Equal(t, schedule.PhaseReady, p.Invoker.Starts[1].Phase)
				assert.Equal(t, "other", p.Invoker.Starts[1].TaskQueue)
				assert.Empty(t, p.Withdraw)
			},
		},
		"so has one whose completion waits": {
			func(k *known) {
				k.Events = []schedule.Event{event(11, schedule.EventDeferred, "r2", auto)}
				k.Reported["r2"] = true
			},
			Counts{Deferred: 1},
			func(t *testing.T, p *plan) { assert.Equal(t, schedule.PhaseReady, p.Invoker.Starts[1].Phase) },
		},
		"so has one of a hand-off that waits, of which no event tells": {
			func(k *known) {
				start := wire.BufferedStart{RequestID: "r2", Source: auto, Nominal: due, Actual: due.Add(time.Second), Trace: "t"}
				k.Arriving = []wire.Enqueue{
					{Incarnation: "i", Source: auto, Starts: []wire.BufferedStart{start, {RequestID: "r3", Source: auto, Actual: due.Add(time.Second)}}},
					{Incarnation: "before", Source: auto, Starts: []wire.BufferedStart{{RequestID: "r4", Source: auto, Actual: due.Add(time.Second)}}},
				}
				k.Reported["r2"], k.Reported["r4"] = true, true
			},
			Counts{},
			func(t *testing.T, p *plan) {
				require.Len(t, p.Invoker.Starts, 2, "the hand-off brings the third, of which nothing is known")
				assert.Equal(t, schedule.PhaseReady, p.Invoker.Starts[1].Phase)
				assert.Equal(t, "t", p.Invoker.Starts[1].Trace)
			},
		},
		"a start of a trigger that is not in the backup is forgotten": {
			func(k *known) {
				k.Events = []schedule.Event{
					{ID: "i-triggered-b", Kind: schedule.EventTriggered, Source: "b"}, event(11, schedule.EventDeferred, "r2", "b"),
				}
			},
			Counts{Deferred: 1, Forgotten: 1},
			func(t *testing.T, p *plan) {
				assert.Len(t, p.Invoker.Starts, 1)
				assert.Equal(t, []string{"i-triggered-b", "i-11"}, p.Forget)
			},
		},
		"one of a trigger that is keeps what it replaces": {
			func(k *known) {
				k.Backfills["b"] = wire.BackfillState{
					ID: "b", Incarnation: "i", RequestTime: due.Add(time.Second),
					Trigger: &schedule.Trigger{Input: []byte("1"), Overlap: schedule.OverlapBufferAll},
				}
				k.Events = []schedule.Event{event(11, schedule.EventDeferred, "r2", "b")}
			},
			Counts{Deferred: 1},
			func(t *testing.T, p *plan) {
				assert.True(t, p.Invoker.Starts[1].Overridden)
				assert.Equal(t, schedule.OverlapBufferAll, p.Invoker.Starts[1].Overlap)
				at := due.Add(time.Second)
				assert.Equal(t, []wire.Span{{From: at.Add(-1), To: at}}, p.Invoker.Sources["b"].Covered,
					"the backfiller makes the hand-off again, and nothing comes of it")
			},
		},
		"a hand-off that is nowhere is made again": {
			func(k *known) { k.Generator.HandedOff = due.Add(time.Second) }, Counts{HandOffs: 1},
			func(t *testing.T, p *plan) {
				assert.Equal(t, due, p.Generator.HandedOff)
				assert.Equal(t, due, p.Generator.Mark)
				assert.Equal(t, due, p.Generator.LastNominal)
			},
		},
		"one that waits is not": {
			func(k *known) {
				k.Generator.HandedOff = due.Add(time.Second)
				k.HandedOver = func(source string, span wire.Span) bool {
					return source == auto && span == wire.Span{From: due, To: due.Add(time.Second)}
				}
			},
			Counts{}, nil,
		},
		"a batch of a backfill that is nowhere is made again": {
			func(k *known) {
				k.Backfills["b"] = wire.BackfillState{
					ID: "b", Incarnation: "i", Range: &schedule.BackfillRange{Start: epoch, End: due}, Handed: 9, Done: true,
					Mark: epoch.Add(8 * time.Second),
				}
				k.Invoker.Sources["b"] = wire.SourceProgress{Covered: []wire.Span{{From: epoch.Add(-1), To: epoch.Add(3 * time.Second)}}}
			},
			Counts{HandOffs: 1},
			func(t *testing.T, p *plan) {
				assert.Equal(t, epoch.Add(3*time.Second), p.Backfills[0].Mark)
				assert.Equal(t, 4, p.Backfills[0].Handed)
				assert.False(t, p.Backfills[0].Done)
			},
		},
		"so is the hand-off of a trigger": {
			func(k *known) {
				k.Backfills["b"] = wire.BackfillState{
					ID: "b", Incarnation: "i", Trigger: &schedule.Trigger{}, RequestTime: due, Mark: due, Handed: 1, Done: true,
				}
			},
			Counts{HandOffs: 1},
			func(t *testing.T, p *plan) {
				assert.Zero(t, p.Backfills[0].Mark)
				assert.False(t, p.Backfills[0].Done)
			},
		},
		"a schedule that was deleted goes": {
			func(k *known) { k.Events = []schedule.Event{{ID: "i-deleted-4", Kind: schedule.EventDeleted}} }, Counts{Deleted: 1},
			func(t *testing.T, p *plan) { assert.True(t, p.Deleted) },
		},
		"an earlier one of its ID does not matter": {
			func(k *known) { k.Events = []schedule.Event{{ID: "h-deleted-4", Kind: schedule.EventDeleted}} }, Counts{}, nil,
		},
		"pause on failure pauses": {
			func(k *known) {
				failed := event(11, schedule.EventCompleted, "r1", auto)
				failed.Status = schedule.StatusFailed
				paused := schedule.Event{ID: "i-12", Kind: schedule.EventPaused, RequestID: "r1", Source: auto, Reason: "paused on failure: …"}
				k.Events = []schedule.Event{paused, failed}
			},
			Counts{Completed: 1, Withdrawn: 1, Paused: 1},
			func(t *testing.T, p *plan) {
				assert.True(t, p.Paused.Schedule.State.Paused)
				assert.EqualValues(t, 4, p.Paused.Version)
				assert.Equal(t, "paused on failure: …", p.Paused.Schedule.State.Notes)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := settled(t)
			c.change(k)
			p := reconcile(k)
			assert.Equal(t, c.want, p.Counts)
			if c.check != nil {
				c.check(t, &p)
			}
		})
	}
}

// TestUnseenChanges are changes whose events are stored, and which no record of the backup has.
func TestUnseenChanges(t *testing.T) {
	t.Parallel()
	k := settled(t)
	k.Backfills["known"] = wire.BackfillState{ID: "known", Incarnation: "i", Trigger: &schedule.Trigger{}}
	k.Definition.Requests = []wire.BackfillState{{ID: "asked"}}
	k.Events = []schedule.Event{
		{ID: "i-updated-3", Kind: schedule.EventUpdated},
		{ID: "i-paused-4", Kind: schedule.EventPaused, Identity: "ann"},
		{ID: "i-paused-4", Kind: schedule.EventPaused, Identity: "ann"}, // stored twice
		{ID: "i-triggered-known", Kind: schedule.EventTriggered, Source: "known"},
		{ID: "i-triggered-asked", Kind: schedule.EventTriggered, Source: "asked"},
		{ID: "i-triggered-done", Kind: schedule.EventTriggered, Source: "done"},
		event(9, schedule.EventStarted, "r0", "done"),
		{ID: "i-triggered-late", Kind: schedule.EventTriggered, Source: "late", Identity: "bob"},
	}
	var p plan
	lost := unseen(k, &p)
	assert.Equal(t, []Lost{
		{Kind: schedule.EventPaused, Identity: "ann"}, {Kind: schedule.EventTriggered, Identity: "bob"},
	}, lost)
	assert.Equal(t, []string{"i-paused-4", "i-paused-4", "i-triggered-late"}, p.Forget)
}

// TestReconcileWorkflows: what the invoker finds in a record decides whom it asks about a run.
func TestReconcileWorkflows(t *testing.T) {
	t.Parallel()
	k := settled(t)
	k.Definition.Schedule.Action.Kind = schedule.ActionWorkflow
	k.Invoker.Starts[0].ActionKind = schedule.ActionWorkflow
	k.Queued = nil
	k.Invoker.Starts = append(k.Invoker.Starts, wire.BufferedStart{RequestID: "r2", Phase: schedule.PhaseDeferred, Source: schedule.SourceAuto})
	k.Reported["r2"] = true
	asked := event(11, schedule.EventTerminated, "r3", schedule.SourceAuto)
	asked.ActionKind = schedule.ActionWorkflow
	k.Events = []schedule.Event{asked}
	p := reconcile(k)
	require.Len(t, p.Invoker.Starts, 3)
	for _, start := range p.Invoker.Starts {
		assert.Equal(t, schedule.PhaseReady, start.Phase, "%s is looked up", start.RequestID)
		assert.Equal(t, schedule.ActionWorkflow, start.ActionKind, start.RequestID)
	}
	assert.Equal(t, schedule.ActionWorkflow, p.Invoker.Controls[0].ActionKind)
	assert.Equal(t, 1, p.Counts.Requeued)
}
