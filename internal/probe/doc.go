// Package probe answers what probes of a process of Carillon ask over HTTP: /healthz, /readyz and /metrics, and if wanted
// /debug/pprof/.
//
// [Health] gathers what the roles of the process say of themselves; it makes a [Report], which both health endpoints show and
// differ in what they take for good. /healthz is for whoever would restart the process: it fails only where a new one would
// help, and so not while NATS is away. /readyz is for whoever waits until the process does its work, and counts on it: it
// fails whenever a role cannot, and as soon as the process is told to stop.
//
// The package knows HTTP, and nothing of schedules or NATS; it imports nothing of Carillon. The command line and internal/roles may import
// it. Whoever can reach the address needs no permission: it is for the inside of a network.
package probe
