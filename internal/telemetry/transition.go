package telemetry

import (
	"context"

	"github.com/nats-io/nats.go"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/carillon-scheduler/carillon/schedule"
)

// maxLinks is the largest number of links in the span of a transition.
const maxLinks = 64

// Message is a message that a transition processes: where it came from, and its headers.
type Message struct {
	From   Destination
	Header nats.Header
}

// Transition is the span of a transition. If the transition processes several messages, each of the others has a span of the same
// duration in its own trace. So every trace shows what happened to its message, whatever was processed together with it.
type Transition struct {
	trace.Span
	// others are the spans of the other messages, by traceparent.
	others map[string]trace.Span
}

// End ends the spans.
func (t *Transition) End(options ...trace.SpanEndOption) {
	for _, span := range t.others {
		span.End(options...)
	}
	t.Span.End(options...)
}

// Of returns the span in which a message of the transition is processed.
func (t *Transition) Of(header nats.Header) trace.Span {
	if span, ok := t.others[header.Get(HeaderTraceparent)]; ok {
		return span
	}
	return t.Span
}

// StartTransition begins the span of one transition of a pool for a schedule, which processes messages from a destination. It
// continues the trace in the headers of the message that caused it, or begins one, and links to the other messages that it
// processes. End ends it.
func StartTransition(
	ctx context.Context, from Destination, key schedule.Key, cause nats.Header, others ...Message,
) (context.Context, *Transition) {
	return startTransition(Extract(ctx, cause), Tracer(), from, key, others...)
}

func startTransition(
	ctx context.Context, tracer trace.Tracer, from Destination, key schedule.Key, others ...Message,
) (context.Context, *Transition) {
	outer := ctx
	ctx, span := startProcess(ctx, tracer, from)
	t := &Transition{Span: span}
	if span.IsRecording() {
		span.SetAttributes(ScheduleAttributes(key)...)
	}
	if len(others) > 0 && !isOff(tracer) {
		t.join(outer, tracer, key, others)
	}
	if t.others == nil && !span.IsRecording() {
		return ctx, t
	}
	return trace.ContextWithSpan(ctx, t), t
}

// join adds the spans of the other messages.
func (t *Transition) join(ctx context.Context, tracer trace.Tracer, key schedule.Key, others []Message) {
	t.SetAttributes(semconv.MessagingBatchMessageCount(len(others) + 1))
	t.others = map[string]trace.Span{}
	for _, m := range others {
		traceparent := m.Header.Get(HeaderTraceparent)
		within := Extract(trace.ContextWithSpanContext(ctx, trace.SpanContext{}), m.Header)
		at := trace.SpanContextFromContext(within)
		if _, known := t.others[traceparent]; known || !at.IsValid() {
			continue
		}
		_, span := startProcess(within, tracer, m.From)
		if span.IsRecording() {
			span.SetAttributes(ScheduleAttributes(key)...)
			span.AddLink(trace.Link{SpanContext: t.SpanContext()})
		}
		if len(t.others) < maxLinks {
			t.AddLink(trace.Link{SpanContext: at})
		}
		t.others[traceparent] = span
	}
}
