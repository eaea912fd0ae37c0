package telemetry

import (
	"context"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/carillon-scheduler/carillon/schedule"
)

// StartTransition begins the span of one transition of a pool: "generate", "invoke" or "backfill" for a schedule. It
// continues the trace in the headers of the message that caused it, or begins one.
func StartTransition(ctx context.Context, operation string, key schedule.Key, header nats.Header) (context.Context, trace.Span) {
	return startTransition(Extract(ctx, header), Tracer(), operation, key)
}

func startTransition(ctx context.Context, tracer trace.Tracer, operation string, key schedule.Key) (context.Context, trace.Span) {
	if unrecorded, ok := tracer.(unrecordedTracer); ok {
		return unrecorded.Start(ctx, operation) // what describes the span would go nowhere
	}
	return tracer.Start(ctx, operation,
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(
			attribute.String("carillon.namespace", key.Namespace),
			attribute.String("carillon.schedule_id", key.ID),
		))
}
