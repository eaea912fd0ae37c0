// Package roles is the composition root: it builds the roles of Carillon and runs them in this process.
//
// [Connect] returns a connection that never gives up, so that a role may start before NATS does and outlives its restarts.
// [Open] makes the installation ready and has a constructor for each role. [Worker] builds a worker with the built-in
// actions. [Supervise] runs roles in stages until the context ends or one role does. It stops the stages in order: roles
// that make work stop before roles that finish it.
//
// The package imports the pools, frontend, gateway, console, archival, replication, client, worker, worker/builtin, kv, schedule, subjects and internal packages, and
// wires the roles to a connection. The command line and the benchmarks import it; nothing else may. It makes no decision about
// schedules, reads no flags and prints nothing.
package roles
