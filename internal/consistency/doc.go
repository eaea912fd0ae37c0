// Package consistency compares what is stored about each schedule: its definition, the records of the pools, timers,
// tasks, and the runs in the action stream; for runs that no stream knows it asks the workers. Where something is missing
// that the next step depends on, or left behind that nobody would ever look at again, it says so, and mends it
// (docs/consistency.md).
//
// [inspect] decides, as a pure function of a [Snapshot]. To mend is to wake the pool that owns what is wrong, wherever its
// ordinary work mends it; only where it cannot is a record touched, with a compare-and-set. Any number of processes may
// inspect and mend at once.
//
// A snapshot is not of one moment, and schedules move while it is made. So a finding counts once a second look has
// confirmed it, a pause later: from the leader, at the same thing in the same state. A [Checker] does that for a person, a
// [Scrubber] in the background.
//
// A [ZoneSweeper] looks for one thing alone, and fast: for times that were worked out by other rules of a time zone.
//
// The package talks to NATS alone, and needs no process of Carillon. It may import schedule, specproc, subjects, kv
// and internal packages, and none of the pools.
package consistency
