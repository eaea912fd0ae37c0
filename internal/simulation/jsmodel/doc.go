// Package jsmodel is a model of JetStream in memory: as much of it as Carillon uses, without goroutines, clock or I/O.
//
// A [Server] holds streams and consumers, made from the very configurations that an installation uses. Its methods are
// told the time. What a network and crashes add to that, delays, lost replies, repeats, another order, is the matter of
// the simulation around it; the model is what every server of a cluster agrees on.
//
// That the model behaves as the server does is tested by carrying out the same random operations on both. Not modelled is
// what Carillon does not use, or cannot rely on:
//
//   - delayed messages that repeat, take their content from another subject, or ask for a TTL or a rollup of their target;
//     rollups of a whole stream, or of a subject with several messages that a consumer takes; expected sequences of a stream or of
//     other subjects; wildcards in a purge;
//   - that a bucket refuses to remove single messages, and marks keys whose messages expire: only tombstones have a TTL;
//   - limits of bytes, of messages and of the size of one, and back-off and the greatest number of deliveries of consumers;
//   - that a server may ignore, after a purge of a message in somebody's hands, that earlier deliveries of the consumer
//     are given back: those come again when the time for their acknowledgement is over. It depends on a race in the server.
//
// It may be imported by internal/simulation and tests, and must never become part of the product.
//
// The package imports nothing of Carillon.
package jsmodel
