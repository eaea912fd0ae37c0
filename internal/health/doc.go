// Package health finds out how an installation is, and says what is wrong and what to do about it.
//
// [Gather] asks NATS for the [Facts] of one moment, which "carillon cluster info" shows as they are. [Checks] judges them: a
// pure function, so that every finding has a test and whoever has facts, a command or a server that is asked whether it is
// ready, comes to the same verdict.
//
// The package may import schedule, subjects, internal/topology, internal/namespaces, internal/taskqueue and
// internal/streamwatch. It changes nothing.
package health
