// Package search finds schedules by what is known about them. It keeps a read model of the state buckets in SQLite: a
// cache that can be lost at any time, and is rebuilt from the buckets when it is.
//
// [Index.Run] follows the buckets of all shards. What people write, the definitions, shows within moments; what the pools
// write, thousands of times a second in a busy installation, is read in larger steps, of which each takes a small part of
// the time there is. Every transaction of SQLite stores how far each bucket has been read, so that a process that comes
// back goes on from there.
//
// [Index.List], [Index.Count] and [Index.IDs] answer queries of package query. They read the index alone, and say how far
// it is behind.
//
// The package may import kv, schedule, subjects, internal/bus, internal/codec, internal/metrics,
// internal/search/query and internal/wire.
package search
