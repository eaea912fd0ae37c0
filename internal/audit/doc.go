// Package audit compares what a schedule should have done with what its events say it did, action by action.
//
// [Run] is pure: it is given the schedule, its events and the time, and explains every time of the spec: started, skipped,
// missed, dropped, waiting, or why it was not due. What it cannot explain is a [Finding], and so is an action that was
// started twice, or that no spec and no request explains. `carillon schedule audit`, the simulation and the chaos runs
// use it.
//
// An audit begins with the last update of the spec at the earliest: events do not say what the spec was before. docs/audit.md
// has the rest of what it cannot see.
//
// The package imports schedule and specproc, and must never read anything itself.
package audit
