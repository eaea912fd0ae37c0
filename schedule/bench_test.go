package schedule

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// benchmarkRecords are records and messages as a busy schedule has them, by name.
func benchmarkRecords() map[string]any {
	definition := benchmarkDefinition()
	starts := make([]BufferedStart, 12)
	for i := range starts {
		starts[i] = benchmarkStart(definition, i, i < 10)
	}
	full := golden()
	return map[string]any{
		"InvokerState":   benchmarkState(definition, starts),
		"Enqueue":        benchmarkEnqueue(definition),
		"GeneratorState": full["generator"],
		"Wake":           &Wake{Incarnation: definition.Incarnation, Version: 4, Reason: ReasonDue},
		"Definition":     definition,
		"FullDefinition": full["definition"],
		"FullBackfill":   full["backfill"],
	}
}

func benchmarkDefinition() *Definition {
	return &Definition{
		Namespace: "default", ID: "daily-report", Incarnation: "0b8d7f8e-3f0c-4c3e-9d1f-000000000001", Version: 4,
		Schedule: Schedule{
			Spec: Spec{Intervals: []Interval{{Every: Duration(time.Second)}}, TimeZone: "Europe/Berlin"},
			Action: Action{
				Type: "report", TaskQueue: "reports", Input: json.RawMessage(`{"to":"ops","count":3}`),
				RunTimeout: Duration(time.Minute), RetryPolicy: &RetryPolicy{MaximumAttempts: 3},
			},
			Policies: Policies{Overlap: OverlapAllowAll, CatchupWindow: Duration(time.Hour)},
		},
		CreateTime: at(1), UpdateTime: at(2),
	}
}

// benchmarkStart is the start of a time, in progress or completed.
func benchmarkStart(d *Definition, second int, completed bool) BufferedStart {
	due := whole(9).Add(time.Duration(second) * time.Second)
	s := NewStart(d, SourceAuto, due, due)
	s.Phase, s.Attempt, s.Overlap, s.TaskQueue = PhaseStarted, 1, OverlapAllowAll, d.Schedule.Action.TaskQueue
	s.RunID, s.StartTime = RunID(s.RequestID), due.Add(3*time.Millisecond)
	s.Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if completed {
		s.Phase, s.Status, s.RunAttempt, s.Worker = PhaseCompleted, StatusCompleted, 1, "host-1"
		s.CodeTime, s.CloseTime = due.Add(4*time.Millisecond), due.Add(5*time.Millisecond)
		s.Result, s.ResultBytes = json.RawMessage(`{"rows":7}`), 10
	}
	return s
}

func benchmarkState(d *Definition, starts []BufferedStart) *InvokerState {
	newest := &starts[len(starts)-1]
	var going []BufferedStart
	var ended EndedRuns
	for i := range starts {
		if starts[i].Phase != PhaseCompleted {
			going = append(going, starts[i])
			continue
		}
		run := NewRun(&starts[i])
		ended = ended.With(&run, len(starts))
	}
	state := &InvokerState{
		Incarnation: d.Incarnation, Starts: going, Ended: ended,
		Sources: map[string]SourceProgress{SourceAuto: {
			Covered: []Span{{From: whole(1), To: newest.Nominal}}, LastFrom: starts[len(starts)-2].Nominal, LastCount: 1,
			Version: d.Version, LastNominal: newest.Nominal,
		}},
		LimitVersion: 1, Counters: Counters{Actions: 4711}, EventSequence: 9422,
	}
	for i, kind := range []EventKind{EventStarted, EventCompleted} {
		state.Outbox = append(state.Outbox, Event{
			ID: fmt.Sprintf("%s-%d", d.Incarnation, 9421+i), Time: newest.StartTime, Namespace: d.Namespace, ScheduleID: d.ID,
			Kind: kind, RequestID: newest.RequestID, WorkflowID: newest.WorkflowID, RunID: newest.RunID,
			Nominal: newest.Nominal, Actual: newest.Actual, Source: SourceAuto, TaskQueue: newest.TaskQueue, Trace: newest.Trace,
		})
	}
	return state
}

func benchmarkEnqueue(d *Definition) *Enqueue {
	due := whole(9)
	return &Enqueue{
		Incarnation: d.Incarnation, Version: d.Version, Source: SourceAuto, Span: Span{From: due.Add(-time.Second), To: due},
		Starts: []BufferedStart{NewStart(d, SourceAuto, due, due)},
	}
}

func BenchmarkMarshal(b *testing.B) {
	for name, record := range benchmarkRecords() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Marshal(record)
			}
		})
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	for name, record := range benchmarkRecords() {
		b.Run(name, func(b *testing.B) {
			data, err := Marshal(record)
			require.NoError(b, err)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				into := reflect.New(reflect.TypeOf(record).Elem())
				_ = Unmarshal(data, into.Interface())
			}
		})
	}
}

// BenchmarkNewStart: the identity of a start, which every time that is due costs.
func BenchmarkNewStart(b *testing.B) {
	d, due := benchmarkDefinition(), whole(9)
	b.ReportAllocs()
	for b.Loop() {
		NewStart(d, SourceAuto, due, due)
	}
}

func BenchmarkRunID(b *testing.B) {
	start := benchmarkStart(benchmarkDefinition(), 1, false)
	b.ReportAllocs()
	for b.Loop() {
		RunID(start.RequestID)
	}
}

// BenchmarkJSON: the messages that travel as JSON, written and read as the pools and workers do.
func BenchmarkJSON(b *testing.B) {
	definition := benchmarkDefinition()
	start := benchmarkStart(definition, 1, true)
	for name, message := range map[string]any{
		"Event": &benchmarkState(definition, []BufferedStart{start, start}).Outbox[1],
		"ActionRequest": &ActionRequest{
			Namespace: definition.Namespace, ScheduleID: definition.ID, WorkflowID: start.WorkflowID, RunID: start.RunID,
			RequestID: start.RequestID, Type: "report", TaskQueue: start.TaskQueue, Callback: "carillon.callback.default.17.daily",
			NominalTime: start.Nominal, DueTime: start.Actual, Input: definition.Schedule.Action.Input,
		},
		"Completion": &Completion{
			RequestID: start.RequestID, RunID: start.RunID, Status: start.Status, Result: start.Result,
			StartTime: start.CodeTime, CloseTime: start.CloseTime, Attempt: 1, Worker: start.Worker,
		},
	} {
		data, err := json.Marshal(message)
		require.NoError(b, err)
		b.Run("Marshal/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = json.Marshal(message)
			}
		})
		b.Run("Unmarshal/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = json.Unmarshal(data, reflect.New(reflect.TypeOf(message).Elem()).Interface())
			}
		})
	}
}

// BenchmarkValidate: what the API does with every schedule that is created or updated.
func BenchmarkValidate(b *testing.B) {
	small := CreateRequest{ID: "daily-report", Schedule: benchmarkDefinition().Schedule}
	full := CreateRequest{ID: "daily-report", Schedule: fullSchedule()}
	named := fullNamed()
	for name, request := range map[string]CreateRequest{"small": small, "full": full} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = request.Schedule.Spec.ValidateWith(named)
			}
		})
	}
}

// BenchmarkDecodeJSON: a create request, read as strictly as the API reads it.
func BenchmarkDecodeJSON(b *testing.B) {
	text, err := EncodeJSON(CreateRequest{ID: "daily-report", Schedule: benchmarkDefinition().Schedule})
	require.NoError(b, err)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		_ = DecodeJSON(text, new(CreateRequest))
	}
}
