package telemetry

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
)

// Tracer is the tracer of all of Carillon's spans. Without the SDK its spans are invisible, and pass on the trace
// context they were given.
func Tracer() trace.Tracer { return otel.Tracer("github.com/carillon-scheduler/carillon") }

// MayRecord reports whether spans of this process may be seen by anybody. Where they cannot, what prepares them is in vain.
func MayRecord() bool {
	_, unrecorded := Tracer().(unrecordedTracer)
	return !unrecorded
}
