package telemetry

import (
	"context"
	"strings"

	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// StartRPC begins the span of a gRPC request that has arrived. method is its full name, such as "/service/Method"; the namespace may be empty.
// The caller ends the span.
func StartRPC(ctx context.Context, method, namespace string) (context.Context, trace.Span) {
	return startRPC(ctx, Tracer(), method, namespace)
}

func startRPC(ctx context.Context, tracer trace.Tracer, method, namespace string) (context.Context, trace.Span) {
	if isOff(tracer) {
		return ctx, noop.Span{}
	}
	name := strings.TrimPrefix(method, "/")
	ctx, span := tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
	if span.IsRecording() {
		service, verb, _ := strings.Cut(name, "/")
		span.SetAttributes(semconv.RPCSystemGRPC, semconv.RPCService(service), semconv.RPCMethod(verb), AttributeNamespace.String(namespace))
	}
	return ctx, span
}
