package telemetry

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/carillon-scheduler/carillon/schedule"
)

// StartProcess begins the span of processing a message from a destination. Its parent is the span in ctx, as a rule the
// message's. End ends it.
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

// StartPublish begins the span of publishing a message on a subject, and returns the context to inject into its headers. End ends
// it, once the message is stored. A process that exports no spans makes none: its messages continue the trace in ctx.
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

// Waited adds a span to the trace of ctx that covers a time in the past. The reason for it is one of a few, and may be empty.
// Waited does nothing if that time is not positive, or if nobody records the trace.
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

// Fail marks a span as failed. kind is one of a few; text is for people.
func Fail(span trace.Span, kind, text string) {
	span.SetAttributes(semconv.ErrorTypeKey.String(kind))
	span.SetStatus(codes.Error, text)
}

// errorType returns the kind of an error: its code if it is one of ours, otherwise the type of the innermost error.
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

// Carillon's own attributes of spans. docs/tracing.md says what they hold. They are not for metrics: most have as
// many values as there are runs.
const (
	AttributeNamespace     = attribute.Key("carillon.namespace")
	AttributeScheduleID    = attribute.Key("carillon.schedule.id")
	AttributeRunID         = attribute.Key("carillon.run.id")
	AttributeWorkflowID    = attribute.Key("carillon.workflow.id")
	AttributeActionType    = attribute.Key("carillon.action.type")
	AttributeNominalTime   = attribute.Key("carillon.nominal_time")
	AttributeDueTime       = attribute.Key("carillon.due_time")
	AttributeOverlapPolicy = attribute.Key("carillon.overlap_policy")
	AttributeTaskQueue     = attribute.Key("carillon.task_queue")
	AttributeAttempt       = attribute.Key("carillon.attempt")
	AttributeStatus        = attribute.Key("carillon.status")
	AttributeSource        = attribute.Key("carillon.source")
	AttributeStarts        = attribute.Key("carillon.starts")
	AttributeWakeReason    = attribute.Key("carillon.wake.reason")
	AttributeWaitReason    = attribute.Key("carillon.wait.reason")
	AttributeReason        = attribute.Key("carillon.reason")
	AttributeRetryDelay    = attribute.Key("carillon.retry_delay")
)

// Tracer returns the tracer of all of Carillon's spans. Without the SDK it makes none, and the given trace context is passed on.
func Tracer() trace.Tracer { return otel.Tracer("github.com/carillon-scheduler/carillon") }

// MayRecord reports whether this process makes spans. If not, preparing them is wasted work.
func MayRecord() bool {
	return !isOff(Tracer())
}

// isOff reports whether a tracer makes no spans, as in a process that exports none: see package sdk.
func isOff(tracer trace.Tracer) bool {
	_, off := tracer.(noop.Tracer)
	return off
}
