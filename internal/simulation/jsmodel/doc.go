// Package jsmodel is a model of JetStream in memory: the part that Carillon uses, without goroutines, clock or I/O.
//
// A [Server] contains streams and consumers, made from the configurations that an installation uses. Its methods are told the
// time. The simulation around it adds the effects of a network and of crashes: delays, lost replies, repeats, another order.
// The model is what every server of a cluster agrees on.
//
// A test carries out the same random operations on the model and on a server. Things that Carillon does not use, or cannot rely
// on, are not modelled:
//
//   - delayed messages that repeat, take their content from another subject, or ask for a TTL or a rollup of their target;
//     rollups of a whole stream, or of a subject with several messages that a consumer reads; expected sequences of a stream or
//     of other subjects; wildcards in a purge of what a consumer reads
//   - that a bucket refuses to remove single messages, and marks keys whose messages expire: only tombstones have a TTL
//   - limits of bytes, of messages and of the size of one; back-off and the greatest number of deliveries of consumers
//   - that a server may ignore it when earlier deliveries are given back, after a purge of a delivered message: those messages
//     come again when the time for their acknowledgement is over. This depends on a race in the server.
//
// It may be imported by internal/simulation and tests, and must never become part of the product.
//
// The package imports nothing of Carillon.
package jsmodel
