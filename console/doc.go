// Package console serves people and programs that come by HTTP: pages for a browser, the HTTP API of Carillon, and next to it Temporal's.
//
// [Console] is the HTTP server. It has no rights of its own: a request acts as a user of NATS, and NATS permissions decide. [Access] says which one: that
// of the process, or the one as whom somebody logs in. Pages of other sites cannot use it through a browser: it refuses changes that come from another
// origin, and answers to no name of theirs.
//
// console/internal/access finds out who somebody is, console/internal/pages are the pages, and console/internal/rest is the HTTP API. What is under no path of the console goes to [Config.Temporal].
//
// Only internal/roles imports this package. It may import console/internal/access, console/internal/pages, console/internal/rest, console/internal/segment, console/internal/speaker, client, schedule, internal/callers, internal/loopback, internal/site, internal/webserver, subjects and frontend, of which it uses the table of verbs.
// It must never read or write what is stored: everything it knows comes from the API, and from what the commands "carillon cluster" and "carillon dlq" ask NATS for.
package console
