package invoker

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	aTrace       = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	anotherTrace = "00-11111111111111111111111111111111-2222222222222222-01"
)

// TestWhatAStartHasWaitedFor is in the record until the start is ready, and remembered from there on.
func TestWhatAStartHasWaitedFor(t *testing.T) {
	t.Parallel()
	for want, start := range map[string]wire.BufferedStart{
		"":             {Phase: schedule.PhasePending},
		"overlap":      {Phase: schedule.PhaseDeferred},
		"action_rate":  {Phase: schedule.PhasePending, Delay: &schedule.Delay{By: schedule.DelayActionRate}},
		"pending_runs": {Phase: schedule.PhasePending, Delay: &schedule.Delay{By: schedule.DelayPendingRuns}},
		"retry":        {Phase: schedule.PhaseReady, Attempt: 2},
	} {
		start.RequestID = "r"
		assert.Equal(t, want, waitedFor(&start))
		if start.Phase == schedule.PhaseReady {
			continue
		}
		s := &session{fresh: map[string]time.Time{}}
		s.record.Value.Starts = []wire.BufferedStart{start}
		s.refresh(&wire.InvokerState{Starts: []wire.BufferedStart{{RequestID: "r", Phase: schedule.PhaseReady}}}, time.Now())
		assert.Equal(t, want, s.waited["r"])
	}
}

func TestWhenAStartWasDue(t *testing.T) {
	t.Parallel()
	nominal := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	actual := nominal.Add(1500 * time.Millisecond)
	assert.Equal(t, actual, dueAt(&wire.BufferedStart{Nominal: nominal, Actual: actual}))
	assert.Zero(t, dueAt(&wire.BufferedStart{Nominal: nominal, Actual: actual, Manual: true}), "a backfill")
	asked := nominal.Add(1)
	assert.Equal(t, asked, dueAt(&wire.BufferedStart{Nominal: asked, Actual: asked, Manual: true}), "a trigger")
}

// TestATransitionHasASpanInEachTrace: what is handed over goes on from there, and what has ended is told there. It is not
// parallel: it sets the provider of the process.
func TestATransitionHasASpanInEachTrace(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)))
	defer otel.SetTracerProvider(noop.NewTracerProvider())
	header := func(traceparent string) nats.Header { return nats.Header{"traceparent": {traceparent}} }
	of := func(at int64, traceparent string, body Message) loop.Message[Message] {
		return loop.Message[Message]{Header: header(traceparent), Body: body, Stored: time.Unix(at, 0)}
	}
	ended := Message{Completion: &schedule.Completion{
		RequestID: "r", RunID: "run", Status: schedule.StatusFailed, Attempt: 3, TaskQueue: "q",
	}}
	ctx, span := loop.StartSpan(t.Context(), schedule.Key{Namespace: "default", ID: "s"}, []loop.Message[Message]{
		of(2, aTrace, Message{Enqueue: &wire.Enqueue{}}), of(1, anotherTrace, ended),
	})
	describe(span, []loop.Message[Message]{of(2, aTrace, Message{}), of(1, anotherTrace, ended)})
	own, other := span.Of(header(aTrace)).SpanContext(), span.Of(header(anotherTrace)).SpanContext()
	assert.Equal(t, own, span.SpanContext())
	assert.Equal(t, aTrace[3:35], own.TraceID().String())
	assert.Equal(t, anotherTrace[3:35], other.TraceID().String())
	assert.Contains(t, causeOf(ctx, header(aTrace)), own.SpanID().String())
	assert.Contains(t, causeOf(ctx, header(anotherTrace)), other.SpanID().String())
	assert.Empty(t, causeOf(ctx, nil))
	assert.Equal(t, aTrace, causeOf(t.Context(), header(aTrace)), "nobody records the transition")
	telemetry.End(span, nil)

	var seen int
	for _, s := range recorder.Ended() {
		if s.SpanContext().TraceID() != other.TraceID() {
			continue
		}
		seen++
		assert.Contains(t, s.Attributes(), telemetry.AttributeStatus.String("failed"))
		assert.Contains(t, s.Attributes(), telemetry.AttributeScheduleID.String("s"))
		require.Len(t, s.Links(), 1)
		assert.Equal(t, own, s.Links()[0].SpanContext)
	}
	assert.Equal(t, 1, seen)
}

// TestATransitionTellsWhatItHasDecided, by the events that are new.
func TestATransitionTellsWhatItHasDecided(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
	ctx, span := tracer.Start(t.Context(), "process task.invoke")
	old := schedule.Event{Kind: schedule.EventSkipped}
	added := []schedule.Event{
		{Kind: schedule.EventStarted, RequestID: "r1"},
		{Kind: schedule.EventDeferred, RequestID: "r2", WorkflowID: "w", Reason: "waits"},
		{Kind: schedule.EventMissed, Count: 7, Reason: "later than the catch-up window"},
	}
	before := wire.InvokerState{Incarnation: "i", EventSequence: 4, Outbox: []schedule.Event{old}}
	after := wire.InvokerState{Incarnation: "i", EventSequence: 7, Outbox: append([]schedule.Event{old}, added...)}
	require.Equal(t, added, newEvents(&before, &after))
	require.Empty(t, newEvents(&before, &before))
	require.Equal(t, after.Outbox, newEvents(&wire.InvokerState{}, &after))
	after.Outbox = nil
	require.Empty(t, newEvents(&before, &after), "they went first")

	recordDecisions(ctx, added)
	recordDecisions(t.Context(), added)
	span.End()
	got := recorder.Ended()[0].Events()
	require.Len(t, got, 2)
	assert.Equal(t, "carillon.deferred", got[0].Name)
	assert.Contains(t, got[0].Attributes, telemetry.AttributeReason.String("waits"))
	assert.Equal(t, "carillon.missed", got[1].Name)
	assert.Contains(t, got[1].Attributes, telemetry.AttributeStarts.Int(7))
}
