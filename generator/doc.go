// Package generator is the pool that turns a schedule's spec into due actions (docs/semantics.md §4).
//
// One message, "generate", runs it for one schedule: after a create, update or unpause, when its own timer fires, or when
// a guard does. It advances the schedule's high water mark to now, hands what has come due to the invoker, and sees that
// it is woken again at the next due time. Times that somebody has asked to skip it marks as such, and the triggers and
// backfills of a patch it makes records of (decisions 17 and 23). What is due in a freeze of the namespace it hands over as
// dropped. It never starts anything itself.
//
// [Decide] is the whole decision, pure and without I/O. The [Pool] around it reads the definition and the generator's
// record, hands over, arms the timer and writes the record with a compare-and-set, in that order, so that a crash between
// any two steps is mended by the redelivery of the message. The first transition of a schedule takes no look at anything: the
// wake that tells of its creation brings the definition along, and the record is one that must never have been there.
//
// State: the record [wire.GeneratorState]. Timers: subjects.DueTimer, armed a lead ahead of the due time because the
// server's own timers are coarse; within the lead the pool holds the message and waits to the millisecond.
//
// The package imports schedule, specproc, subjects, kv and internal packages, and no other pool.
package generator
