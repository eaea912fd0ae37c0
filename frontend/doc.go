// Package frontend is the API of Carillon: it answers requests to create, describe, list, change and delete schedules, to
// start runs by hand and to look back. docs/api.md is its contract with callers.
//
// It is a NATS micro service on names.API("*", verb). All frontends of an installation share one queue group and keep
// nothing between requests that another would need, so any number of them may run, and any may die at any instruction.
//
// # What it writes
//
// The frontend owns the definition of a schedule and creates the records of triggers and backfills. Every change goes the
// same way:
//
//  1. arm the guard, a delayed wake-up some seconds ahead;
//  2. write the record, a compare-and-set: from here on the change is made, and will be answered as made;
//  3. publish the wake, which removes the guard in the step that stores it, and the event.
//
// A frontend that dies between 2 and 3 leaves the guard to wake the pool: the change takes effect seconds late, and is
// never lost. One that dies earlier has changed nothing, and the guard wakes a pool that finds nothing to do.
//
// A definition is one record, so a change of it is done as a whole or not at all. What a patch asks to be started stands in
// the definition for that reason, and the generator makes records of it. The definition also remembers the newest requests
// that have changed it, so that a repeat of one of them, after a lost reply, is answered and changes nothing.
//
// # Inside
//
// What a request makes of a schedule is decided by pure functions (decide.go, describe.go, page.go) and by [edit], which is
// as pure; [api] does the reading and writing around them, a file for each verb; [Frontend] is the service around that:
// subjects, concurrency, time limits, errors, an orderly stop.
//
// # Who may use it
//
// Only cmd imports this package; callers of the API use package client, or any NATS client. It imports schedule, subjects,
// kv, specproc and internal packages, never a pool. It must never start an action, or hold a rule of validation: those live in
// the invoker and in schedule.
package frontend
