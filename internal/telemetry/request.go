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

// StartRequest begins the span of a request on a subject: to the API, or to the owner of an execution. Its kind is client in the process that makes the request,
// and server in the one that answers. Its name is the thing and the verb, such as "schedule.create". The caller ends it. A client
// process that exports no spans makes none.
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

// splitRequest returns the namespace of a subject of requests, and its thing and verb: there are only a few of these. Other subjects share
// one name.
func splitRequest(subject string) (namespace, name string) {
	parts := strings.Split(subject, ".")
	if len(parts) != 5 {
		return "", "request"
	}
	switch parts[1] {
	case "api": // <prefix>.api.<namespace>.<thing>.<verb>
		return parts[2], parts[3] + "." + parts[4]
	case "execution": // <prefix>.execution.<shard>.<namespace>.<verb>
		return parts[3], parts[1] + "." + parts[4]
	}
	return "", "request"
}

// Refused records in the span of a request that the answer was an error. The span has failed only if the server is at fault: code
// internal or unavailable. For other errors see the client's span.
func Refused(span trace.Span, failure *schedule.Error) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(semconv.ErrorTypeKey.String(string(failure.Code)))
	if failure.Code == schedule.CodeInternal || failure.Code == schedule.CodeUnavailable {
		span.SetStatus(codes.Error, failure.Error())
	}
}
