package telemetry

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/carillon-scheduler/carillon/schedule"
)

// StartProcess begins the span of processing a message of a destination, beneath the one that ctx carries, which is that of
// the message as a rule. End ends it.
func StartProcess(ctx context.Context, from Destination) (context.Context, trace.Span) {
	return startProcess(ctx, Tracer(), from)
}

func startProcess(ctx context.Context, tracer trace.Tracer, from Destination) (context.Context, trace.Span) {
	if isOff(tracer) {
		return ctx, noop.Span{}
	}
	o := of(processing, from)
	return tracer.Start(ctx, o.name, o.options...)
}

// StartPublish begins the span of publishing a message on a subject, and returns what to inject into its headers. End ends it,
// once the message is stored. A process that exports no spans has none of these: its messages continue what ctx carries.
func StartPublish(ctx context.Context, subject string) (context.Context, trace.Span) {
	return startPublish(ctx, Tracer(), subject)
}

func startPublish(ctx context.Context, tracer trace.Tracer, subject string) (context.Context, trace.Span) {
	if isOff(tracer) {
		return ctx, noop.Span{}
	}
	o := of(publishing, destinationOf(subject))
	ctx, span := tracer.Start(ctx, o.name, o.options...)
	if span.IsRecording() {
		span.SetAttributes(subjectAttributes(subject)...)
	}
	return ctx, span
}

// Waited adds a span to the trace of ctx that covers a time which has passed, for a reason that is one of a few; it may be
// empty. It does nothing where that time is not positive, or nobody records the trace.
func Waited(ctx context.Context, from, to time.Time, reason string, options ...trace.SpanStartOption) {
	waited(ctx, Tracer(), from, to, reason, options...)
}

func waited(ctx context.Context, tracer trace.Tracer, from, to time.Time, reason string, options ...trace.SpanStartOption) {
	if isOff(tracer) || !from.Before(to) {
		return
	}
	_, span := tracer.Start(ctx, "wait", append(options, trace.WithTimestamp(from))...)
	if reason != "" && span.IsRecording() {
		span.SetAttributes(AttributeWaitReason.String(reason))
	}
	span.End(trace.WithTimestamp(to))
}

// End ends a span, with an error or nil.
func End(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		Fail(span, errorType(err), err.Error())
	}
	span.End()
}

// Fail marks a span as failed. The kind of failure is one of a few, the text is for people.
func Fail(span trace.Span, kind, text string) {
	span.SetAttributes(semconv.ErrorTypeKey.String(kind))
	span.SetStatus(codes.Error, text)
}

// errorType is what kind of error this is: the code of one of ours, or the type of the innermost one.
func errorType(err error) string {
	var own *schedule.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.As(err, &own):
		return string(own.Code)
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return semconv.ErrorType(err).Value.AsString()
}
