package telemetry

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/carillon-scheduler/carillon/schedule"
)

// StartRequest begins the span of a request to the API on a subject: of kind client where it is made, server where it is
// answered. It is named for what the request is about and its verb, such as "schedule.create". The caller ends it. A process
// that exports no spans has none where it makes requests.
func StartRequest(ctx context.Context, kind trace.SpanKind, subject string) (context.Context, trace.Span) {
	return startRequest(ctx, Tracer(), kind, subject)
}

func startRequest(ctx context.Context, tracer trace.Tracer, kind trace.SpanKind, subject string) (context.Context, trace.Span) {
	if isOff(tracer) {
		return ctx, noop.Span{}
	}
	namespace, name := splitRequest(subject)
	ctx, span := tracer.Start(ctx, name, trace.WithSpanKind(kind))
	if span.IsRecording() {
		thing, verb, _ := strings.Cut(name, ".")
		span.SetAttributes(semconv.RPCSystemKey.String("nats"), semconv.RPCService("carillon."+thing), semconv.RPCMethod(verb),
			AttributeNamespace.String(namespace))
	}
	return ctx, span
}

// splitRequest returns the namespace of a subject of the API, and what the request is about with its verb.
func splitRequest(subject string) (namespace, name string) {
	parts := strings.SplitN(subject, ".", 4) // <prefix>.api.<namespace>.<thing>.<verb>
	if len(parts) < 4 {
		return "", "request"
	}
	return parts[2], parts[3]
}

// Refused says in the span of a request that it was answered with an error. It has failed where the one who answers is at
// fault; for all others see the client.
func Refused(span trace.Span, failure *schedule.Error) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(semconv.ErrorTypeKey.String(string(failure.Code)))
	if failure.Code == schedule.CodeInternal || failure.Code == schedule.CodeUnavailable {
		span.SetStatus(codes.Error, failure.Error())
	}
}
