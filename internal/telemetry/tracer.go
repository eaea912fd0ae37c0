package telemetry

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Tracer is the tracer of all of Carillon's spans. Without the SDK there are none: the trace context that was given is passed on.
func Tracer() trace.Tracer { return otel.Tracer("github.com/carillon-scheduler/carillon") }

// MayRecord reports whether this process makes spans. Where it does not, what prepares them is in vain.
func MayRecord() bool {
	return !isOff(Tracer())
}

// isOff reports whether a tracer makes no spans, as in a process that exports none: see package sdk.
func isOff(tracer trace.Tracer) bool {
	_, off := tracer.(noop.Tracer)
	return off
}
