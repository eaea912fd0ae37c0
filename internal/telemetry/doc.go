// Package telemetry carries trace context between Carillon's processes.
//
// Trace context travels as W3C Trace Context: in the headers of every NATS message ([Inject], [Extract]), and as one
// traceparent string in records and events, where a deferral may last hours ([Traceparent], [WithTraceparent],
// [InjectTraceparent]).
//
// These functions use the OpenTelemetry API alone and hold no state. Package sdk beneath installs a tracer provider, once for
// each process: the SDK, or [Unrecorded]. A process without one passes on the trace context it was given and begins no
// traces of its own.
package telemetry
