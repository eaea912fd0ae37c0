// Package diagnosis finds out how an installation is, as "carillon cluster health" shows, and says what is wrong and what to do about it.
//
// [Gather] asks NATS for the [Facts] of one moment, which "carillon cluster info" shows as they are. [Checks] judges them: a
// pure function, so that every finding has a test and whoever has facts, a command or a server that is asked whether it is
// ready, comes to the same verdict.
//
// The package may import subjects, kv, internal/topology, internal/namespaces, internal/taskqueue, internal/presence and
// internal/streamwatch. The command line may import it. It changes nothing.
package diagnosis
