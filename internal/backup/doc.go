// Package backup copies an installation out of NATS while it runs, and restores it elsewhere (docs/backup.md).
//
// [Create] takes a JetStream snapshot of each stream, one after the other. Then it copies what each has got since, in an order in
// which no run and no completion falls between two copies: records, controls, start requests, tasks, journals, dead letters, events.
// [Restore] checks all of it and restores the streams. Before any pool sees the records of a schedule, it changes them to agree
// with what the events and the other streams know ([reconcile], a pure function). So a run that is known to have ended is not
// started again, and what was pending continues.
//
// A snapshot of a stream that is written to meanwhile lacks messages. A message that is replaced during the snapshot is removed
// before the snapshot reads it, and its replacement lies behind the end. For the records of schedules that would be fatal. So
// Create also copies what comes after the snapshot, up to a moment when there is no more; see tail.go.
//
// The package talks only to NATS. It may import schedule, specproc, subjects, kv, internal packages, and the pure functions of
// generator and invoker.
package backup
