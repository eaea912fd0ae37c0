// Package history is the pool that owns workflow executions: it answers all requests about them, and does what they make due.
//
// For each request, the pool takes the lock of the workflow ID, has the state of the execution from its memory or replays the journal, lets
// package execution decide, appends the entry to the journal (internal/journal), and answers. The append is the only commit. If another
// process has appended an entry in between, the pool reads that entry and decides again. What a request is refused for, or told without an
// entry, is checked against the end of the journal first, because another process may have changed it.
//
// The process works on many workflow IDs at once, and on one thing of each. Many requests that wait for the turn of one workflow ID keep nobody else
// waiting.
//
// Those who ask send the requests about one execution to one process, its owner (internal/owners), so that its memory is up to date. Nothing
// here depends on that.
//
// An entry may make things due: its tasks are offered to workers (internal/offer), or put into the backlog, or back from a sticky queue to
// the normal one; and a schedule is told how the execution ended that it started. Who does that, and when:
//
//  1. The process that has appended the entry does it right after the answer.
//  2. The durable consumer "transfer" of each journal stream delivers every entry to some process. If it is the one that has appended the
//     entry, it acknowledges the entry when its work is done.
//  3. Another process asks the one that has appended the entry. It answers when the work is done; then the entry is acknowledged. If NATS
//     says that there is no such process, or if that process has given up, the work is done here, as far as the state still owes it.
//  4. If the other process neither answers nor is gone, the entry is given back, and comes again.
//
// So nothing is lost by a crash, and each task is offered once in the ordinary case. A task that is offered twice is started once: the state
// tells.
//
// A delayed message comes at or before the next deadline of each workflow ID. If the last entry of the journal is an end, nothing is due. It is armed beside the append of the entry that brings the
// deadline, and only if the journal says that no earlier one comes. It wakes the pool through the task stream, as other timers do
// (internal/loop). It is the net: a process that has the execution in memory also has a timer for the next deadline, which is punctual.
//
// What no attempt can do, because an entry or the rest of its journal cannot be read, becomes a dead letter (internal/deadletter). The entry stays in
// its journal, so a person may ask for its work again.
//
// Runs go. A run that a client deletes is gone with an entry that says so, and the work of that entry is to remove the others. A run that has ended is
// removed when its namespace has kept it for its retention: one process of the pool reads each journal stream up to the first end that has not
// expired. Before entries are removed, their work is done. A namespace that asks for an archive keeps its runs until they are in it.
//
// Queries are offered to workers and answered, and never stored. Heartbeats are stored outside the journal, the last of each activity.
//
// At a standby (internal/site), the service only answers requests that read, from the mirrors of the journals: it consumes nothing and stores nothing.
//
// Only what composes the roles imports the package. It may import execution, schedule, subjects, internal/backlog, internal/bus,
// internal/call, internal/codec, internal/deadletter, internal/eventpage, internal/flood, internal/journal, internal/loop, internal/metrics, internal/namespaces, internal/offer, internal/owners, internal/site, internal/sleep, internal/task,
// internal/telemetry, internal/wire, internal/workflows, internal/archive/progress and kv. It must never import another pool, nor decide what becomes of an execution.
package history
