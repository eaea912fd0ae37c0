// Package wire is what the pools keep about a schedule and tell each other: the records in the buckets and the messages on the
// task subjects. Users see neither.
//
// It holds
//
//   - the records, each written by one pool, with the exceptions that its comment names: [Definition], [GeneratorState],
//     [InvokerState], [BackfillState], [Result];
//   - the messages between pools: [Wake] and [Enqueue];
//   - what follows from a record alone, such as the runs in it, the room for backfills and the IDs of starts and events.
//
// Their encoded form is that of internal/codec. The golden files in testdata hold it: a field may be added, never changed.
//
// Everything here is a plain value or a pure function: no clock, no randomness, no I/O. Every package but schedule, client and
// worker may import it; it imports schedule, internal/codec and internal/zonedata.
package wire
