// Package bench measures an installation: how late actions start, how many are possible per second, and what they cost.
//
// [Scenarios] lists what can be measured; [Run] sets up an installation of its own, measures one scenario, and removes the
// installation again. There are two ways to run it. The roles and a worker run in this process as "carillon server" runs them,
// on an embedded NATS server or on an existing one. Or NATS and each role are processes of their own, on request at a distance.
// docs/performance/README.md says what each scenario does and how to read its figures.
//
// Figures are worth something only if they are honest. So every offered action is followed until its code has run, by the times
// that specproc gives for its spec: a run that loses or doubles an action says so beside its speed. Lateness is taken when the
// code of the action begins. Completions are counted afterwards, by their events, so that counting costs nothing during the
// measurement.
//
// The calculations on the samples (ledger, latencies, result) are pure. The package is for the command line and its tests.
//
// The package may import everything but the command line.
package bench
