// Package console serves people and programs that come by HTTP: pages for a browser, the HTTP API of Carillon, and next to it Temporal's.
//
// [Console] is the HTTP server. It has no rights of its own: a request acts as the NATS user of the process that serves it, so only this
// machine may reach the address. Pages of other sites cannot use it through a browser: it answers only to the names of this machine, and
// refuses changes that come from another origin.
//
// console/internal/pages are the pages, and console/internal/rest is the HTTP API. What is under no path of the console goes to [Config.Temporal].
//
// Only internal/roles imports this package. It may import console/internal/pages, console/internal/rest, console/internal/speaker, client, schedule, internal/loopback, internal/webserver, subjects and frontend, of which it uses the table of verbs.
// It must never read or write what is stored: everything it knows comes from the API, and from what the commands "carillon cluster" and "carillon dlq" ask NATS for.
package console
