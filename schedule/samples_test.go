package schedule

import (
	"encoding/json"
	"time"
)

// at returns an instant of 2026-03-01, in UTC, with nanoseconds.
func at(hour int) time.Time { return time.Date(2026, 3, 1, hour, 30, 15, 123456789, time.UTC) }

// whole returns an instant of 2026-03-01, in UTC, on a full second.
func whole(hour int) time.Time { return at(hour).Truncate(time.Second) }

// fullSchedule has every field set. It is valid, given fullNamed.
func fullSchedule() Schedule {
	return Schedule{
		Spec: fullSpec(),
		Action: Action{
			Type:             "report",
			WorkflowID:       "daily-report",
			TaskQueue:        "reports",
			Input:            json.RawMessage(`{"to":"<ops> & co","count":3,"factor":0.25}`),
			Headers:          map[string]string{"tenant": "blue"},
			Memo:             map[string]json.RawMessage{"owner": json.RawMessage(`"ops"`)},
			SearchAttributes: map[string]json.RawMessage{"region": json.RawMessage(`["eu","us"]`)},
			RunTimeout:       Duration(90 * time.Second),
			ExecutionTimeout: Duration(time.Hour),
			TaskTimeout:      Duration(250 * time.Millisecond),
			HeartbeatTimeout: Duration(12 * time.Second),
			RetryPolicy: &RetryPolicy{
				InitialInterval:        Duration(2 * time.Second),
				BackoffCoefficient:     1.5,
				MaximumInterval:        Duration(time.Minute),
				MaximumAttempts:        5,
				NonRetryableErrorTypes: []string{"BadInput"},
			},
			Priority: 2,
		},
		Policies: Policies{
			Overlap:                OverlapBufferOne,
			ConcurrencyLimit:       3,
			CatchupWindow:          Duration(time.Hour),
			CatchupMode:            CatchupLatest,
			LostRuns:               LostRunWait,
			PauseOnFailure:         true,
			KeepOriginalWorkflowID: true,
		},
		State: State{Notes: "for the\nops team", Paused: true, LimitedActions: true, RemainingActions: 7},
	}
}

func fullNamed() map[string]NamedCalendar {
	return map[string]NamedCalendar{"holidays": {
		Name: "holidays", Dates: []DateRange{"2027-01-01"}, Windows: []Blackout{{From: whole(5), To: whole(6)}},
	}}
}

func fullSpec() Spec {
	return Spec{
		Calendars:                  []Calendar{fullCalendar()},
		StructuredCalendars:        []StructuredCalendar{fullStructured()},
		Intervals:                  []Interval{{Every: Duration(time.Hour), Phase: Duration(90 * time.Second)}},
		Cron:                       []string{"30 9 * * mon-fri"},
		At:                         []time.Time{whole(9)},
		ExcludeCalendars:           []Calendar{fullCalendar()},
		ExcludeStructuredCalendars: []StructuredCalendar{fullStructured()},
		ExcludeDates:               []DateRange{"2026-12-24/2026-12-26"},
		Blackouts:                  []Blackout{{From: at(3), To: at(4)}},
		ExcludeCalendarsNamed:      []string{"holidays"},
		StartTime:                  at(1),
		EndTime:                    at(23),
		Jitter:                     Duration(1500 * time.Millisecond),
		TimeZone:                   "Europe/Berlin",
		TimeZoneData:               zoneData(),
		DST:                        DST{Gap: GapShift, Repeat: RepeatFirst},
	}
}

// zoneData is the shortest time zone file there is: version 1, one zone, UTC.
func zoneData() []byte {
	data := make([]byte, 44, 54)
	copy(data, "TZif")
	data[39], data[43] = 1, 4 // one type, four bytes of abbreviations
	data = append(data, 0, 0, 0, 0, 0, 0)
	return append(data, "UTC\x00"...)
}

func fullCalendar() Calendar {
	return Calendar{
		Second: "1", Minute: "2-4", Hour: "9", DayOfMonth: "*/2", Month: "jan-jun", Year: "2026", DayOfWeek: "mon-fri",
		Comment: "office hours",
	}
}

