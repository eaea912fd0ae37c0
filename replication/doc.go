// Package replication is the role that keeps the two sites of an installation together (docs/sites.md). It runs at both, beside whatever else
// runs there, and does nothing while the installation has only one site.
//
// What a site does next is decided in internal/site, as a pure function. This package does it: it makes mirrors of the other site's streams, fences the
// streams of a site that hands over, turns mirrors into streams, and repairs what no mirror can have. It also says how far a standby is behind.
//
// Any number of processes may run the role at a site: each of its actions may be repeated, and only a record that nobody has changed meanwhile is written. It is
// the only role that deletes streams.
//
// It may import schedule, subjects, internal/bus, internal/consistency, internal/flood, internal/metrics, internal/presence, internal/site, internal/sleep,
// internal/taskqueue and internal/topology. It must never read or change what a stream means to another role, but by internal/consistency.
package replication
