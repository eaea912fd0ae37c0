package telemetry

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Unrecorded returns a tracer provider for a process that exports no spans. Spans have identifiers, continue the trace that
// they find and are marked as sampled, unless that trace is not: all that other processes see is as with the SDK. Nothing
// else of them is kept, which takes a fraction of the time.
func Unrecorded() trace.TracerProvider { return unrecorded{} }

// unrecorded is the provider, and its only tracer.
type unrecorded struct {
	noop.TracerProvider
}

// Tracer returns the same tracer for every name.
func (unrecorded) Tracer(string, ...trace.TracerOption) trace.Tracer { return unrecordedTracer{} }

type unrecordedTracer struct{ noop.Tracer }

// Start begins a span beneath the one of ctx, if there is one.
func (unrecordedTracer) Start(ctx context.Context, _ string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	parent := trace.SpanContextFromContext(ctx)
	if config := trace.NewSpanStartConfig(options...); config.NewRoot() {
		parent = trace.SpanContext{}
	}
	span := &unrecordedSpan{context: beneath(parent)}
	return trace.ContextWithSpan(ctx, span), span
}

// beneath returns the place of a new span that has that parent; a parent that is not valid begins a trace.
func beneath(parent trace.SpanContext) trace.SpanContext {
	place := trace.SpanContextConfig{
		TraceID: parent.TraceID(), SpanID: newSpanID(), TraceFlags: parent.TraceFlags(), TraceState: parent.TraceState(),
	}
	if !place.TraceID.IsValid() {
		place.TraceID = newTraceID()
	}
	if !parent.IsValid() {
		place.TraceFlags |= trace.FlagsSampled
	}
	return trace.NewSpanContext(place)
}

// unrecordedSpan is a span that has a place in a trace, and nothing else.
type unrecordedSpan struct {
	noop.Span
	context trace.SpanContext
}

// SpanContext returns the place of the span.
func (s *unrecordedSpan) SpanContext() trace.SpanContext { return s.context }

// TracerProvider returns the provider of the span.
func (*unrecordedSpan) TracerProvider() trace.TracerProvider { return unrecorded{} }

func newTraceID() (id trace.TraceID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id
}

func newSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}
