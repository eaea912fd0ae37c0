// Package invoker is the pool that owns the buffer: it takes over due actions, applies overlap policies, starts runs,
// and learns from completions when they have ended (docs/semantics.md §5 to §7). It alone makes calls with side effects.
//
// The decisions are pure. [Resolve] applies the overlap policies to a list of starts. [Transition] applies hand-offs and
// completions to the record and settles what is ready to start; [Apply] does the same with what came of the starts and
// cancels it was asked to execute ([WorkOf]). The [Pool] around them reads the definition and the invoker's record,
// writes the record with a compare-and-set before anything with a side effect happens, executes, and writes the results
// (docs/semantics.md §11): the intent is on disk before the effect.
//
// Work is executed in rounds, automated starts first, and what is left after a round waits for a later group of messages:
// so that neither a start nor a cancel waits for the hundreds of starts of a backfill.
//
// What a namespace allows are the [Bounds] of a transition. A freeze drops automated starts as a pause does. Limits give [Room]: a
// start without it stays pending, and the retry timer wakes its schedule at the time that it has been given, or when it may ask
// again. The invokers of all processes deal out those times from one record for each namespace, a few at a time to a schedule.
//
// What makes a crash harmless: every start bears a request ID that is also its message ID; the action stream refuses a
// second start of a workflow ID that is queued or running; a start that may have been published before is looked for,
// in the queue, among the completions and in the record, before it is published again; hand-offs of one source form a
// chain whose covered ranges are in the record, so a repeated or overtaken one adds nothing twice and loses nothing; what has
// been ready is given up only when its message ID is used up, so that nobody can publish it any more (renounce.go); and
// events wait in the record until they are published. Counters change with an event each, so that the events alone give
// them back ([schedule.Counters.Add]).
//
// State: the records [wire.InvokerState], [wire.Result] and [wire.StartRate]. Timer: subjects.RetryTimer.
//
// The package imports schedule, specproc, subjects, kv and internal packages, and no other pool.
package invoker
