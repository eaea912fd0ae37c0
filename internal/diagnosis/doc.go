// Package diagnosis finds out how an installation is, as "carillon cluster health" shows, and says what is wrong and what to do
// about it.
//
// [Gather] asks NATS for the [Facts] of one moment, which "carillon cluster info" shows as they are. [Checks] judges them. It is
// a pure function, so that every finding has a test. A command, and a server that is asked whether it is ready, reach the same
// verdict from the same facts.
//
// The package may import subjects, kv, internal/archive/progress, internal/bus, internal/topology, internal/namespaces, internal/taskqueue, internal/presence, internal/site and
// internal/streamwatch. The command line and console/internal/pages may import it. It changes nothing.
package diagnosis