func fullStructured() StructuredCalendar {
	return StructuredCalendar{
		Second:     []Range{{Start: 1, End: 30, Step: 2}},
		Minute:     []Range{{Start: 2, End: 30, Step: 2}},
		Hour:       []Range{{Start: 3, End: 20, Step: 2}},
		DayOfMonth: []Range{{Start: 4, End: 30, Step: 2}},

		LastDayOfMonth: []Range{{Start: 1, End: 3, Step: 2}},
		NearestWeekday: []Range{{Start: 15, End: 17, Step: 2}},
		LastWeekday:    true,

		Month:         []Range{{Start: 5, End: 12, Step: 2}},
		Year:          []Range{{Start: 2026, End: 2030, Step: 2}},
		DayOfWeek:     []Range{{Start: 1, End: 5, Step: 2}},
		NthDayOfWeek:  []NthDayOfWeek{{DayOfWeek: 5, Nth: 2}},
		LastDayOfWeek: []Range{{Start: 2, End: 4, Step: 2}},
		Comment:       "odd ones",
	}
}

// fullRun is a run that has ended, as it comes back from a record.
func fullRun() *Run {
	start := fullStart()
	run := NewRun(&start)
	return &run
}

func fullStart() BufferedStart {
	return BufferedStart{
		RequestID:    "sched-auto-1",
		WorkflowID:   "daily-report-2026-03-01T09:00:00Z",
		Nominal:      whole(9),
		Actual:       at(9),
		Overlap:      OverlapBufferAll,
		Manual:       true,
		Source:       SourceAuto,
		Phase:        PhaseCompleted,
		Attempt:      2,
		BackoffUntil: at(10),
		Delay:        &Delay{By: DelayActionRate, NotBefore: at(11)},
		TaskQueue:    "reports",
		RunID:        "run-1",
		StartTime:    at(11),
		Ending:       ControlCancel,
		Status:       StatusFailed,
		CloseTime:    at(12),
		CodeTime:     at(13),
		Trace:        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		Identity:     "ann@desk",
		Skip:         true,
		Overridden:   true,
		RunAttempt:   3,
		Worker:       "host-1",
		Outcome:      fullOutcome(),
	}
}

func fullEvent() Event {
	return Event{
		ID: "i1-7", Time: at(9), Namespace: "default", ScheduleID: "daily", Kind: EventCompleted,
		RequestID: "sched-auto-1", WorkflowID: "daily-1", RunID: "run-1", Nominal: whole(9), Actual: at(9), Manual: true,
		Status: StatusTimedOut, CodeTime: at(10), CloseTime: at(11), Attempt: 3, Worker: "host-1", Count: 2, Reason: "too slow", Trace: "00-1-2-01",
		First: whole(1), Last: whole(2), Source: "b1", Overlap: OverlapSkip, TaskQueue: "reports", Identity: "ann@desk",
		Outcome: fullOutcome(),
	}
}

func fullOutcome() Outcome {
	return Outcome{Result: json.RawMessage(`{"rows":7}`), ResultBytes: 10, Failure: fullFailure()}
}

func fullTrigger() *Trigger {
	return &Trigger{
		Overlap: OverlapAllowAll, Note: "once more", Input: json.RawMessage(`{"format":"pdf"}`),
		Headers: map[string]string{"team": "finance"}, Memo: map[string]json.RawMessage{"ticket": json.RawMessage(`4711`)},
	}
}

