package consistency

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

var (
	created = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	now     = created.Add(time.Hour)
	next    = now.Add(time.Minute)
)

// healthy is a schedule with a run, another start that waits for it, and a backfill.
func healthy() Snapshot {
	span := wire.Span{From: created, To: now}
	return Snapshot{
		Key: schedule.Key{Namespace: "default", ID: "a"}, Now: now, Bucket: "b",
		Definition: stored(wire.Definition{Namespace: "default", ID: "a", Incarnation: "i", Version: 2, CreateTime: created}),
		Generator:  stored(wire.GeneratorState{Incarnation: "i", Version: 2, Mark: now, HandedOff: now, Next: next}),
		Invoker: stored(wire.InvokerState{
			Incarnation: "i",
			Starts: []wire.BufferedStart{
				{RequestID: "r1", Phase: schedule.PhaseStarted, Source: schedule.SourceAuto, Nominal: now, Actual: now},
				{RequestID: "r2", Phase: schedule.PhaseDeferred},
			},
			Sources: map[string]wire.SourceProgress{schedule.SourceAuto: {Covered: []wire.Span{span}}, "b1": {}},
		}),
		Result:    stored(wire.Result{Incarnation: "i"}),
		Backfills: map[string]Stored[wire.BackfillState]{"b1": stored(wire.BackfillState{ID: "b1", Incarnation: "i"})},
		Timers:    []Timer{{Kind: timerDue}, {Kind: timerBackfill, What: "b1"}},
		Runs:      map[string]Run{"r1": {Known: true}},
	}
}

func stored[T any](value T) Stored[T] { return Stored[T]{Value: value, Revision: 7} }

func damaged[T any]() Stored[T] { return Stored[T]{Revision: 7, Err: errors.New("cut")} }

// inspection changes one thing of a healthy schedule, and has the expected findings.
type inspection struct {
	change func(*Snapshot)
	want   []Kind
}

