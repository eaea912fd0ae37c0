// Package backup copies an installation out of NATS while it runs, and brings it back elsewhere (docs/backup.md).
//
// [Create] takes a JetStream snapshot of each stream, one after the other, then what each has got since, in an order in
// which no run and no completion falls between two copies: records, controls, start requests, tasks, dead letters, events.
// [Restore] checks all of it, restores the streams, and brings the records of each schedule to what the events and the
// other streams know by then ([reconcile], a pure function), before any pool sees them. So what is known to have ended is
// not started again, and what was pending goes on.
//
// A snapshot of a stream that is being written to lacks messages: one that is replaced while the snapshot is under way
// goes before it is read, and what replaces it is behind the end. For the records of schedules that would be fatal. What
// is copied after the snapshot, up to a moment when there is no more, makes it whole; see tail.go.
//
// The package talks to NATS alone. It may import schedule, specproc, subjects, kv, internal packages, and the pure
// functions of generator and invoker.
package backup
