// Package frontend is the API of Carillon: it answers requests to create, describe, list, change and delete schedules, to
// start runs by hand and to look back. docs/api.md is its contract with callers.
//
// It is a NATS micro service on names.API("*", thing, verb). All frontends of an installation share one queue group and keep
// nothing between requests that another would need, so any number of them may run, and any may die at any instruction.
//
// # What it writes
//
// The frontend owns the definition of a schedule and creates the records of triggers and backfills. Every change goes the
// same way:
//
//  1. arm the guard, a delayed wake-up some seconds ahead;
//  2. write the record, a compare-and-set: from here on the change is made, and will be answered as made;
//  3. publish the event, and then the wake, which removes the guard in the step that stores it. It says that the event is
//     stored, and of a schedule that has just been created it brings the definition, so that the generator asks for neither.
//
// The start of a trigger goes straight to the invoker instead, in step 3: somebody waits for it. Its guard stays, and brings in
// the backfiller, which hands the start over again if the invoker does not know of it, and in the end removes the record.
//
// A frontend that dies between 2 and 3 leaves the guard to wake the pool: the change takes effect seconds late, and is
// never lost. One that dies earlier has changed nothing, and the guard wakes a pool that finds nothing to do.
//
// A definition is one record, so a change of it is done as a whole or not at all. What a patch asks to be started stands in
// the definition for that reason, and the generator makes records of it. The definition also remembers the newest requests
// that have changed it, so that a repeat of one of them, after a lost reply, is answered and changes nothing.
//
// # Namespaces
//
// The record of a namespace is a copy in the memory of each frontend (internal/namespaces); a request is let in by what that says, before
// it takes the place of any other. Each frontend accepts an equal share of the requests that a namespace may make
// (frontend/internal/limits). A schedule needs a place before it is created, which is written down for all of them. A namespace is deleted
// by a background job (namespace_delete.go).
//
// # Calendars
//
// A definition keeps what the named calendars hold that its spec names, so that whatever is computed from it needs nothing else.
// When a calendar changes, background jobs write the definitions anew that use it (frontend/internal/calendars says how none is left out).
//
// # Inside
//
// What a request makes of a schedule is decided by pure functions (decide.go, describe.go) and by [edit], which is as pure. [api] does the
// reading and writing around them, with the verbs of a topic in one file. [Frontend] is the service around that: subjects, formats, schemas,
// concurrency, time limits, errors, an orderly stop. Below this package, frontend/internal/request knows what every request says about
// itself, frontend/internal/listing makes pages, frontend/internal/limits holds namespaces to their limits, frontend/internal/calendars
// serves the named calendars, and frontend/internal/bulk the bulk operations.
//
// # Who may use it
//
// Only cmd imports this package; callers of the API use package client, or any NATS client. It imports frontend/internal/bulk,
// frontend/internal/calendars, frontend/internal/limits, frontend/internal/listing, frontend/internal/request, schedule, subjects, kv,
// specproc, specproc/prose and internal packages, never a pool. It must never start an action, or hold a rule of validation: those live in
// the invoker and in schedule.
package frontend
