package telemetry

import (
	"context"
	"net/http"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/propagation"
)

// The header names of W3C Trace Context. NATS headers are case-sensitive: these are the spelling on the wire, which
// workers in other languages see.
const (
	HeaderTraceparent = "traceparent"
	HeaderTracestate  = "tracestate"
)

// propagator is fixed rather than taken from the global registry: what is on the wire is part of the protocol.
var propagator = propagation.TraceContext{}

// Inject writes the trace context of ctx into the headers of a message. Without a valid trace context it writes
// nothing. The header must not be nil.
func Inject(ctx context.Context, header nats.Header) {
	propagator.Inject(ctx, headerCarrier(header))
}

// Extract returns ctx with the trace context of a message's headers as its remote parent, or ctx itself when the
// headers hold none that is valid. A nil header is fine.
func Extract(ctx context.Context, header nats.Header) context.Context {
	return propagator.Extract(ctx, headerCarrier(header))
}

// Traceparent returns the trace context of ctx as a W3C traceparent, or "" when there is none.
func Traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagator.Inject(ctx, carrier)
	return carrier[HeaderTraceparent]
}

// WithTraceparent reverses [Traceparent]: it returns ctx with that trace context as its remote parent, or ctx itself
// when the text is not a valid traceparent.
func WithTraceparent(ctx context.Context, traceparent string) context.Context {
	return propagator.Extract(ctx, propagation.MapCarrier{HeaderTraceparent: traceparent})
}

// headerCarrier makes NATS headers readable and writable for a propagator.
type headerCarrier nats.Header

// Get returns the first value of a header. Clients that canonicalise header names, as HTTP libraries do, are
// understood too.
func (c headerCarrier) Get(key string) string {
	header := nats.Header(c)
	if value := header.Get(key); value != "" {
		return value
	}
	return header.Get(http.CanonicalHeaderKey(key))
}

// Set replaces a header.
func (c headerCarrier) Set(key, value string) { nats.Header(c).Set(key, value) }

// Keys returns the names of the headers.
func (c headerCarrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for key := range c {
		keys = append(keys, key)
	}
	return keys
}
