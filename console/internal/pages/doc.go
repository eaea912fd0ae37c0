// Package pages is what people see of Carillon in a browser. The pages are made on the server, from templates that are part of the binary, and work
// without scripts. A script of htmx, which is part of the binary too, keeps them up to date.
//
// [Pages] is the handler. Each page asks a frontend, by a client that speaks for whoever has sent the request, and shows what it answers. A form is a
// request of the API, and leads back to its page.
//
// No frontend knows how the installation is, nor its dead letters: pages ask NATS for these, as the commands "carillon cluster" and "carillon dlq" do. What
// many look at is found out once for a connection, and kept for some seconds.
//
// # What comes from others is hostile
//
// IDs, notes and inputs are texts that anybody may have chosen. The templates escape them, and the content-security policy lets nothing in but the
// files of the binary: no script, style or picture from elsewhere, and none inside a page.
//
// Only package console imports this one. It may import console/internal/readable, console/internal/refusal, console/internal/segment, console/internal/speaker, execution, schedule, subjects,
// specproc/prose, internal/apitext, internal/audit, internal/deadletter, internal/diagnosis, internal/ical, internal/importer, internal/importer/crontab,
// internal/search/query, internal/site and internal/taskqueue. It must never decide what a frontend decides.
package pages
