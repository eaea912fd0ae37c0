// Package jobs runs work in the background that takes longer than a request. Its main use is to change many schedules.
//
// A [Job] is a record in the cluster bucket, under "job.<namespace>.<id>". A [Runner] in each frontend watches these records and
// works on jobs that no other runner has. It holds a job by a lease in the record. It works through the IDs that the [Work] of
// the job's kind returns, in order, a page at a time and no faster than the job's rate.
//
// # Safety
//
// The record says what is settled. A page is written before its first item is begun; while it is worked on, the rest of it is
// written at least every second, together with the counts. Every write is a compare-and-set. So if a runner dies, or is delayed
// until its lease is over, at most one page has items that are done and not recorded, and another runner repeats those. Therefore
// doing an item twice must do no harm; the job's ID serves as the request ID for that. Each item is counted once.
//
// A clock that is ahead takes a job from a live runner. That runner notices with its next write and stops. The work continues,
// and only one page is repeated.
//
// # Liveness
//
// A runner that is stopped gives its jobs back, and another takes them at once. If a runner dies, the lease must run out first,
// after [Lease]. A job of a kind that a runner does not know is left for one that does.
//
// Pure functions decide what a runner must do about a job, and how the job changes (job.go, decide.go). store.go reads and writes
// records; runner.go and attempt.go are the loops. The package imports schedule, subjects, kv and internal/metrics, and knows
// nothing of what the jobs do.
package jobs