func inspections() map[string]inspection {
	task := func(role subjects.Role, what string) Task {
		return Task{Task: subjects.Task{Role: role, What: what}, Sequence: 5}
	}
	timers := func(s *Snapshot, kinds ...string) {
		s.Timers = s.Timers[:0]
		for _, kind := range kinds {
			s.Timers = append(s.Timers, Timer{Kind: kind, What: "b1"})
		}
	}
	nothing := func(s *Snapshot) { *s = Snapshot{Key: s.Key, Now: s.Now} }
	return map[string]inspection{
		"healthy":          {func(*Snapshot) {}, nil},
		"nothing":          {nothing, nil},
		"timer missing":    {func(s *Snapshot) { timers(s, timerBackfill) }, []Kind{DueTimerMissing}},
		"timer just fired": {func(s *Snapshot) { timers(s, timerBackfill); s.Tasks = []Task{task(subjects.RoleGenerate, "due")} }, nil},
		"timer and guard":  {func(s *Snapshot) { timers(s, timerBackfill, timerGuard) }, nil},
		"timer late":       {func(s *Snapshot) { s.Now = next.Add(overdue) }, nil},
		"timer too late":   {func(s *Snapshot) { s.Now = next.Add(overdue + 1) }, []Kind{DueTimerMissing}},
		"paused":           {func(s *Snapshot) { timers(s, timerBackfill); s.Definition.Value.Schedule.State.Paused = true }, nil},
		"exhausted":        {func(s *Snapshot) { timers(s, timerBackfill); s.Generator.Value.Next = time.Time{} }, nil},
		"idle without timer": {func(s *Snapshot) {
			timers(s, timerBackfill)
			s.Generator.Value.Next, s.Generator.Value.IdleDeadline = time.Time{}, next
		}, []Kind{DueTimerMissing}},
		"version unseen":  {func(s *Snapshot) { s.Definition.Value.Version++ }, []Kind{ChangeUnseen}},
		"version guarded": {func(s *Snapshot) { s.Definition.Value.Version++; s.Timers = append(s.Timers, Timer{Kind: timerGuard}) }, nil},
		"other zone rules": {func(s *Snapshot) {
			s.Definition.Value.Schedule.Spec.TimeZone, s.Generator.Value.ZoneRules = "Europe/Berlin", "older"
		}, []Kind{ZoneOutdated}},
		"the same zone rules": {func(s *Snapshot) {
			s.Definition.Value.Schedule.Spec.TimeZone = "Europe/Berlin"
			s.Generator.Value.ZoneRules = wire.ZoneRulesOf(s.Definition.Value.Schedule.Spec).Rules
		}, nil},
		"no generator":       {func(s *Snapshot) { s.Generator = Stored[wire.GeneratorState]{} }, []Kind{GeneratorMissing}},
		"other generator":    {func(s *Snapshot) { s.Generator.Value.Incarnation = "h" }, []Kind{GeneratorMissing}},
		"damaged generator":  {func(s *Snapshot) { s.Generator = damaged[wire.GeneratorState]() }, []Kind{RecordDamaged}},
		"damaged definition": {func(s *Snapshot) { s.Definition = damaged[wire.Definition]() }, []Kind{RecordDamaged}},
		"damaged invoker":    {func(s *Snapshot) { s.Invoker = damaged[wire.InvokerState]() }, []Kind{RecordDamaged}},
		"foreign result":     {func(s *Snapshot) { s.Result = damaged[wire.Result](); s.Result.Foreign = true }, []Kind{RecordForeign}},
		"hand-off lost":      {func(s *Snapshot) { s.Generator.Value.HandedOff = next }, []Kind{HandOffLost}},
		"hand-off under way": {func(s *Snapshot) {
			s.Generator.Value.HandedOff = next
			s.Tasks = []Task{task(subjects.RoleInvoke, "x")}
		}, nil},
		"gap in the hand-offs": {func(s *Snapshot) {
			s.Invoker.Value.Sources[schedule.SourceAuto] = wire.SourceProgress{
				Covered: []wire.Span{{From: created, To: created.Add(1)}, {From: created.Add(2), To: now}},
			}
		}, []Kind{HandOffLost}},
		"gap that is to be handed over": {func(s *Snapshot) {
			s.Generator.Value.HandedOff = created.Add(1)
			s.Invoker.Value.Sources[schedule.SourceAuto] = wire.SourceProgress{
				Covered: []wire.Span{{From: created, To: created.Add(1)}, {From: created.Add(2), To: now}},
			}
		}, nil},
		"first hand-off lost": {func(s *Snapshot) { delete(s.Invoker.Value.Sources, schedule.SourceAuto); s.Untold = true }, []Kind{HandOffLost}},
		"first hand-off lost, and no invoker": {func(s *Snapshot) { s.Invoker = Stored[wire.InvokerState]{}; s.Untold = true },
			[]Kind{HandOffLost}},
		"first hand-off lost, and overtaken": {func(s *Snapshot) {
			s.Invoker.Value.Sources[schedule.SourceAuto].Covered[0].From = created.Add(1)
			s.Untold = true
		}, []Kind{HandOffLost}},
		"first hand-off under way": {func(s *Snapshot) {
			delete(s.Invoker.Value.Sources, schedule.SourceAuto)
			s.Untold, s.Tasks = true, []Task{task(subjects.RoleInvoke, "x")}
		}, nil},
		"first hand-off to be made again": {func(s *Snapshot) {
			s.Invoker.Value.Sources[schedule.SourceAuto].Covered[0].From = created.Add(1)
			s.Generator.Value.HandedOff, s.Untold = created, true
		}, nil},
		"invoker begun anew": {func(s *Snapshot) {
			s.Invoker.Value.Sources[schedule.SourceAuto].Covered[0].From = created.Add(1)
		}, nil},
		"no invoker":     {func(s *Snapshot) { s.Invoker = Stored[wire.InvokerState]{} }, []Kind{InvokerMissing}},
		"no invoker yet": {func(s *Snapshot) { s.Invoker = Stored[wire.InvokerState]{}; s.Generator.Value.HandedOff = created }, nil},
		"ready":          {func(s *Snapshot) { s.Invoker.Value.Starts[1].Phase = schedule.PhaseReady }, []Kind{StartsStalled}},
		"ready, retried": {func(s *Snapshot) {
			s.Invoker.Value.Starts[1].Phase = schedule.PhaseReady
			s.Timers = append(s.Timers, Timer{Kind: timerRetry})
		}, nil},
		"retry too late": {func(s *Snapshot) {
			s.Invoker.Value.Starts[1].Phase, s.Invoker.Value.Starts[1].BackoffUntil = schedule.PhaseReady, now.Add(-overdue-1)
			s.Timers = append(s.Timers, Timer{Kind: timerRetry})
		}, []Kind{StartsStalled}},
		"delayed": {func(s *Snapshot) {
			start := &s.Invoker.Value.Starts[1]
			start.Phase, start.Delay = schedule.PhasePending, &schedule.Delay{By: schedule.DelayActionRate}
			s.Timers = append(s.Timers, Timer{Kind: timerRetry})
		}, nil},
		"delayed for ever": {func(s *Snapshot) {
			start := &s.Invoker.Value.Starts[1]
			start.Phase, start.Delay = schedule.PhasePending, &schedule.Delay{By: schedule.DelayActionRate}
		}, []Kind{StartsStalled}},
		"undecided":         {func(s *Snapshot) { s.Invoker.Value.Starts[1].Phase = schedule.PhasePending }, []Kind{StartsStalled}},
		"control to go":     {func(s *Snapshot) { s.Invoker.Value.Controls = make([]wire.PendingControl, 2) }, []Kind{StartsStalled}},
		"waits for nothing": {func(s *Snapshot) { s.Invoker.Value.Starts = s.Invoker.Value.Starts[1:] }, []Kind{StartsStalled}},
		"run lost":          {func(s *Snapshot) { s.Runs["r1"] = Run{} }, []Kind{RunLost}},
		"run waited for": {func(s *Snapshot) {
			s.Runs["r1"] = Run{}
			s.Definition.Value.Schedule.Policies.LostRuns = schedule.LostRunWait
		}, []Kind{RunLost}},
		"run just begun": {func(s *Snapshot) { s.Runs = nil }, nil},
		"run just ended": {func(s *Snapshot) { s.Runs["r1"] = Run{}; s.Invoker.Value.Starts = nil }, nil},
		"run terminated": {func(s *Snapshot) {
			s.Runs["r1"] = Run{}
			s.Invoker.Value.Controls = []wire.PendingControl{{Kind: schedule.ControlTerminate, RequestID: "r1"}}
			s.Timers = append(s.Timers, Timer{Kind: timerRetry})
		}, nil},
		"completion dead":  {func(s *Snapshot) { s.Runs["r1"] = Run{Callback: deadletter.Number{Sequence: 3}} }, []Kind{CompletionDead}},
		"request dead":     {func(s *Snapshot) { s.Runs["r1"] = Run{Request: deadletter.Number{Sequence: 3, Worker: true}} }, []Kind{RequestDead}},
		"end untold":       {func(s *Snapshot) { s.Runs["r1"] = Run{Report: &nats.Msg{}} }, []Kind{EndUntold}},
		"passed over":      {func(s *Snapshot) { s.Tasks = []Task{{Task: subjects.Task{Role: subjects.RoleInvoke}, Passed: true}} }, []Kind{TaskStranded}},
		"backfill stalled": {func(s *Snapshot) { timers(s, timerDue) }, []Kind{BackfillStalled}},
		"backfill woken":   {func(s *Snapshot) { timers(s, timerDue); s.Tasks = []Task{task(subjects.RoleBackfill, "b1")} }, nil},
		"backfill of another": {func(s *Snapshot) {
			timers(s, timerDue)
			s.Backfills["b1"] = stored(wire.BackfillState{ID: "b1", Incarnation: "h"})
		}, []Kind{BackfillOrphaned}},
		"backfill over":  {func(s *Snapshot) { s.Backfills["b1"] = Stored[wire.BackfillState]{} }, []Kind{SourceStale}},
		"backfill added": {func(s *Snapshot) { delete(s.Backfills, "b1") }, nil},
		"deleted": {func(s *Snapshot) { s.Definition = Stored[wire.Definition]{}; timers(s, timerDue) },
			[]Kind{RecordOrphaned, RecordOrphaned, BackfillOrphaned}},
		"being deleted": {func(s *Snapshot) {
			s.Definition = Stored[wire.Definition]{}
			s.Tasks = []Task{task(subjects.RoleGenerate, "w"), task(subjects.RoleInvoke, "w"), task(subjects.RoleBackfill, "b1")}
		}, nil},
		"deleted, and damaged": {func(s *Snapshot) {
			nothing(s)
			s.Invoker, s.Result = damaged[wire.InvokerState](), stored(wire.Result{})
		}, []Kind{RecordDamaged}},
		"result left": {func(s *Snapshot) { nothing(s); s.Result = stored(wire.Result{}) }, []Kind{RecordOrphaned}},
		"timers left": {func(s *Snapshot) { nothing(s); timers(s, timerDue, timerRetry, timerBackfill, timerTimeout) },
			[]Kind{TimerOrphaned, TimerOrphaned, TimerOrphaned}},
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	for name, test := range inspections() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := healthy()
			test.change(&s)
			var kinds []Kind
			for _, f := range inspect(s) {
				kinds = append(kinds, f.Kind)
				assert.Equal(t, s.Key, f.Key())
				assert.NotEmpty(t, f.What)
				assert.NotEmpty(t, f.Repair)
				assert.Equal(t, f.mend != nil, f.Repairable)
			}
			assert.Equal(t, test.want, kinds)
		})
	}
}

