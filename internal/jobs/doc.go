// Package jobs runs work that takes longer than a request, in the background: a change of many schedules above all.
//
// A [Job] is a record in the cluster bucket, under "job.<namespace>.<id>". A [Runner] in each frontend watches these records
// and works on those that nobody else does. It holds a job by a lease in the record, and works through the IDs that the
// [Work] of its kind names, in order, a page at a time and no faster than the job's rate.
//
// # Safety
//
// The record says what is settled: a page is written down before the first of it is begun, and at least every second while it
// is worked on what is left of it, with the counts. Every write is a compare-and-set. So a runner that dies, or is held up
// until its lease is over, leaves at most one page of which some items are done and not noted; another does those again. An
// item must therefore do no harm when it is done twice, for which the job's ID serves as the request ID. Each item is counted
// once.
//
// A clock that is ahead takes a job from a runner that is alive. That runner notices with its next write and stops: the work
// goes on, and only the page is done twice.
//
// # Liveness
//
// A runner that is stopped gives its jobs back, and another takes them at once. Of one that died the lease must run out
// first, after [Lease]. A job of a kind that a runner does not know is left for one that does.
//
// What a runner has to do about a job, and what becomes of the job, are pure functions (job.go, decide.go); store.go
// reads and writes records; runner.go and attempt.go are the loops. The package imports schedule, subjects, kv and
// internal/metrics, and knows nothing of what the jobs do.
package jobs
