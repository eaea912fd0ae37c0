// Package loop is the message loop that generator, invoker and backfiller share (docs/semantics.md §11).
//
// A [Loop] pulls the messages of one pool from the task stream of every shard, decodes them, and groups them by schedule. It hands each
// group to the pool's [Handler], one group of a schedule at a time. The handler's [Verdict] says what becomes of the group's messages:
// acknowledged, held until a time, or given back for a later attempt. The loop extends the acknowledgement deadline of messages that are
// held or handled. When it stops, it lets running groups finish and gives everything else back at once.
//
// A message goes to the dead letter stream, with the reason and its origin, if the handler cannot decode it or fails for a reason that will
// not pass. If the handler fails because NATS is away, the loop tries again for as long as that takes. If a group fails permanently, the
// loop handles each of its messages alone to find the one that fails.
//
// Guarantees: every message is handled at least once. Messages of one schedule are handled in no particular order. Two groups of one
// schedule are never handled at the same time by one process, but perhaps by two processes.
//
// The package knows subjects and schedule, not what the pools do. It must never contain a decision about schedules.
//
// The package may import schedule, subjects, internal/bus, internal/codec, internal/deadletter, internal/events, internal/flood,
// internal/metrics, internal/namespaces and internal/telemetry.
package loop