// TestRebuiltGenerator: the rebuilt record continues where the generator was, as the invoker or the event history shows.
func TestRebuiltGenerator(t *testing.T) {
	t.Parallel()
	rebuilt := func(change func(*Snapshot)) any {
		s := healthy()
		s.Generator = Stored[wire.GeneratorState]{Revision: 9, Err: errors.New("cut")}
		change(&s)
		found := inspect(s)
		require.Len(t, found, 1)
		assert.True(t, found[0].Automatic())
		return found[0].mend
	}
	put := rebuilt(func(*Snapshot) {}).(putGenerator)
	assert.EqualValues(t, 9, put.revision)
	assert.Equal(t, wire.GeneratorState{Incarnation: "i", Version: 2, Mark: now, HandedOff: now, LastNominal: now}, put.state)

	put = rebuilt(func(s *Snapshot) {
		s.Invoker = Stored[wire.InvokerState]{}
		s.LastTold = now.Add(-time.Minute)
	}).(putGenerator)
	assert.Equal(t, now.Add(-time.Minute), put.state.Mark)

	put = rebuilt(func(s *Snapshot) { s.Invoker = Stored[wire.InvokerState]{} }).(putGenerator)
	assert.Equal(t, created, put.state.Mark, "nothing has ever been due")
}

