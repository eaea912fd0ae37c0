// Package streamwatch watches whether the streams and buckets of an installation exist and accept writes, and reports that when a
// process is asked whether it is ready.
//
// A connection to NATS does not show that. Once one write has failed, NATS refuses all writes to a stream, and does not even
// answer. And anyone who may use NATS may delete a stream. A [Watch] regularly asks for the names of all streams, and tests
// whether they accept writes. The test is a purge of a subject that never has a message: it takes the way of every write, and
// stores nothing. While all is well, the watch tests one stream at a time. When messages of the process get no acknowledgement,
// it tests all of them.
//
// The package changes nothing. It may import subjects, internal/topology, internal/bus and internal/metrics.
package streamwatch
