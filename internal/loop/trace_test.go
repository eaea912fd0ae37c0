package loop_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestWhichTraceATransitionContinues, among those of its messages.
func TestWhichTraceATransitionContinues(t *testing.T) {
	t.Parallel()
	const first, second = "4bf92f3577b34da6a3ce929d0e0e4736", "11111111111111111111111111111111"
	of := func(trace string, held bool) loop.Message[string] {
		header := nats.Header{}
		if trace != "" {
			header.Set("traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
		}
		m := loop.Message[string]{Header: header, Held: held}
		if trace == first {
			m.Stored = time.Unix(1, 0)
		}
		return m
	}
	none := trace.TraceID{}.String()
	for _, c := range []struct {
		what  string
		group []loop.Message[string]
		want  string
		// last is the trace for who says that the last message is the cause.
		last string
	}{
		{"the only one", []loop.Message[string]{of(first, false)}, first, first},
		{"the newest of two", []loop.Message[string]{of(second, false), of(first, false)}, first, first},
		{"the newest of two, which came first", []loop.Message[string]{of(first, false), of(second, false)}, first, second},
		{"the one that has a trace", []loop.Message[string]{of("", false), of(second, false)}, second, second},
		{"the one that is new", []loop.Message[string]{of(first, true), of(second, false)}, second, second},
		{"the one that is held", []loop.Message[string]{of("", false), of(second, true)}, second, none},
		{"none", []loop.Message[string]{of("", false), of("", true)}, none, none},
	} {
		ctx, span := loop.StartSpan(t.Context(), schedule.Key{}, c.group)
		span.End()
		assert.Equal(t, c.want, trace.SpanContextFromContext(ctx).TraceID().String(), c.what)
		ctx, span = loop.StartSpanOf(t.Context(), schedule.Key{}, c.group, len(c.group)-1)
		span.End()
		assert.Equal(t, c.last, trace.SpanContextFromContext(ctx).TraceID().String(), c.what)
	}
}
