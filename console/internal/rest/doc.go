// Package rest is the HTTP API of Carillon: the verbs of its native API as resources under [Base], in JSON.
//
// It has no verbs and no rules of its own. The one table of verbs, in package frontend, says which methods and paths there are, and the
// schemas say what a request consists of. A request becomes a request of the native API: parameters of the path and of the query are its
// fields, and so are the headers If-Match (conflictToken) and Idempotency-Key (requestId). A frontend validates it and answers, and what it
// says is passed on. docs/http.md is the contract.
//
//   - [API] serves the verbs, the live events as server-sent events, and a description in OpenAPI 3.1.
//   - Errors are problem details (RFC 9457) with the code and the field of the native API.
//
// Only package console imports this one. It may import console/internal/refusal, console/internal/segment, client, frontend, schedule and subjects. It must never validate what a frontend
// validates, and must never know a verb by name.
package rest
