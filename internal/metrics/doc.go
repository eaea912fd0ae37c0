// Package metrics has every instrument of Carillon in one catalogue: its name, kind, unit, attributes and their values. Other
// packages record with the variables here and make no instruments of their own; a test checks that.
//
// All are instruments of the OpenTelemetry API, of one meter, [Scope]. Until the process sets a meter provider, nothing is
// recorded, at almost no cost. With one, recording allocates nothing once a combination of attribute values has been seen.
// Attributes have few values: a namespace, a task queue, a word of a fixed set. The ID of a schedule is no attribute, except for
// the few schedules that [Watch] names.
//
// The process that writes something with compare-and-set counts it afterwards, so each event is counted once. A process that dies
// between the two does not count it. One that dies before its message is acknowledged may count again what concerns only the
// message. So after a crash counters are off by a few; the event history, and the counters of each schedule, are exact.
//
// docs/metrics.md is made from the catalogue: go test ./internal/metrics -run Page -update. Everything is safe for concurrent
// use. The package imports schedule and subjects, and nothing else of Carillon.
package metrics
