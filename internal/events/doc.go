// Package events writes the event history and reads it: the stream of everything that happened to schedules, which is also
// the audit log (docs/semantics.md §12).
//
// A [Publisher] stores events, each under its ID as message ID, so that a repeat within the de-duplication window is stored
// once; readers drop later repeats by [schedule.Event].ID. A [Reader] answers questions about what is stored.
//
// Events of a namespace that keeps them for a shorter time than the stream bear that time.
//
// The package may import schedule, subjects, internal/bus, internal/metrics, internal/namespaces and internal/telemetry. The pools and
// the frontend decide what is an event, and when; nothing here decides.
package events
