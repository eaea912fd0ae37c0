// Package telemetry makes the spans of Carillon's processes, and carries trace context between them.
//
// Trace context travels as W3C Trace Context: in the headers of every NATS message ([Inject], [Extract]), and as one traceparent
// string in records and events, where a deferral may last hours ([Traceparent], [WithTraceparent], [InjectTraceparent]).
//
// This package decides which spans there are, their names and their contents, by the conventions of OpenTelemetry, so that all
// processes tell the same: [StartTransition], [StartProcess], [StartPublish], [StartRequest], [StartHTTP] and [Waited]. Callers
// add what they know of the work, if the span is recorded.
//
// These functions use only the OpenTelemetry API and hold no state. If spans are exported, package sdk below installs a tracer
// provider, once for each process. A process without one makes no spans, begins no traces, and passes on the trace context it was
// given.
//
// The package may import schedule and subjects.
package telemetry
