// Package schedule is the public model of Carillon: what a schedule is, what users ask of the API, and what workers are told.
//
// It holds
//
//   - the model: [Schedule] with its [Spec], [Action], [Policies] and [State];
//   - the requests and replies of the API, and the events of the history;
//   - the messages to and from workers: [ActionRequest], [Completion], [Control], [Liveness], [ActionTypes], [Progress];
//   - validation, which is the same for client, command line and frontend, and its errors: [Error].
//
// The messages and records of the pools are in internal/wire. The encodings of values are in internal/codec and internal/apitext.
//
// Everything here is a plain value or a pure function: no clock, no randomness, no I/O. Every package may import it. Of Carillon, it
// imports only internal/jsontext, internal/payload, internal/suggest and internal/zonedata, which are pure as well.
package schedule
