// Package loop is the message loop that generator, invoker and backfiller share (docs/semantics.md §11).
//
// A [Loop] pulls the messages of one pool from the task stream of every shard, decodes them, groups what has arrived by
// schedule and hands each group to the pool's [Handler], one group of a schedule at a time. The handler's [Verdict] says
// what becomes of the group's messages: acknowledged, held until a moment, or given back for a later attempt. While
// messages are held or worked on the loop extends their acknowledgement deadline; when it stops it lets running groups
// finish and gives everything else back at once.
//
// What a handler cannot decode, or fails on for a reason that will not pass, goes to the dead letter stream with the
// reason and where it came from. What fails because NATS is away is tried again for as long as it takes. A message that
// makes its group fail for good is found by handling each of the group alone.
//
// Guarantees: every message is handled at least once; messages of one schedule are handled in no particular order and
// never by two groups of one process at a time, but possibly by another process.
//
// The package knows subjects and schedule, not what the pools do. It must never hold a decision about schedules.
//
// The package may import schedule, subjects, internal/bus, internal/codec, internal/deadletter, internal/events,
// internal/flood, internal/metrics, internal/namespaces and internal/telemetry.
package loop
