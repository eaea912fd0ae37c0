// Package site knows at which of two sites an installation is active. A site is a NATS cluster with a JetStream domain of its own; the other
// site has mirrors of its streams (docs/sites.md).
//
// The protocol is pure: [Step] says what a site does next, as a function of its own [Record], of that of the other site, of what was just seen,
// and of the time. Each site keeps its record in a KV bucket of its own, and only its own processes write it ([Store]). All of them follow it
// ([Follow]): they work while [Record.Works] says so.
//
// What makes a takeover exact is not the record, but NATS: a stream that has lost its subjects takes nothing, whoever publishes. The role replication does that.
//
// The package may import schedule, subjects, internal/bus and internal/sleep. It must never touch the streams of an installation.
package site
