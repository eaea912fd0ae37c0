// Package bench measures an installation: how late actions start, how many there may be in a second, and what they cost.
//
// [Scenarios] lists what can be measured; [Run] sets up an installation of its own, measures one of them, and removes it
// again. The roles, and a worker, run in this process as "carillon server" runs them, on an embedded NATS server or on one
// that is there; or NATS and each role are processes of their own, on request at a distance. docs/performance/README.md says
// what each scenario does and how to read its figures.
//
// Figures are only worth something if they are honest: every action that is offered is followed until its code has run, by
// the times that specproc gives for its spec, so that a run which loses or doubles one says so beside how fast it was.
// Lateness is taken when the code of the action begins; what has been completed is counted afterwards, by the events that
// tell of it, so that counting costs nothing while it is measured.
//
// What is worked out of the samples (ledger, latencies, result) is pure. The package is for the command line and its tests.
//
// The package may import everything but the command line.
package bench
