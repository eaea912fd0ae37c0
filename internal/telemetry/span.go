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
	return Tracer().Start(Extract(ctx, header), operation,
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(
			attribute.String("carillon.namespace", key.Namespace),
			attribute.String("carillon.schedule_id", key.ID),
		))
}
