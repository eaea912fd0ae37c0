package schedules

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

// hourly is a plain definition.
func hourly(changes ...func(*wire.Definition)) *wire.Definition {
	def := &wire.Definition{
		Namespace: "default", ID: "nightly", Incarnation: "i1", Version: 4, CreateTime: noon,
		Schedule: schedule.Schedule{
			Spec:   schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Hour)}}},
			Action: schedule.Action{Type: "http", TaskQueue: "q"},
		},
	}
	for _, change := range changes {
		change(def)
	}
	return def
}

func startOf(id string, phase schedule.Phase, changes ...func(*wire.BufferedStart)) wire.BufferedStart {
	s := wire.BufferedStart{RequestID: id, WorkflowID: "w-" + id, RunID: "r-" + id, Phase: phase, TaskQueue: "q"}
	if phase == schedule.PhaseStarted {
		s.StartTime = noon.Add(time.Minute)
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// TestReasons checks the words too, because people read them.
func TestReasons(t *testing.T) {
	t.Parallel()
	minutes := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	starts := func(starts ...wire.BufferedStart) records {
		return records{invoker: wire.InvokerState{Incarnation: "i1", Starts: starts}}
	}
	retrying := func(attempt, at int) func(*wire.BufferedStart) {
		return func(s *wire.BufferedStart) { s.Attempt, s.BackoffUntil = attempt, minutes(at) }
	}
	delayedBy := func(reason schedule.DelayReason) func(*wire.BufferedStart) {
		return func(s *wire.BufferedStart) { s.Delay = &schedule.Delay{By: reason} }
	}
	policy := func(p schedule.OverlapPolicy) func(*wire.BufferedStart) {
		return func(s *wire.BufferedStart) { s.Overlap = p }
	}
	queue := func(s taskqueue.Status) surroundings {
		return surroundings{queues: map[string]taskqueue.Status{"q": s}}
	}
	event := func(kind schedule.EventKind, at int, reason string) *schedule.Event {
		return &schedule.Event{Kind: kind, Time: minutes(at), Reason: reason, TaskQueue: "q"}
	}
	paused := func(d *wire.Definition) {
		d.Schedule.State = schedule.State{Paused: true, Notes: "year-end\nclosing"}
		d.PausedBy, d.PauseTime = "ann@desk", minutes(5)
	}
	for _, test := range []struct {
		name   string
		def    *wire.Definition
		all    records
		around surroundings
		want   []schedule.Notice
	}{
		{"nothing to say", hourly(), records{}, surroundings{}, nil},
		{
			"paused", hourly(paused), records{}, surroundings{},
			[]schedule.Notice{{Code: "paused", Message: "paused by ann@desk at 2026-03-01T12:05:00Z: year-end closing"}},
		},
		{
			"paused, nobody knows why", hourly(func(d *wire.Definition) { d.Schedule.State.Paused = true }), records{},
			surroundings{}, []schedule.Notice{{Code: "paused", Message: "paused"}},
		},
		{
			"empty spec", hourly(func(d *wire.Definition) { d.Schedule.Spec = schedule.Spec{} }), records{}, surroundings{},
			[]schedule.Notice{{Code: "no_times", Message: "the spec has no times: the schedule runs only when triggered"}},
		},
		{
			"never due", hourly(), records{},
			surroundings{warnings: []prose.Warning{{Code: prose.WarnNeverDue, Text: "no time matches."}}},
			[]schedule.Notice{{Code: "no_times", Message: "the schedule runs only when triggered: no time matches."}},
		},
		{
			"over", hourly(),
			records{generator: wire.GeneratorState{LastNominal: minutes(1), IdleDeadline: minutes(60)}},
			surroundings{warnings: []prose.Warning{{Code: prose.WarnNoTimeLeft}}},
			[]schedule.Notice{{
				Code: "exhausted", Message: "no time is to come, the last was 2026-03-01T12:01:00Z; " +
					"the schedule closes at 2026-03-01T13:00:00Z unless it is changed",
			}},
		},
		{
			"over before it began", hourly(), records{},
			surroundings{warnings: []prose.Warning{{Code: prose.WarnNoTimeLeft}}},
			[]schedule.Notice{{Code: "exhausted", Message: "no time is to come"}},
		},
		{
			"no actions left", hourly(func(d *wire.Definition) {
				d.LimitVersion, d.Schedule.State = 2, schedule.State{LimitedActions: true, RemainingActions: 3}
			}),
			records{
				generator: wire.GeneratorState{IdleDeadline: minutes(60)},
				invoker:   wire.InvokerState{Incarnation: "i1", LimitVersion: 2, LimitUsed: 3},
			}, surroundings{},
			[]schedule.Notice{{
				Code: "no_actions_left", Message: "actions are limited, and none is left; " +
					"the schedule closes at 2026-03-01T13:00:00Z unless it is changed",
			}},
		},
		{
			"one waits", hourly(), starts(startOf("a", schedule.PhaseStarted), startOf("b", schedule.PhaseDeferred)), surroundings{},
			[]schedule.Notice{{
				Code: "waiting_for_overlap", Message: "1 start waits for run r-a of w-a, in progress since " +
					"2026-03-01T12:01:00Z: overlap policy skip",
			}},
		},
		{
			"several wait for one that is to end",
			hourly(func(d *wire.Definition) { d.Schedule.Policies.Overlap = schedule.OverlapCancelOther }),
			starts(
				startOf("a", schedule.PhaseStarted, func(s *wire.BufferedStart) { s.StartTime = minutes(3) }),
				startOf("b", schedule.PhaseStarted, func(s *wire.BufferedStart) { s.Ending = schedule.ControlCancel }),
				startOf("c", schedule.PhasePending), startOf("d", schedule.PhaseDeferred, policy(schedule.OverlapBufferAll)),
				startOf("e", schedule.PhaseDeferred),
			), surroundings{},
			[]schedule.Notice{{
				Code: "waiting_for_overlap", Message: "3 starts wait for run r-b of w-b, in progress since " +
					"2026-03-01T12:01:00Z, which has been asked to end: overlap policy cancel_other, buffer_all",
			}},
		},
		{
			"delayed by the rate of the namespace", hourly(), starts(
				startOf("a", schedule.PhaseStarted), startOf("b", schedule.PhasePending, delayedBy(schedule.DelayActionRate)),
				startOf("c", schedule.PhasePending, delayedBy(schedule.DelayActionRate)),
			), surroundings{},
			[]schedule.Notice{{
				Code: "delayed", Message: "2 starts wait for other starts: the namespace limits them by actionsPerSecond, " +
					"and its schedules take turns",
			}},
		},
		{
			"delayed by the runs of the namespace", hourly(),
			starts(startOf("a", schedule.PhasePending, delayedBy(schedule.DelayPendingRuns))), surroundings{},
			[]schedule.Notice{{
				Code: "delayed", Message: "1 start waits for other runs to end: the namespace has as many queued or in progress " +
					"as its limit maxPendingRuns allows",
			}},
		},
		{"pending, and nothing runs", hourly(), starts(startOf("a", schedule.PhasePending)), surroundings{}, nil},
		{
			"retrying", hourly(), starts(startOf("a", schedule.PhaseReady, retrying(3, 8))), surroundings{},
			[]schedule.Notice{{Code: "retrying", Message: "the start of w-a has failed: attempt 3 is due at 2026-03-01T12:08:00Z"}},
		},
		{
			"several retrying", hourly(), starts(startOf("a", schedule.PhaseReady, retrying(3, 8)),
				startOf("b", schedule.PhaseReady, retrying(2, 7)), startOf("c", schedule.PhaseReady)), surroundings{},
			[]schedule.Notice{{
				Code:    "retrying",
				Message: "the start of w-b has failed: attempt 2 is due at 2026-03-01T12:07:00Z; 1 other start fails as well",
			}},
		},
		{
			"no worker", hourly(), records{},
			queue(taskqueue.Status{Waiting: 2, Oldest: &taskqueue.WaitingRun{Since: minutes(2)}}),
			[]schedule.Notice{{
				Code: "no_worker", Message: `task queue "q" has no worker: 2 runs wait there, the oldest since 2026-03-01T12:02:00Z`,
			}},
		},
		{
			"busy workers", hourly(), records{},
			queue(taskqueue.Status{Held: 1, Waiting: 2, Oldest: &taskqueue.WaitingRun{Since: minutes(2)}}), nil,
		},
		{
			"a worker that has died", hourly(), records{}, surroundings{
				queues:   map[string]taskqueue.Status{"q": {Held: 1, LastHandOut: minutes(1)}},
				noWorker: event(schedule.EventNoWorker, 3, ""),
			},
			[]schedule.Notice{{
				Code: "no_worker", Message: `task queue "q" has no worker that is alive: noticed at 2026-03-01T12:03:00Z, 1 run waits there`,
			}},
		},
		{
			"a worker that came back", hourly(), records{}, surroundings{
				queues:   map[string]taskqueue.Status{"q": {Held: 1, LastHandOut: minutes(4)}},
				noWorker: event(schedule.EventNoWorker, 3, ""),
			}, nil,
		},
		{
			"dead letter", hourly(), records{}, surroundings{deadLetter: event(schedule.EventDeadLetter, 3, "no such field")},
			[]schedule.Notice{{
				Code: "dead_letter", Message: "a message about the schedule could not be processed at 2026-03-01T12:03:00Z: " +
					"no such field; see carillon dlq list",
			}},
		},
		{
			"replayed", hourly(), records{}, surroundings{
				deadLetter: event(schedule.EventDeadLetter, 3, "x"), replayed: event(schedule.EventReplayed, 4, ""),
			}, nil,
		},
		{
			"dead again", hourly(), records{}, surroundings{
				deadLetter: event(schedule.EventDeadLetter, 5, "x"), replayed: event(schedule.EventReplayed, 4, ""),
			},
			[]schedule.Notice{{
				Code:    "dead_letter",
				Message: "a message about the schedule could not be processed at 2026-03-01T12:05:00Z: x; see carillon dlq list",
			}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, reasons(test.def, &test.all, &test.around))
		})
	}
}

func TestReasonsComeInOrder(t *testing.T) {
	t.Parallel()
	def := hourly(func(d *wire.Definition) {
		d.Schedule.Spec = schedule.Spec{}
		d.Schedule.State = schedule.State{Paused: true, LimitedActions: true}
	})
	var codes []string
	for _, notice := range reasons(def, &records{}, &surroundings{deadLetter: &schedule.Event{Time: noon}}) {
		codes = append(codes, notice.Code)
	}
	assert.Equal(t, []string{"paused", "no_times", "no_actions_left", "dead_letter"}, codes)
}

func TestDescribeFully(t *testing.T) {
	t.Parallel()
	def := hourly(func(d *wire.Definition) {
		d.Skips = []time.Time{noon, noon.Add(2 * time.Hour)}
		d.Requests = []wire.BackfillState{
			{Incarnation: "i1", ID: "patched", Version: 4, RequestTime: noon.Add(3 * time.Second), Trigger: &schedule.Trigger{}},
			{Incarnation: "i1", ID: "made", Version: 4, RequestTime: noon.Add(time.Second), Trigger: &schedule.Trigger{}},
			{Incarnation: "i1", ID: "finished", Version: 3, RequestTime: noon, Trigger: &schedule.Trigger{}},
		}
	})
	all := records{
		generator: wire.GeneratorState{
			Incarnation: "i1", Version: 3, LastNominal: noon, Mark: noon, IdleDeadline: noon.Add(time.Hour),
			ZoneData: "2026f",
		},
		invoker: wire.InvokerState{Incarnation: "i1", Counters: wire.Counters{SkippedOnRequest: 7}},
		backfills: []wire.BackfillState{
			{
				Incarnation: "i1", ID: "range", RequestTime: noon.Add(2 * time.Second), Identity: "ann", Handed: 12, Total: 100,
				Mark: noon.Add(time.Hour), Canceled: true,
				Range: &schedule.BackfillRange{Start: noon, End: noon.Add(100 * time.Hour), Overlap: schedule.OverlapBufferAll},
			},
			{Incarnation: "i1", ID: "made", Version: 4, RequestTime: noon.Add(time.Second), Trigger: &schedule.Trigger{}, Handed: 1},
			{Incarnation: "i0", ID: "earlier", Trigger: &schedule.Trigger{}},
		},
	}
	for i := range 12 {
		all.invoker.Starts = append(all.invoker.Starts, wire.BufferedStart{
			RequestID: string(rune('a' + i)), Phase: schedule.PhasePending, Source: "range", Nominal: noon, Attempt: i,
		})
	}
	all.invoker.Starts[0].Phase, all.invoker.Starts[1].Source = schedule.PhaseStarted, "made"
	around := surroundings{warnings: []prose.Warning{
		{Code: prose.WarnJitter, Field: "jitter", Text: "too much."}, {Code: prose.WarnShortMonth, Text: "short."},
	}, zone: wire.ZoneRules{Data: "2026g", Rules: "0123456789ab"}}
	d := describeFully(def, all, &around, noon)

	assert.Equal(t, int64(7), d.Info.SkippedOnRequest)
	assert.Equal(t, []time.Time{noon.Add(2 * time.Hour)}, d.Info.Skips)
	assert.Equal(t, noon.Add(time.Hour), d.Info.IdleDeadline)
	assert.Equal(t, 11, d.Info.BufferSize)
	assert.Len(t, d.Info.Buffer, 10)
	assert.Equal(t, schedule.WaitingStart{
		RequestID: "b", Phase: schedule.PhasePending, Source: "made", NominalTime: noon, Attempt: 1,
	}, d.Info.Buffer[0])
	assert.Equal(t, []schedule.BackfillProgress{
		{BackfillID: "made", RequestTime: noon.Add(time.Second), Trigger: true, Total: 1},
		{
			BackfillID: "range", RequestTime: noon.Add(2 * time.Second), Start: noon, End: noon.Add(100 * time.Hour),
			Overlap: schedule.OverlapBufferAll, Done: 2, Total: 100, HighWaterMark: noon.Add(time.Hour), Canceled: true, Identity: "ann",
		},
		{BackfillID: "patched", RequestTime: noon.Add(3 * time.Second), Trigger: true, Total: 1},
	}, d.Info.Backfills)
	assert.Equal(t, []schedule.Notice{{Code: "jitter", Message: "jitter: too much."}, {Code: "short_month", Message: "short."}},
		d.Info.Warnings)

	assert.Equal(t, "2026f", d.Info.ZoneData)
	assert.Equal(t, "2026g", d.Info.FrontendZoneData)
	assert.Empty(t, describeFully(def, records{}, &surroundings{}, noon).Info.ZoneData)

	d.Info.ZoneData, d.Info.FrontendZoneData = "", ""
	brief := describe(def, all.generator, all.invoker, noon)
	d.Info.Buffer, d.Info.Backfills, d.Info.Reasons, d.Info.Warnings = nil, nil, nil, nil
	assert.Equal(t, brief, d)
}

func TestDescribeSaysWhoPaused(t *testing.T) {
	t.Parallel()
	def := hourly(func(d *wire.Definition) { d.PausedBy, d.PauseTime = "ann", noon })
	info := describe(def, wire.GeneratorState{}, wire.InvokerState{}, noon).Info
	assert.Empty(t, info.PausedBy, "it is not paused")
	assert.Zero(t, info.PauseTime)
	def.Schedule.State.Paused = true
	info = describe(def, wire.GeneratorState{}, wire.InvokerState{}, noon).Info
	assert.Equal(t, "ann", info.PausedBy)
	assert.Equal(t, noon, info.PauseTime)
}