// TestConfirmed: a fault that has moved between two looks is a different one.
func TestConfirmed(t *testing.T) {
	t.Parallel()
	s := healthy()
	s.Timers, s.Runs["r1"] = nil, Run{}
	first := inspect(s)
	require.Len(t, first, 3)
	require.Len(t, confirmed(first, inspect(s)), 3)
	s.Generator.Revision++
	kinds := []Kind{}
	for _, f := range confirmed(first, inspect(s)) {
		kinds = append(kinds, f.Kind)
	}
	require.Equal(t, []Kind{RunLost, BackfillStalled}, kinds)
	require.Empty(t, confirmed(nil, first))
}

// TestLostHandOffWhileTheGeneratorGoesOn: the gap is the same, however often the generator has written its record in between.
func TestLostHandOffWhileTheGeneratorGoesOn(t *testing.T) {
	t.Parallel()
	s := healthy()
	s.Generator.Value.HandedOff = next
	first := inspect(s)
	s.Generator.Revision++
	s.Generator.Value.HandedOff = next.Add(time.Second)
	require.Len(t, confirmed(first, inspect(s)), 1)
	s.Invoker.Value.Sources[schedule.SourceAuto].Covered[0].To = next
	require.Empty(t, confirmed(first, inspect(s)), "that has arrived; the next one is another")
}

