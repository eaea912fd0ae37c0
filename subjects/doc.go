// Package subjects is the only place that spells a NATS name: subjects, streams, buckets, consumers, and their
// configuration. Everything is built and taken apart by methods of [Names], which carries the prefix of the
// installation, so that two installations can share an account and tests can share a server.
//
// A schedule's namespace stands at a fixed place in every subject, so that NATS permissions can fence a client or a
// worker into one namespace and one task queue. User-chosen words become one token each by [Escape].
//
// The package is pure but for the types it takes from nats.go; it may import schedule and internal/wire, and nothing
// else of Carillon. Creating what it names is the task of internal/topology.
package subjects
