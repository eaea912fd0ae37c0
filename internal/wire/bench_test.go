package wire_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// benchmarkRecords are records and messages as a busy schedule has them, by name.
func benchmarkRecords() map[string]any {
	definition := benchmarkDefinition()
	starts := make([]wire.BufferedStart, 12)
	for i := range starts {
		starts[i] = benchmarkStart(definition, i, i < 10)
	}
	full := scheduletest.Records()
	return map[string]any{
		"InvokerState":   benchmarkState(definition, starts),
		"Enqueue":        benchmarkEnqueue(definition),
		"GeneratorState": full["generator"],
		"Wake":           &wire.Wake{Incarnation: definition.Incarnation, Version: 4, Reason: wire.ReasonDue},
		"Definition":     definition,
		"FullDefinition": full["definition"],
		"FullBackfill":   full["backfill"],
	}
}

func benchmarkDefinition() *wire.Definition {
	return &wire.Definition{
		Namespace: "default", ID: "daily-report", Incarnation: "0b8d7f8e-3f0c-4c3e-9d1f-000000000001", Version: 4,
		Schedule:   scheduletest.SmallSchedule(),
		CreateTime: scheduletest.At(1), UpdateTime: scheduletest.At(2),
	}
}

// benchmarkStart is the start of a time, in progress or completed.
func benchmarkStart(d *wire.Definition, second int, completed bool) wire.BufferedStart {
	due := scheduletest.Whole(9).Add(time.Duration(second) * time.Second)
	s := wire.NewStart(d, schedule.SourceAuto, due, due)
	s.Phase, s.Attempt, s.Overlap, s.TaskQueue = schedule.PhaseStarted, 1, schedule.OverlapAllowAll, d.Schedule.Action.TaskQueue
	s.RunID, s.StartTime = wire.RunID(s.RequestID), due.Add(3*time.Millisecond)
	s.Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if completed {
		s.Phase, s.Status, s.RunAttempt, s.Worker = schedule.PhaseCompleted, schedule.StatusCompleted, 1, "host-1"
		s.CodeTime, s.CloseTime = due.Add(4*time.Millisecond), due.Add(5*time.Millisecond)
		s.Result, s.ResultBytes = json.RawMessage(`{"rows":7}`), 10
	}
	return s
}

func benchmarkState(d *wire.Definition, starts []wire.BufferedStart) *wire.InvokerState {
	newest := &starts[len(starts)-1]
	var going []wire.BufferedStart
	var ended wire.EndedRuns
	for i := range starts {
		if starts[i].Phase != schedule.PhaseCompleted {
			going = append(going, starts[i])
			continue
		}
		run := wire.NewRun(&starts[i])
		ended = ended.With(&run, len(starts))
	}
	state := &wire.InvokerState{
		Incarnation: d.Incarnation, Starts: going, Ended: ended,
		Sources: map[string]wire.SourceProgress{schedule.SourceAuto: {
			Covered: []wire.Span{{From: scheduletest.Whole(1), To: newest.Nominal}}, LastFrom: starts[len(starts)-2].Nominal, LastCount: 1,
			Version: d.Version, LastNominal: newest.Nominal,
		}},
		LimitVersion: 1, Counters: wire.Counters{Actions: 4711}, EventSequence: 9422,
	}
	for i, kind := range []schedule.EventKind{schedule.EventStarted, schedule.EventCompleted} {
		state.Outbox = append(state.Outbox, schedule.Event{
			ID: fmt.Sprintf("%s-%d", d.Incarnation, 9421+i), Time: newest.StartTime, Namespace: d.Namespace, ScheduleID: d.ID,
			Kind: kind, RequestID: newest.RequestID, WorkflowID: newest.WorkflowID, RunID: newest.RunID,
			Nominal: newest.Nominal, Actual: newest.Actual, Source: schedule.SourceAuto, TaskQueue: newest.TaskQueue, Trace: newest.Trace,
		})
	}
	return state
}

func benchmarkEnqueue(d *wire.Definition) *wire.Enqueue {
	due := scheduletest.Whole(9)
	return &wire.Enqueue{
		Incarnation: d.Incarnation, Version: d.Version, Source: schedule.SourceAuto, Span: wire.Span{From: due.Add(-time.Second), To: due},
		Starts: []wire.BufferedStart{wire.NewStart(d, schedule.SourceAuto, due, due)},
	}
}

func BenchmarkMarshal(b *testing.B) {
	for name, record := range benchmarkRecords() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = codec.Marshal(record)
			}
		})
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	for name, record := range benchmarkRecords() {
		b.Run(name, func(b *testing.B) {
			data, err := codec.Marshal(record)
			require.NoError(b, err)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				into := reflect.New(reflect.TypeOf(record).Elem())
				_ = codec.Unmarshal(data, into.Interface())
			}
		})
	}
}

// BenchmarkNewStart: the identity of a start, which every time that is due costs.
func BenchmarkNewStart(b *testing.B) {
	d, due := benchmarkDefinition(), scheduletest.Whole(9)
	b.ReportAllocs()
	for b.Loop() {
		wire.NewStart(d, schedule.SourceAuto, due, due)
	}
}

func BenchmarkRunID(b *testing.B) {
	start := benchmarkStart(benchmarkDefinition(), 1, false)
	b.ReportAllocs()
	for b.Loop() {
		wire.RunID(start.RequestID)
	}
}

// BenchmarkJSON: the messages that travel as JSON, written and read as the pools and workers do.
func BenchmarkJSON(b *testing.B) {
	definition := benchmarkDefinition()
	start := benchmarkStart(definition, 1, true)
	for name, message := range map[string]any{
		"Event": &benchmarkState(definition, []wire.BufferedStart{start, start}).Outbox[1],
		"ActionRequest": &schedule.ActionRequest{
			Namespace: definition.Namespace, ScheduleID: definition.ID, WorkflowID: start.WorkflowID, RunID: start.RunID,
			RequestID: start.RequestID, Type: "report", TaskQueue: start.TaskQueue, Callback: "carillon.callback.default.17.daily",
			NominalTime: start.Nominal, DueTime: start.Actual, Input: definition.Schedule.Action.Input,
		},
		"Completion": &schedule.Completion{
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
