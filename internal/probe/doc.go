// Package probe answers the probes of a process of Carillon over HTTP: /healthz, /readyz and /metrics, and on request
// /debug/pprof/.
//
// [Health] gathers the states of the roles of the process and makes a [Report]. Both health endpoints show the report, but they
// judge it differently:
//
//   - /healthz is for a supervisor that would restart the process. It fails only if a new process would help, and so not while
//     NATS is away.
//   - /readyz is for a client that waits for the process to do its work, or relies on it. It fails whenever a role cannot work,
//     and as soon as the process is told to stop. A role that is not to run at present, because the installation is active at another
//     site, does not count.
//
// The package knows HTTP, and nothing of schedules or NATS; it imports nothing of Carillon. The command line and internal/roles
// may import it. Anyone who can reach the address may use it without permission: it is for the inside of a network.
package probe
