// Package backfiller is the pool that turns manual requests, triggers and backfills, into starts (docs/semantics.md §8).
//
// Each request is a record of its own, made by the frontend, which also hands over the start of a trigger if it lives. The
// pool hands the invoker as many starts as its buffer has room for, one batch at a time, and looks again when the invoker
// says that the buffer has changed, or when its backoff timer fires. Somebody may cancel a request at any time: the invoker
// then drops what waits of it. The record goes when everything has been handed over, or withdrawn, and none of it waits any
// more; an event says how it ended.
//
// [Decide] is the whole decision, pure and without I/O. The [Pool] around it hands over first and writes the record
// then, with a compare-and-set (docs/semantics.md §11); a repeated hand-off adds nothing twice.
//
// State: one record [wire.BackfillState] a request. Timers: subjects.BackfillTimer.
//
// The package imports schedule, specproc, subjects, kv and internal packages, and no other pool.
package backfiller
