// Package roster knows the workers that say from time to time how they are, and tells them to all gateways.
//
// A worker sends its heartbeat to one gateway, a different one after each new connection. That gateway publishes it on NATS, and each gateway keeps
// what it hears in memory. So any of them can list all workers at once, without asking anybody, and none is missing when a gateway dies. A gateway
// that begins asks another one for what it knows.
//
// # What it keeps
//
// Heartbeats are soft state: the next ones replace them within a minute. A worker that is silent for [TTL] is forgotten, and so is one that says that
// it has ended. If all gateways end at once, the workers are known again after their next heartbeats. How much is kept is bounded: see [Roster.Record].
//
// Only the gateway imports this package. It may import subjects and internal/flood. It must never decide which workers a query means, nor what a client
// may see.
package roster
