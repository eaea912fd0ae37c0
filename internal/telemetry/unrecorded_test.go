package telemetry

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TestUnrecordedIsLikeTheSDK: whatever a span begins in, what it says to other processes is what the SDK would say.
func TestUnrecordedIsLikeTheSDK(t *testing.T) {
	t.Parallel()
	sdk := sdktrace.NewTracerProvider()
	state, err := trace.ParseTraceState("vendor=1")
	require.NoError(t, err)
	traceID, spanID := trace.TraceID{1}, trace.SpanID{2}
	parents := map[string]trace.SpanContextConfig{
		"none":        {},
		"sampled":     {TraceID: traceID, SpanID: spanID, TraceFlags: trace.FlagsSampled, TraceState: state},
		"not sampled": {TraceID: traceID, SpanID: spanID, TraceState: state},
		"random":      {TraceID: traceID, SpanID: spanID, TraceFlags: trace.FlagsSampled | trace.FlagsRandom},
		"no span":     {TraceID: traceID, TraceState: state},
		"no trace":    {SpanID: spanID, TraceState: state},
	}
	for name, parent := range parents {
		for _, remote := range []bool{false, true} {
			parent.Remote = remote
			ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(parent))
			for _, options := range [][]trace.SpanStartOption{
				nil, {trace.WithSpanKind(trace.SpanKindServer)}, {trace.WithNewRoot()},
			} {
				want, got := started(ctx, sdk, options), started(ctx, Unrecorded(), options)
				assert.Equal(t, want, got, name)
			}
		}
	}
}

// started is what other processes see of a new span. What is made by chance is left out.
func started(ctx context.Context, provider trace.TracerProvider, options []trace.SpanStartOption) trace.SpanContext {
	parent := trace.SpanContextFromContext(ctx)
	_, span := provider.Tracer("test").Start(ctx, "test", options...)
	defer span.End()
	seen := span.SpanContext()
	if !seen.IsValid() || seen.SpanID() == parent.SpanID() {
		return trace.SpanContext{}
	}
	if seen = seen.WithSpanID(trace.SpanID{}); seen.TraceID() != parent.TraceID() {
		seen = seen.WithTraceID(trace.TraceID{})
	}
	return seen
}

func TestUnrecordedSpansMakeOneTrace(t *testing.T) {
	t.Parallel()
	tracer := Unrecorded().Tracer("test")
	ctx, root := tracer.Start(t.Context(), "root")
	require.True(t, root.SpanContext().IsSampled())
	require.Same(t, root, trace.SpanFromContext(ctx))
	require.False(t, root.IsRecording())

	_, child := root.TracerProvider().Tracer("other").Start(ctx, "child")
	require.Equal(t, root.SpanContext().TraceID(), child.SpanContext().TraceID())
	require.NotEqual(t, root.SpanContext().SpanID(), child.SpanContext().SpanID())
	_, other := tracer.Start(t.Context(), "other")
	require.NotEqual(t, root.SpanContext().TraceID(), other.SpanContext().TraceID())
}

// TestTransitionIsTraced: a transition continues the trace of its message, whoever makes the spans.
func TestTransitionIsTraced(t *testing.T) {
	t.Parallel()
	key := schedule.Key{Namespace: "default", ID: "nightly"}
	for name, provider := range map[string]trace.TracerProvider{"sdk": sdktrace.NewTracerProvider(), "unrecorded": Unrecorded()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := nats.Header{HeaderTraceparent: {example}, HeaderTracestate: {"vendor=1"}}
			ctx, span := startTransition(Extract(t.Context(), header), provider.Tracer("test"), "invoke", key)
			defer span.End()
			cause := trace.SpanContextFromContext(Extract(t.Context(), header))
			require.Equal(t, cause.WithSpanID(span.SpanContext().SpanID()).WithRemote(false), span.SpanContext())
			require.Equal(t, span.SpanContext(), trace.SpanContextFromContext(ctx))

			_, root := startTransition(t.Context(), provider.Tracer("test"), "invoke", key)
			defer root.End()
			require.True(t, root.SpanContext().IsSampled())
		})
	}
}
