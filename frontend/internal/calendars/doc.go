// Package calendars serves named calendars: the verbs about them ([Service]), the copy that a definition keeps of a calendar
// ([Service.Of]), and the background jobs that bring schedules up to date when a calendar changes ([Service.Work]).
//
// The package and its neighbours below frontend are for the frontend alone. It may import frontend/internal/listing,
// frontend/internal/request, schedule, subjects, kv and internal packages. It must never write a definition: how a schedule is re-planned
// is given to it.
package calendars
