// Package topology makes a NATS cluster ready for Carillon: the facts all processes must agree on, the namespaces, and
// the buckets, streams and consumers that the subjects package names and configures.
//
// Every process calls [Ensure] when it starts; whichever is first does the work, and any number may do it at once. What
// is there and fit for use is left alone, so an operator may tune ages, sizes and placement by the means of NATS.
//
// The package only builds: reading and writing the records of schedules is the task of kv, and consuming is that of the
// pools. The consumers of workers are not made here, for only workers know their task queues. Whoever runs a role
// imports this package; the domain and the pure parts must not.
//
// The package may import schedule, subjects, internal/bus, internal/namespaces and internal/task.
package topology
