// Package search finds schedules and workflow executions by what is known about them. It keeps a read model of the state buckets and of the
// journals in SQLite. This is a cache: it can be lost at any time, and is then rebuilt from the streams.
//
// [Index.Run] follows the streams of all shards. It reads the buckets in steps, which take a small share of the time, because the pools write
// thousands of times a second in a busy installation and only the last record of a key matters. It reads every entry of the journals. Every
// SQLite transaction stores how far a stream has been read, so that a process that comes back continues from there.
//
// [Index.List], [Index.Count] and [Index.IDs] answer queries of package query about schedules, [Index.Executions] and [Index.CountExecutions]
// those about executions. They read only the index, and say how far behind it is. [Index.Await] and [Index.AwaitExecutions] before them make
// the index read up to this moment.
//
// The package may import execution, kv, schedule, subjects, internal/attributes, internal/bus, internal/codec, internal/metrics, internal/payload,
// internal/search/query and internal/wire.
package search
