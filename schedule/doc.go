// Package schedule is what users of Carillon see: what a schedule is, what they ask of the API, and what a worker is told.
//
// It holds
//
//   - the model: [Schedule] with its [Spec], [Action], [Policies] and [State];
//   - the requests and replies of the API, and the events of the history;
//   - the messages to and from workers: [ActionRequest], [Completion], [Control], [Liveness], [ActionTypes], [Progress];
//   - validation, once and the same for every door, and the errors that it gives: [Error].
//
// What the pools keep and tell each other is in internal/wire, how values are written down in internal/codec and internal/apitext.
//
// Everything here is a plain value or a pure function: no clock, no randomness, no I/O. Every package may import it. It imports
// internal/jsontext, internal/suggest and internal/zonedata, which are as pure, and nothing else of Carillon.
package schedule