func fullDefinition() *Definition {
	return &Definition{
		Namespace: "default", ID: "daily", Incarnation: "0b8d7f8e-3f0c-4c3e-9d1f-000000000001", Version: 4, LimitVersion: 3,
		Schedule: fullSchedule(), RequestID: "create-1", CreateTime: at(1), UpdateTime: at(2), ActiveSince: at(3),
		PausedBy: "ann@desk", PauseTime: at(4), Skips: []time.Time{whole(9)}, Requests: []BackfillState{fullBackfill()},
		Calendars: map[string]CalendarCopy{"holidays": {
			Incarnation: "c1", Version: 2, Edition: "e2", Dates: []DateRange{"2026-12-25"}, Windows: []Blackout{{From: at(5), To: at(6)}},
		}},
		CalendarsVersion: 4, ReplanTime: at(5), ReplanFrom: at(4),
		Events:      []DefinitionEvent{{Version: 3, Event: fullEvent()}},
		Applied:     []AppliedRequest{{RequestID: "r1", Version: 4}},
		Predecessor: &Deletion{Incarnation: "inc-0", RequestID: "r0"}, PredecessorClosed: "inc-0", Closing: true,
	}
}

func fullBackfill() BackfillState {
	return BackfillState{
		Incarnation: "i1", ID: "b1", RequestTime: at(1), Trigger: fullTrigger(),
		Range: &BackfillRange{Start: at(2), End: at(3), Overlap: OverlapSkip, Note: "the lost day"},
		Mark:  at(2), Handed: 50, Total: 70, TotalVersion: 4, Attempt: 2, Done: true, Trace: "00-1-2-01",
		Identity: "ann@desk", RequestID: "r1", Version: 4, Canceled: true, CanceledBy: "bob@desk",
		CancelRequestID: "r2",
	}
}

func fullFailure() *Failure {
	return &Failure{Message: "no such report", Type: "NotFound", Details: json.RawMessage(`{"report":7}`)}
}

func backfill() *BackfillState {
	b := fullBackfill()
	return &b
}

// golden is a filled value of each record and message that is stored, by the name of its golden file.
func golden() map[string]any {
	span := Span{From: at(8), To: at(9)}
	return map[string]any{
		"definition": fullDefinition(),
		"generator": &GeneratorState{
			Incarnation: "i1", Mark: at(3), HandedOff: at(2), Version: 4, Next: at(4), Future: []time.Time{at(4), at(5)},
			IdleDeadline: at(6), LastNominal: whole(3),
			ZoneData: "2026f", ZoneRules: "0123456789ab", ZoneOffset: -25200, Passed: whole(2),
		},
		"invoker": &InvokerState{
			Incarnation: "i1",
			Starts:      []BufferedStart{fullStart()},
			Ended:       EndedRuns(nil).With(fullRun(), 10), LastDue: at(7),
			Controls: []PendingControl{{
				Kind: ControlTerminate, RequestID: "sched-auto-1", WorkflowID: "daily-1", RunID: "run-1", TaskQueue: "reports",
				Reason: "terminated by ann@desk",
			}},
			Sources: map[string]SourceProgress{
				SourceAuto: {Covered: []Span{span}, LastFrom: at(8), LastMissed: 1, LastDropped: 2, LastSuperseded: 3,
					LastCount: 4, Complete: true, Withdrawn: true, Version: 4, LastNominal: whole(3), Settled: whole(2)},
			},
			LimitVersion: 3, LimitUsed: 2, HasResult: true, AskAt: at(14),
			Counters: Counters{Actions: 9, MissedCatchup: 8, OverlapSkipped: 7, BufferDropped: 6, SkippedOnRequest: 5},
			Outbox:   []Event{fullEvent()}, EventSequence: 12, Abandoned: true,
		},
		"backfill": backfill(),
		"result": &Result{
			Incarnation: "i1", Success: json.RawMessage(`[1,2]`), Failure: fullFailure(), CloseTime: at(9),
		},
		"wake": &Wake{Incarnation: "i1", Version: 4, Reason: ReasonDue, Told: true, Runs: RunsCancel, Created: fullDefinition(), GuardAgain: Duration(time.Second)},
		"enqueue": &Enqueue{
			Incarnation: "i1", Version: 4, Source: SourceAuto, Span: span, Starts: []BufferedStart{fullStart()},
			Missed: 3, Dropped: 4, DropReason: "frozen", Superseded: 5, MissedSpan: span, DroppedSpan: span, SupersededSpan: span, Complete: true,
		},
	}
}
