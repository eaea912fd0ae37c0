package telemetry

import (
	"testing"

	"github.com/nats-io/nats.go"
)

// BenchmarkPropagation: what every message costs, on its way out and on its way in.
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

// BenchmarkCountIgnored without a meter provider, as in a process that exports no metrics.
func BenchmarkCountIgnored(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		CountIgnored(b.Context(), "invoker", "repeat", 1)
	}
}
