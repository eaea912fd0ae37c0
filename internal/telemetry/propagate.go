package telemetry

import (
	"context"
	"strings"

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

// InjectTraceparent writes a trace context that was stored into the headers of a message, or that of ctx when the text is not
// a valid traceparent: what Inject does with [WithTraceparent].
func InjectTraceparent(ctx context.Context, traceparent string, header nats.Header) {
	if isTraceparent(traceparent) {
		header[HeaderTraceparent] = []string{traceparent} // reading and writing it gives the same
		return
	}
	Inject(WithTraceparent(ctx, traceparent), header)
}

// Extract returns ctx with the trace context of a message's headers as its remote parent, or ctx itself when the
// headers hold none that is valid. A nil header is fine.
func Extract(ctx context.Context, header nats.Header) context.Context {
	return propagator.Extract(ctx, headerCarrier(header))
}

// Traceparent returns the trace context of ctx as a W3C traceparent, or "" when there is none.
func Traceparent(ctx context.Context) string {
	var carrier loneCarrier
	propagator.Inject(ctx, &carrier)
	return carrier.traceparent
}

// WithTraceparent reverses [Traceparent]: it returns ctx with that trace context as its remote parent, or ctx itself
// when the text is not a valid traceparent.
func WithTraceparent(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagator.Extract(ctx, &loneCarrier{traceparent})
}

// The parts of a traceparent of version 00, which is the version that is written here: 00-<trace>-<span>-<flags>.
const (
	traceparentLength = 55
	traceStart        = 3
	spanStart         = 36
	flagsStart        = 53
)

// isTraceparent reports whether text is a valid traceparent in the form in which the propagator would write it. It says
// no to some that are valid, and are written in another form: those of later versions.
func isTraceparent(text string) bool {
	return len(text) == traceparentLength && strings.HasPrefix(text, "00-") &&
		isID(text[traceStart:spanStart-1]) && text[spanStart-1] == '-' &&
		isID(text[spanStart:flagsStart-1]) && text[flagsStart-1] == '-' &&
		// Sampled, random, both or none: other flags are reserved.
		text[flagsStart] == '0' && text[flagsStart+1] >= '0' && text[flagsStart+1] <= '3'
}

// isID reports whether text is a number in hexadecimal, in lower case and not zero.
func isID(text string) bool {
	zero := true
	for i := range len(text) {
		c := text[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
		zero = zero && c == '0'
	}
	return !zero
}
