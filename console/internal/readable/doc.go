// Package readable turns what Temporal's API says about executions into texts and shapes for people.
//
//   - [Payload] and [Payloads] are the texts of values. [Arguments] reads the values that somebody has typed.
//   - [Failure] and [Cause] are the texts of failures.
//   - [EventOf] is an event of a history, with its attributes as a flat list. It knows no single type of event, so it also shows those of later versions.
//   - [Lanes] are the bars of a timeline: what was scheduled, when it began and ended, and what came of it.
//
// Everything here is pure. The package may import internal/payload and internal/jsontext. Only console/internal/pages imports it. It must never ask anybody, nor
// make HTML: what it returns is hostile text, and the templates escape it.
package readable
