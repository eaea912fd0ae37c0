package telemetry

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// BenchmarkPropagation measures the cost for every message, both outgoing and incoming.
func BenchmarkPropagation(b *testing.B) {
	traced := WithTraceparent(b.Context(), example)
	none, with := nats.Header{nats.MsgIdHdr: {"4711"}}, nats.Header{nats.MsgIdHdr: {"4711"}, HeaderTraceparent: {example}}
	for name, do := range map[string]func(){
		"extract-nothing": func() { Extract(b.Context(), none) },
		"extract":         func() { Extract(b.Context(), with) },
		"inject-nothing":  func() { Inject(b.Context(), none) },
		"inject":          func() { Inject(traced, with) },
		"inject-stored":   func() { InjectTraceparent(b.Context(), example, with) },
		"traceparent":     func() { Traceparent(traced) },
		"with":            func() { WithTraceparent(b.Context(), example) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}
}

// BenchmarkPublish measures the span of an outgoing message, by which tracer makes the spans and whether the trace is sampled.
func BenchmarkPublish(b *testing.B) {
	sampled := WithTraceparent(b.Context(), example)
	not := WithTraceparent(b.Context(), example[:53]+"00")
	provider := sdktrace.NewTracerProvider()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		tracer trace.Tracer
	}{
		{"off", sampled, noop.Tracer{}},
		{"not-sampled", not, provider.Tracer("bench")},
		{"recorded", sampled, provider.Tracer("bench")},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, span := startPublish(c.ctx, c.tracer, "carillon.task.0.invoke.default.daily-report.wake")
				span.End()
			}
		})
	}
}
