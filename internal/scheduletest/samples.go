package scheduletest

import (
	"encoding/json"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// At returns an instant of 2026-03-01, in UTC, with nanoseconds.
func At(hour int) time.Time { return time.Date(2026, 3, 1, hour, 30, 15, 123456789, time.UTC) }

// Whole returns an instant of 2026-03-01, in UTC, on a full second.
func Whole(hour int) time.Time { return At(hour).Truncate(time.Second) }

// Schedule has every field set that a run on a worker of Carillon's own protocol may have. It is valid, given Named.
func Schedule() schedule.Schedule {
	return schedule.Schedule{
		Spec: Spec(),
		Action: schedule.Action{
			Kind:             schedule.ActionRun,
			Type:             "report",
			WorkflowID:       "daily-report",
			TaskQueue:        "reports",
			Input:            json.RawMessage(`{"to":"<ops> & co","count":3,"factor":0.25}`),
			Headers:          map[string]string{"tenant": "blue"},
			Memo:             map[string]json.RawMessage{"owner": json.RawMessage(`"ops"`)},
			SearchAttributes: map[string]json.RawMessage{"region": json.RawMessage(`["eu","us"]`)},
			RunTimeout:       schedule.Duration(90 * time.Second),
			ExecutionTimeout: schedule.Duration(time.Hour),
			TaskTimeout:      schedule.Duration(250 * time.Millisecond),
			HeartbeatTimeout: schedule.Duration(12 * time.Second),
			RetryPolicy: &schedule.RetryPolicy{
				InitialInterval:        schedule.Duration(2 * time.Second),
				BackoffCoefficient:     1.5,
				MaximumInterval:        schedule.Duration(time.Minute),
				MaximumAttempts:        5,
				NonRetryableErrorTypes: []string{"BadInput"},
			},
			Priority: 2,
		},
		Policies: schedule.Policies{
			Overlap:                schedule.OverlapBufferOne,
			ConcurrencyLimit:       3,
			CatchupWindow:          schedule.Duration(time.Hour),
			CatchupMode:            schedule.CatchupLatest,
			LostRuns:               schedule.LostRunWait,
			PauseOnFailure:         true,
			KeepOriginalWorkflowID: true,
		},
		State:            schedule.State{Notes: "for the\nops team", Paused: true, LimitedActions: true, RemainingActions: 7},
		Memo:             map[string]json.RawMessage{"ticket": json.RawMessage(`"OPS-1"`)},
		SearchAttributes: map[string]json.RawMessage{"customer": json.RawMessage(`"acme"`)},
	}
}

// Workflow is [Schedule] with every field set that a workflow may have. It is valid, given Named.
func Workflow() schedule.Schedule {
	s := Schedule()
	s.Action = workflowAction(s.Action)
	s.Action.HeartbeatTimeout = 0
	return s
}

// workflowAction sets the fields of an action that only a workflow has.
func workflowAction(a schedule.Action) schedule.Action {
	long := json.RawMessage(`{"metadata":{"encoding":"YmluYXJ5L3BsYWlu"},"data":"AP8="}`)
	a.Kind, a.Input = schedule.ActionWorkflow, json.RawMessage(`[{"to":"<ops> & co"},null,`+string(long)+`]`)
	a.HeaderPayloads = map[string]json.RawMessage{"trace": long}
	a.FairnessKey, a.FairnessWeight = "acme", 2.5
	a.UserMetadata = &schedule.UserMetadata{Summary: json.RawMessage(`"the daily report"`), Details: json.RawMessage(`"for *ops*"`)}
	return a
}

// Named are the named calendars that [Spec] uses.
func Named() map[string]schedule.NamedCalendar {
	return map[string]schedule.NamedCalendar{"holidays": {
		Name: "holidays", Dates: []schedule.DateRange{"2027-01-01"}, Windows: []schedule.Blackout{{From: Whole(5), To: Whole(6)}},
	}}
}

// Spec has every field set.
func Spec() schedule.Spec {
	return schedule.Spec{
		Calendars:                  []schedule.Calendar{calendar()},
		StructuredCalendars:        []schedule.StructuredCalendar{structured()},
		Intervals:                  []schedule.Interval{{Every: schedule.Duration(time.Hour), Phase: schedule.Duration(90 * time.Second)}},
		Cron:                       []string{"30 9 * * mon-fri"},
		At:                         []time.Time{Whole(9)},
		ExcludeCalendars:           []schedule.Calendar{calendar()},
		ExcludeStructuredCalendars: []schedule.StructuredCalendar{structured()},
		ExcludeDates:               []schedule.DateRange{"2026-12-24/2026-12-26"},
		Blackouts:                  []schedule.Blackout{{From: At(3), To: At(4)}},
		ExcludeCalendarsNamed:      []string{"holidays"},
		StartTime:                  At(1),
		EndTime:                    At(23),
		Jitter:                     schedule.Duration(1500 * time.Millisecond),
		TimeZone:                   "Europe/Berlin",
		TimeZoneData:               zoneData(),
		DST:                        schedule.DST{Gap: schedule.GapShift, Repeat: schedule.RepeatFirst},
	}
}

// zoneData returns the shortest possible time zone file: version 1, one zone, UTC.
func zoneData() []byte {
	data := make([]byte, 44, 54)
	copy(data, "TZif")
	data[39], data[43] = 1, 4 // one type, four bytes of abbreviations
	data = append(data, 0, 0, 0, 0, 0, 0)
	return append(data, "UTC\x00"...)
}

// calendar has every field set.
func calendar() schedule.Calendar {
	return schedule.Calendar{
		Second: "1", Minute: "2-4", Hour: "9", DayOfMonth: "*/2", Month: "jan-jun", Year: "2026", DayOfWeek: "mon-fri",
		Comment: "office hours",
	}
}

// structured has every field set.
func structured() schedule.StructuredCalendar {
	return schedule.StructuredCalendar{
		Second:     []schedule.Range{{Start: 1, End: 30, Step: 2}},
		Minute:     []schedule.Range{{Start: 2, End: 30, Step: 2}},
		Hour:       []schedule.Range{{Start: 3, End: 20, Step: 2}},
		DayOfMonth: []schedule.Range{{Start: 4, End: 30, Step: 2}},

		LastDayOfMonth: []schedule.Range{{Start: 1, End: 3, Step: 2}},
		NearestWeekday: []schedule.Range{{Start: 15, End: 17, Step: 2}},
		LastWeekday:    true,

		Month:         []schedule.Range{{Start: 5, End: 12, Step: 2}},
		Year:          []schedule.Range{{Start: 2026, End: 2030, Step: 2}},
		DayOfWeek:     []schedule.Range{{Start: 1, End: 5, Step: 2}},
		NthDayOfWeek:  []schedule.NthDayOfWeek{{DayOfWeek: 5, Nth: 2}},
		LastDayOfWeek: []schedule.Range{{Start: 2, End: 4, Step: 2}},
		Comment:       "odd ones",
	}
}

// Run is a run that has ended, as read from a record.
func Run() *schedule.Run {
	start := start()
	run := wire.NewRun(&start)
	return &run
}

// start has every field set.
func start() wire.BufferedStart {
	return wire.BufferedStart{
		RequestID:    "sched-auto-1",
		WorkflowID:   "daily-report-2026-03-01T09:00:00Z",
		Nominal:      Whole(9),
		Actual:       At(9),
		Overlap:      schedule.OverlapBufferAll,
		Manual:       true,
		Source:       schedule.SourceAuto,
		Phase:        schedule.PhaseCompleted,
		Attempt:      2,
		BackoffUntil: At(10),
		Delay:        &schedule.Delay{By: schedule.DelayActionRate, NotBefore: At(11)},
		ActionKind:   schedule.ActionWorkflow,
		TaskQueue:    "reports",
		RunID:        "run-1",
		StartTime:    At(11),
		Ending:       schedule.ControlCancel,
		Status:       schedule.StatusFailed,
		CloseTime:    At(12),
		CodeTime:     At(13),
		Trace:        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		Identity:     "ann@desk",
		Skip:         true,
		Overridden:   true,
		RunAttempt:   3,
		Worker:       "host-1",
		Outcome:      outcome(),
	}
}

// event has every field set.
func event() schedule.Event {
	return schedule.Event{
		ID: "i1-7", Time: At(9), Namespace: "default", ScheduleID: "daily", Kind: schedule.EventCompleted,
		RequestID: "sched-auto-1", WorkflowID: "daily-1", RunID: "run-1", Nominal: Whole(9), Actual: At(9), Manual: true,
		Status: schedule.StatusTimedOut, CodeTime: At(10), CloseTime: At(11), Attempt: 3, Worker: "host-1", Count: 2, Reason: "too slow", Trace: "00-1-2-01",
		First: Whole(1), Last: Whole(2), Source: "b1", Overlap: schedule.OverlapSkip, TaskQueue: "reports", Identity: "ann@desk",
		ActionKind: schedule.ActionWorkflow, Outcome: outcome(),
	}
}

// outcome has every field set.
func outcome() schedule.Outcome {
	return schedule.Outcome{Result: json.RawMessage(`{"rows":7}`), ResultBytes: 10, Failure: failure()}
}

// trigger has every field set.
func trigger() *schedule.Trigger {
	return &schedule.Trigger{
		Overlap: schedule.OverlapAllowAll, Note: "once more", Input: json.RawMessage(`{"format":"pdf"}`),
		Headers: map[string]string{"team": "finance"}, Memo: map[string]json.RawMessage{"ticket": json.RawMessage(`4711`)},
		NominalTime: Whole(7),
	}
}

// definition has every field set.
func definition() *wire.Definition {
	s := Schedule()
	s.Action = workflowAction(s.Action)
	return &wire.Definition{
		Namespace: "default", ID: "daily", Incarnation: "0b8d7f8e-3f0c-4c3e-9d1f-000000000001", Version: 4, LimitVersion: 3,
		Schedule: s, RequestID: "create-1", CreateTime: At(1), UpdateTime: At(2), ActiveSince: At(3),
		PausedBy: "ann@desk", PauseTime: At(4), Skips: []time.Time{Whole(9)}, Requests: []wire.BackfillState{*backfill()},
		Calendars: map[string]wire.CalendarCopy{"holidays": {
			Incarnation: "c1", Version: 2, Edition: "e2", Dates: []schedule.DateRange{"2026-12-25"}, Windows: []schedule.Blackout{{From: At(5), To: At(6)}},
		}},
		CalendarsVersion: 4, ReplanTime: At(5), ReplanFrom: At(4),
		Events:      []wire.DefinitionEvent{{Version: 3, Event: event()}},
		Applied:     []wire.AppliedRequest{{RequestID: "r1", Version: 4}},
		Predecessor: &wire.Deletion{Incarnation: "inc-0", RequestID: "r0", Runs: schedule.RunsCancel}, PredecessorClosed: "inc-0", Closing: true,
	}
}

// backfill has every field set.
func backfill() *wire.BackfillState {
	return &wire.BackfillState{
		Incarnation: "i1", ID: "b1", RequestTime: At(1), Trigger: trigger(),
		Range: &schedule.BackfillRange{Start: At(2), End: At(3), Overlap: schedule.OverlapSkip, Note: "the lost day"},
		Mark:  At(2), Handed: 50, Total: 70, TotalVersion: 4, Attempt: 2, Done: true, Trace: "00-1-2-01",
		Identity: "ann@desk", RequestID: "r1", Version: 4, Canceled: true, CanceledBy: "bob@desk",
		CancelRequestID: "r2",
	}
}

// failure has every field set.
func failure() *schedule.Failure {
	return &schedule.Failure{Message: "no such report", Type: "NotFound", Details: json.RawMessage(`{"report":7}`)}
}

// Records returns a filled value of each stored record and message, by the name of its golden file.
func Records() map[string]any {
	span := wire.Span{From: At(8), To: At(9)}
	return map[string]any{
		"definition": definition(),
		"generator": &wire.GeneratorState{
			Incarnation: "i1", Mark: At(3), HandedOff: At(2), Version: 4, Next: At(4), Future: []time.Time{At(4), At(5)},
			IdleDeadline: At(6), LastNominal: Whole(3),
			ZoneData: "2026f", ZoneRules: "0123456789ab", ZoneOffset: -25200, Passed: Whole(2),
		},
		"invoker": &wire.InvokerState{
			Incarnation: "i1",
			Starts:      []wire.BufferedStart{start()},
			Ended:       wire.EndedRuns(nil).With(Run(), 10), LastDue: At(7),
			Controls: []wire.PendingControl{{
				Kind: schedule.ControlTerminate, RequestID: "sched-auto-1", WorkflowID: "daily-1", RunID: "run-1", TaskQueue: "reports",
				ActionKind: schedule.ActionWorkflow, Reason: "terminated by ann@desk",
			}},
			Sources: map[string]wire.SourceProgress{
				schedule.SourceAuto: {Covered: []wire.Span{span}, LastFrom: At(8), LastMissed: 1, LastDropped: 2, LastSuperseded: 3,
					LastCount: 4, Complete: true, Withdrawn: true, Version: 4, LastNominal: Whole(3), Settled: Whole(2)},
			},
			LimitVersion: 3, LimitUsed: 2, HasResult: true, AskAt: At(14),
			Counters: wire.Counters{Actions: 9, MissedCatchup: 8, OverlapSkipped: 7, BufferDropped: 6, SkippedOnRequest: 5},
			Outbox:   []schedule.Event{event()}, EventSequence: 12, Abandoned: true,
		},
		"backfill": backfill(),
		"result": &wire.Result{
			Incarnation: "i1", Success: json.RawMessage(`[1,2]`), Failure: failure(), CloseTime: At(9),
		},
		"wake": &wire.Wake{Incarnation: "i1", Version: 4, Reason: wire.ReasonDue, Told: true, Runs: schedule.RunsCancel, Created: definition(), GuardAgain: schedule.Duration(time.Second)},
		"enqueue": &wire.Enqueue{
			Incarnation: "i1", Version: 4, Source: schedule.SourceAuto, Span: span, Starts: []wire.BufferedStart{start()},
			Missed: 3, Dropped: 4, DropReason: "frozen", Superseded: 5, MissedSpan: span, DroppedSpan: span, SupersededSpan: span, Complete: true,
		},
		"workflowCallback": &wire.WorkflowCallback{
			ScheduleID: "daily", TaskQueue: "reports", RequestID: "sched-auto-1", Trace: "00-1-2-01",
		},
	}
}

// SmallSchedule is a typical schedule.
func SmallSchedule() schedule.Schedule {
	return schedule.Schedule{
		Spec: schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Second)}}, TimeZone: "Europe/Berlin"},
		Action: schedule.Action{
			Type: "report", TaskQueue: "reports", Input: json.RawMessage(`{"to":"ops","count":3}`),
			RunTimeout: schedule.Duration(time.Minute), RetryPolicy: &schedule.RetryPolicy{MaximumAttempts: 3},
		},
		Policies: schedule.Policies{Overlap: schedule.OverlapAllowAll, CatchupWindow: schedule.Duration(time.Hour)},
	}
}

// Ordinary returns a schedule as people create it.
func Ordinary() schedule.Schedule {
	return schedule.Schedule{
		Spec: schedule.Spec{Cron: []string{"*/15 8-18 * * mon-fri"}, TimeZone: "Europe/Berlin"},
		Action: schedule.Action{
			Type: "report", TaskQueue: "reports", Input: []byte(`{"to":"ops","count":3}`),
			RunTimeout: schedule.Duration(time.Minute), RetryPolicy: &schedule.RetryPolicy{MaximumAttempts: 3},
		},
		Policies: schedule.Policies{Overlap: schedule.OverlapAllowAll, CatchupWindow: schedule.Duration(time.Hour)},
	}
}
