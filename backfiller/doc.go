// Package backfiller is the pool that turns manual requests, triggers and backfills, into starts (docs/semantics.md §8).
//
// Each request is a record of its own. The frontend makes the record; it also hands over the start of a trigger, unless it dies first. The
// pool hands the invoker as many starts as its buffer has room for, one batch at a time. It looks again when the invoker says that the
// buffer has changed, or when its backoff timer fires. A request may be canceled at any time; the invoker then drops its waiting starts.
// The record is removed when everything has been handed over or withdrawn, and none of it waits any more. An event says how the request
// ended.
//
// [Decide] is the whole decision, pure and without I/O. The [Pool] around it first hands over and then writes the record, with a
// compare-and-set (docs/semantics.md §11). A repeated hand-off adds nothing twice.
//
// State: one record [wire.BackfillState] for each request. Timers: subjects.BackfillTimer.
//
// The package imports schedule, specproc, subjects, kv and internal packages, and no other pool.
package backfiller
