// Package bulk serves bulk operations: the verbs about them, and the background jobs that do to many schedules what a request does to one
// ([Service]).
//
// The package and its neighbours below frontend are for the frontend alone. It may import frontend/internal/listing,
// frontend/internal/request, schedule, subjects and internal packages. It must never read or write a schedule: the operations are given
// to it.
package bulk
