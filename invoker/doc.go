// Package invoker is the pool that owns the buffer. It takes over due actions, applies overlap policies, starts runs, and learns from
// completions that they have ended (docs/semantics.md §5 to §7). Only the invoker starts, cancels and terminates runs.
//
// The decisions are pure. [Resolve] applies the overlap policies to a list of starts. [Transition] applies hand-offs and completions to the
// record and decides what is ready to start. [Apply] does the same with the results of the executed starts and cancels ([WorkOf]). The
// [Pool] around them works in this order (docs/semantics.md §11):
//
//  1. it reads the definition and the invoker's record;
//  2. it writes the new record with a compare-and-set, so that the intent is on disk before the effect;
//  3. it executes;
//  4. it writes the results.
//
// Work is executed in rounds, automated starts first. The rest of the work after a round waits for a later group of messages, so that no
// start or cancel waits for the hundreds of starts of a backfill.
//
// [Bounds] say what the namespace allows. A freeze drops automated starts, as a pause does. Limits give [Room]: a start without room stays
// pending. The retry timer wakes its schedule at the time that the start was given, or when it may ask again. The invokers of all processes
// assign these times from one record for each namespace, a few at a time to each schedule.
//
// A crash does no harm, because
//
//   - every start has a request ID, which is also its message ID;
//   - the action stream refuses a second start of a workflow ID that is queued or running;
//   - before a start that may have been published is published again, the invoker looks for it in the queue, among the completions and in
//     the record;
//   - the hand-offs of one source form a chain whose covered ranges are in the record, so a repeated or overtaken hand-off adds nothing
//     twice and loses nothing;
//   - a ready start is given up only after its message ID is used up, so that nobody can publish it any more (renounce.go);
//   - events wait in the record until they are published.
//
// Every change of a counter has an event, so the events alone restore the counters ([schedule.Counters.Add]).
//
// State: the records [wire.InvokerState], [wire.Result] and [wire.StartRate]. Timer: subjects.RetryTimer.
//
// The package imports schedule, specproc, subjects, kv and internal packages, and no other pool.
package invoker
