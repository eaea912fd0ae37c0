// Package metrics has every instrument of Carillon in one catalogue: its name, kind, unit, attributes and their values. The
// other packages record by the variables here and make no instruments of their own; a test sees to that.
//
// All are instruments of the OpenTelemetry API, of one meter, [Scope]. Nothing is recorded, and next to nothing is spent on it,
// until the process sets a meter provider. With one, recording allocates nothing once a combination of attribute values has
// been seen. Attributes have few values: a namespace, a task queue, a word of a fixed set. The ID of a schedule is none of
// them, except for the few schedules that [Watch] names.
//
// What is stored with compare-and-set is counted after that, by the process that wrote it: each event once. A process that dies
// between the two leaves it out; one that dies before its message is acknowledged may count again what concerns the message
// alone. So counters are off by a few after a crash: the event history, and the counters of each schedule, are exact.
//
// docs/metrics.md is made from the catalogue: go test ./internal/metrics -run Page -update. Everything is safe for concurrent
// use. The package imports schedule and subjects, and nothing else of Carillon.
package metrics
