// Package streamwatch knows whether the streams and buckets of an installation are there and take writes, and says so where a
// process is asked whether it is ready.
//
// A connection to NATS says nothing of that: NATS refuses all writes to a stream, and does not even answer, once one write has
// failed; and whoever may use NATS may delete a stream. A [Watch] asks for the names of all streams now and then, and tries
// whether they take writes, by a purge of a subject on which nothing ever is: that goes the way of every write, and stores nothing.
// While all is well it tries one stream at a time; when messages of the process stay without acknowledgement, all of them.
//
// The package changes nothing. It may import subjects, internal/topology, internal/bus and internal/metrics.
package streamwatch
