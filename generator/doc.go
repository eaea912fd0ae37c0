// Package generator is the pool that turns a schedule's spec into due actions (docs/semantics.md §4).
//
// One message, "generate", runs it for one schedule: after a create, update or unpause, or when its timer or a guard fires. For the
// schedule, the generator
//
//   - advances the high water mark to now, and hands due actions to the invoker;
//   - makes sure that it is woken again at the next due time;
//   - marks the times that a user has asked to skip, and makes records of the triggers and backfills of a patch (decisions 17 and 23);
//   - hands over actions that are due in a freeze of the namespace as dropped.
//
// It never starts anything itself.
//
// [Decide] is the whole decision, pure and without I/O. The [Pool] around it reads the definition and the generator's record. Then it
// hands over, arms the timer and writes the record with a compare-and-set, in that order: after a crash between two steps, the redelivered
// message makes everything good. The first transition of a schedule reads nothing: the wake that reports the creation brings the
// definition along, and the write fails if there ever was a record.
//
// State: the record [wire.GeneratorState]. Timers: subjects.DueTimer. It is armed to fire some time before the due time (Config.Lead),
// because the server's own timers are coarse. For the rest of the time, the pool holds the message and waits to the millisecond.
//
// The package imports schedule, specproc, subjects, kv and internal packages, and no other pool.
package generator
