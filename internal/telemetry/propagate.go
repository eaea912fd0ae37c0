package telemetry

import (
	"context"
	"strings"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/propagation"
)

// The header names of W3C Trace Context. NATS headers are case-sensitive: this is the spelling on the wire, which workers in
// other languages see.
const (
	HeaderTraceparent = "traceparent"
	HeaderTracestate  = "tracestate"
)

// propagator is fixed and not taken from the global registry, because what is on the wire is part of the protocol.
var propagator = propagation.TraceContext{}

// Inject writes the trace context of ctx into the headers of a message. Without a valid trace context it writes nothing. The
// header must not be nil.
func Inject(ctx context.Context, header nats.Header) {
	propagator.Inject(ctx, headerCarrier(header))
}

// InjectTraceparent writes a stored trace context into the headers of a message. If the text is not a valid traceparent, it
// writes the trace context of ctx. It does the same as Inject with [WithTraceparent].
func InjectTraceparent(ctx context.Context, traceparent string, header nats.Header) {
	if isTraceparent(traceparent) {
		header[HeaderTraceparent] = []string{traceparent} // reading and writing it gives the same
		return
	}
	Inject(WithTraceparent(ctx, traceparent), header)
}

// Extract returns ctx with the trace context of a message's headers as its remote parent. If the headers have no valid one, it
// returns ctx itself. The header may be nil.
func Extract(ctx context.Context, header nats.Header) context.Context {
	return propagator.Extract(ctx, headerCarrier(header))
}

// Traceparent returns the trace context of ctx as a W3C traceparent, or "" if there is none.
func Traceparent(ctx context.Context) string {
	var carrier loneCarrier
	propagator.Inject(ctx, &carrier)
	return carrier.traceparent
}

// WithTraceparent reverses [Traceparent]. It returns ctx with that trace context as its remote parent, or ctx itself if the text
// is not a valid traceparent.
func WithTraceparent(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagator.Extract(ctx, &loneCarrier{traceparent})
}

// The parts of a traceparent of version 00, the version written here: 00-<trace>-<span>-<flags>.
const (
	traceparentLength = 55
	traceStart        = 3
	spanStart         = 36
	flagsStart        = 53
)

// isTraceparent reports whether text is a valid traceparent in the form that the propagator writes. It returns false for valid
// ones in another form: those of later versions.
func isTraceparent(text string) bool {
	return len(text) == traceparentLength && strings.HasPrefix(text, "00-") &&
		isID(text[traceStart:spanStart-1]) && text[spanStart-1] == '-' &&
		isID(text[spanStart:flagsStart-1]) && text[flagsStart-1] == '-' &&
		// Sampled, random, both or none: other flags are reserved.
		text[flagsStart] == '0' && text[flagsStart+1] >= '0' && text[flagsStart+1] <= '3'
}

// isID reports whether text is a lower-case hexadecimal number other than zero.
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
