// Package schedules serves schedules and their runs: every verb about them is a method of [Service], which also leads to the services for
// namespaces, named calendars and bulk operations.
//
// Pure functions decide what a request makes of a schedule (decide.go, describe.go), and so does [edit]. The methods of [Service] do the
// reading and writing around them, with the verbs of one topic in one file. The package comment of frontend says in which order a change is
// written.
//
// The package and its neighbours below frontend are for the frontend alone. It may import frontend/internal/bulk,
// frontend/internal/calendars, frontend/internal/listing, frontend/internal/registry, frontend/internal/request, schedule, subjects, kv,
// specproc, specproc/prose and internal packages, never a pool. It must never start an action, answer a message, or hold a rule of
// validation: those live in the invoker, in frontend and in schedule.
package schedules
