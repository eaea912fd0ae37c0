// Package consistency compares what is stored about each schedule: its definition, the records of the pools, timers, tasks, and the runs in
// the action stream. If no stream knows a run, it asks the workers. Of each workflow ID it compares the journal, the delayed messages, and the tasks
// in the backlog. It reports and mends two kinds of faults (docs/consistency.md): something is missing that the next step depends on, or something
// is left behind that nobody would ever look at again.
//
// [inspect] decides, as a pure function of a [Snapshot], and [inspectExecution] as one of an [Execution]. A repair usually wakes the pool that owns the fault, if the pool's ordinary work
// mends it. Only otherwise does the repair change a record, with a compare-and-set. Any number of processes may inspect and mend at once.
//
// The parts of a snapshot are not read at the same moment, and schedules change meanwhile. So a finding counts only if a second look
// confirms it after a pause: on the leader, for the same thing in the same state. A [Checker] does this for a person, a [Scrubber] in the
// background.
//
// A [ZoneSweeper] looks, fast, for one thing only: times that were computed with other rules of a time zone.
//
// The package talks only to NATS, and needs no process of Carillon. It may import execution, schedule, specproc, subjects, kv and internal
// packages, and none of the pools.
package consistency
