// Package wire defines what the pools store about a schedule and tell each other: the records in the buckets and the messages on the task
// subjects. Users see neither.
//
// It holds
//
//   - the records: [Definition], [GeneratorState], [InvokerState], [BackfillState], [Result]. One pool writes each, with the exceptions in
//     its comment;
//   - the messages between pools: [Wake] and [Enqueue];
//   - what follows from a record alone, such as the runs in it, the room for backfills and the IDs of starts and events.
//
// internal/codec encodes them. The golden files in testdata fix the encoded form: a field may be added, never changed.
//
// Everything here is a plain value or a pure function: no clock, no randomness, no I/O. Every package except schedule, client and worker
// may import it; it imports schedule, internal/codec and internal/zonedata.
package wire
