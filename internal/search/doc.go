// Package search finds schedules by what is known about them. It keeps a read model of the state buckets in SQLite. This is a
// cache: it can be lost at any time, and is then rebuilt from the buckets.
//
// [Index.Run] follows the buckets of all shards. It reads in steps, which take a small share of the time, because the pools write thousands
// of times a second in a busy installation. Every SQLite transaction stores how far each bucket has been read, so that a process that comes
// back continues from there.
//
// [Index.List], [Index.Count] and [Index.IDs] answer queries of package query. They read only the index, and say how far behind
// it is. [Index.Await] before them makes the index read the definitions, which people write, up to this moment.
//
// The package may import kv, schedule, subjects, internal/bus, internal/codec, internal/metrics,
// internal/search/query and internal/wire.
package search