// TestFirstHandOffLost: the generator begins at the creation again, whatever has happened since.
func TestFirstHandOffLost(t *testing.T) {
	t.Parallel()
	s := healthy()
	s.Invoker.Value.Sources[schedule.SourceAuto].Covered[0].From = created.Add(time.Minute)
	s.Untold = true
	found := inspect(s)
	require.Len(t, found, 1)
	assert.False(t, found[0].Automatic())
	put := found[0].mend.(putGenerator)
	want := s.Generator.Value
	want.Mark, want.HandedOff, want.LastNominal = created, created, time.Time{}
	assert.Equal(t, want, put.state)
	assert.Contains(t, found[0].What, "after 2026-01-02T03:00:00Z and up to 2026-01-02T03:01:00Z")
}

// TestRepairBringsNothingBack: a calendar excluded times before it changed. A repair of the generator's record after that does
// not bring them back, and the hand-off is still the next link of the chain.
func TestRepairBringsNothingBack(t *testing.T) {
	t.Parallel()
	replanned := created.Add(30 * time.Minute)
	for name, change := range map[string]func(*Snapshot){
		"hand-off lost": func(s *Snapshot) {
			s.Invoker.Value.Sources[schedule.SourceAuto].Covered[0].To = created.Add(time.Minute)
		},
		"generator missing": func(s *Snapshot) {
			s.Invoker.Value.Sources[schedule.SourceAuto].Covered[0].To = created.Add(time.Minute)
			s.Generator = Stored[wire.GeneratorState]{}
		},
	} {
		s := healthy()
		change(&s)
		s.Definition.Value.CalendarsVersion, s.Definition.Value.ReplanTime = 2, replanned
		s.Definition.Value.ReplanFrom = replanned
		found := inspect(s)
		require.Len(t, found, 1, name)
		put := found[0].mend.(putGenerator)
		assert.Equal(t, replanned, put.state.Mark, name)
		assert.Equal(t, created.Add(time.Minute), put.state.HandedOff, name)
		s.Definition.Value.ReplanFrom = created
		put = inspect(s)[0].mend.(putGenerator)
		assert.Equal(t, created.Add(time.Minute), put.state.Mark, name)
	}
}

// TestMoved: a record that a repair has written again, and that is still wrong, does not count as repaired.
func TestMoved(t *testing.T) {
	t.Parallel()
	s := healthy()
	s.Timers, s.Runs["r1"] = nil, Run{}
	findings := inspect(s)
	require.Empty(t, moved(findings, inspect(s)), "they are the same")
	s.Generator.Revision++
	again := moved(findings, inspect(s))
	require.Len(t, again, 1)
	require.Equal(t, DueTimerMissing, again[0].Kind)

	review(findings, append(confirmed(findings, inspect(s)), again...))
	for i := range findings {
		require.False(t, findings[i].Repaired, findings[i].Kind)
		require.Equal(t, stillSo, findings[i].Problem)
	}
	require.Equal(t, findings[0].evidence, again[0].evidence, "the next repair is of what there is now")
	review(findings, nil)
	for i := range findings {
		require.True(t, findings[i].Repaired, findings[i].Kind)
		require.Empty(t, findings[i].Problem)
	}
}

func TestTimerSubjects(t *testing.T) {
	t.Parallel()
	names, key := subjects.Default(), schedule.Key{Namespace: "default", ID: "a.b *"}
	for subject, want := range map[string]Timer{
		names.DueTimer(3, key):            {Kind: timerDue},
		names.RetryTimer(3, key):          {Kind: timerRetry},
		names.GuardTimer(3, key, 7):       {Kind: timerGuard, What: "7"},
		names.BackfillTimer(3, key, "b1"): {Kind: timerBackfill, What: "b1"},
		names.TimeoutTimer(3, key, "r1"):  {Kind: timerTimeout, What: "r1"},
	} {
		found, timer, ok := parseTimer(names, subject)
		require.True(t, ok, subject)
		want.Subject = subject
		require.Equal(t, want, timer)
		require.Equal(t, key, found)
	}
	for _, subject := range []string{
		names.InvokeWake(3, key), "carillon.timer.3.due.default", "carillon.timer.3.due.default.=", "other.timer.3.due.default.a", "",
	} {
		_, _, ok := parseTimer(names, subject)
		require.False(t, ok, subject)
	}
}
