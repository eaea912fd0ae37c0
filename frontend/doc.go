// Package frontend is the API of Carillon. It answers requests that create, describe, list, change and delete schedules, start
// runs by hand and look back at what happened. docs/api.md is its contract with callers.
//
// It is a NATS micro service on names.API("*", thing, verb). All frontends of an installation share one queue group. They keep
// nothing between requests that another one would need, so any number of them may run, and any may die at any instruction.
//
// # What it writes
//
// The frontend owns the definition of a schedule and creates the records of triggers and backfills. Every change takes the same
// steps:
//
//  1. Arm the guard, a delayed wake-up some seconds ahead.
//  2. Write the record with a compare-and-set. From here on the change is made, and will be answered as made.
//  3. Publish the event, and then the wake. Storing the wake removes the guard in the same step. The wake says that the event is
//     stored; for a schedule that has just been created it also carries the definition. So the generator need not ask for either.
//
// A trigger differs in step 3: its start goes straight to the invoker, because somebody waits for it. Its guard stays and later
// wakes the backfiller, which hands the start over again if the invoker does not know it, and finally removes the record.
//
// A frontend that dies between 2 and 3 leaves the guard to wake the pool: the change takes effect seconds late, and is never
// lost. One that dies earlier has changed nothing; the guard wakes a pool that finds nothing to do.
//
// A definition is one record, so a change to it happens completely or not at all. For that reason the starts that a patch asks
// for are stored in the definition, and the generator makes records of them. The definition also remembers the newest requests
// that changed it. A repeat of one of them, sent after a lost reply, is answered and changes nothing.
//
// # At a standby
//
// Where the installation is active at another site (internal/site), the frontend answers the verbs that read, from mirrors. It refuses the others, and leaves
// background jobs and what untrusted workers ask for to the active site.
//
// # Namespaces
//
// Each frontend keeps a copy of the namespace records in memory (internal/namespaces). That copy decides whether a request is
// admitted, before the request takes up any other resource. Each frontend accepts an equal share of the requests that a namespace
// may make (frontend/internal/limits). A schedule needs a place before it is created; places are recorded for all frontends
// together. A background job deletes a namespace (frontend/internal/registry).
//
// # Calendars
//
// A definition keeps copies of the named calendars that its spec uses, so whatever is computed from it needs nothing else. When a
// calendar changes, background jobs rewrite the definitions that use it (frontend/internal/calendars says how none is missed).
//
// # Inside
//
// [Frontend] is the service: subjects, formats, schemas, concurrency, time limits, errors, an orderly stop. endpoints.go is the table of all
// verbs. Below this package, frontend/internal/schedules carries out the verbs about schedules and runs, frontend/internal/registry those
// about namespaces, frontend/internal/calendars those about named calendars, and frontend/internal/bulk those about bulk operations. All of
// them use frontend/internal/request, which knows what every request says about itself, and frontend/internal/listing, which makes pages.
// frontend/internal/limits holds namespaces to their limits. frontend/internal/visibility answers requests of gateways about all executions
// of a namespace; they have their own subjects and are Temporal's messages. frontend/internal/batch does to many executions what a request does
// to one.
//
// # Who may use it
//
// Only internal/roles imports this package, and package console its table of verbs; callers of the API use package client, or any NATS client. It may import
// frontend/internal/batch, frontend/internal/calendars, frontend/internal/request, frontend/internal/schedules, frontend/internal/visibility, schedule, subjects, kv and
// internal packages, never a pool. It must never start an action, or hold a rule of validation: those live in the invoker and in schedule.
package frontend
