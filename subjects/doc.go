// Package subjects is the only place that spells a NATS name: subjects, streams, buckets, consumers, and their configuration.
// Methods of [Names] build every name and take it apart. Names carries the prefix of the installation, so that two installations
// can share an account and tests can share a server.
//
// A schedule's namespace has a fixed place in every subject, so that NATS permissions can confine a client or a worker to one
// namespace and one task queue. [Escape] turns each word that users choose into one token.
//
// The package is pure except for the types it takes from nats.go; it may import schedule and internal/wire, and nothing
// else of Carillon. Creating what it names is the task of internal/topology.
package subjects
