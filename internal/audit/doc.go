// Package audit compares what a schedule should have done with what its events say it did, action by action.
//
// [Run] is pure, except that it ends with its context. From the schedule, its events and the time, it explains every time of the spec: started, skipped, missed,
// dropped, waiting, or why it was not due. A time that it cannot explain is a [Finding]. So is an action that was started twice,
// or that neither the spec nor a request explains. `carillon schedule audit`, the console, the simulation and the chaos
// runs use it.
//
// An audit begins no earlier than the last update of the spec, because events do not say what the spec was before. docs/audit.md
// lists its other limits.
//
// The package imports schedule and specproc, and must never read anything itself.
package audit
