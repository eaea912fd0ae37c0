// Package schedule is Carillon's domain: what a schedule is, what the pools remember about one, what they tell each
// other, and how all of it is written down.
//
// It holds
//
//   - the model a user sees: [Schedule] with its [Spec], [Action], [Policies] and [State], and the requests and
//     replies of the API;
//   - the records the pools keep, each written by one pool only: [Definition], [GeneratorState], [InvokerState],
//     [BackfillState], [Result];
//   - the messages between pools and workers: [Wake], [Enqueue], [ActionRequest], [Completion], [Control], [Event];
//   - validation, once and the same for every door, and the encodings: YAML and JSON for people, msgpack behind a
//     version byte for storage and internal messages.
//
// Everything here is a plain value or a pure function: no clock, no randomness, no I/O. The package imports nothing
// else of Carillon; everything else may import it.
package schedule
