// Package workflows is where schedules and executions of workflows meet: it turns one side's words into the other's.
//
//   - [Request] makes the request that starts an execution from an action, and [Report] the message that tells the schedule how the execution
//     ended.
//   - [FirstTask] and [LastTask] find the point to which a run is to be reset.
//   - [Payload] and [Text] convert payloads between Temporal's messages and the JSON of the schedule package.
//   - [Client] asks the pool history, over NATS.
//
// All but the client is pure. A request is sent again until its outcome is known, so history must recognize a repeat: by the request ID of a
// start, and by the run of an end.
//
// The package must hold no rule of schedules or of executions: those live in the invoker and in package execution. It may import schedule,
// subjects, internal/call, internal/codec, internal/jsontext, internal/owners, internal/payload, internal/telemetry and internal/wire.
package workflows
