// Package topology makes a NATS cluster ready for Carillon: the facts that all processes must agree on, the default namespace,
// and the buckets, streams and consumers that the subjects package names and configures.
//
// Every process calls [Ensure] when it starts. The first one does the work, and any number may do it at once. What exists and is
// fit for use is left alone, so an operator may tune ages, sizes and placement with NATS tools.
//
// The package only builds: kv reads and writes the records of schedules, and the pools consume messages. It does not make the
// consumers of workers, because only workers know their task queues. Whoever runs a role imports this package; the domain and the
// pure parts must not.
//
// The package may import schedule, subjects, internal/bus, internal/namespaces and internal/task.
package topology
