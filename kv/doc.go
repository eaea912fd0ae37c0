// Package kv keeps Carillon's records on JetStream KV: one bucket for each shard, one key for each record, every write a
// compare-and-set on the record's revision.
//
// A [Key] names a record and carries its type, so that [Get], [Put] and [Delete] are typed:
//
//	record, err := kv.Get(ctx, store, kv.Definition(key))
//	…
//	revision, err := kv.Put(ctx, store, kv.Definition(key), next, record.Revision)
//
// The [Cluster] is a bucket of its own for everything that an installation keeps besides its schedules.
//
// Errors are [ErrNotFound], [ErrConflict] or [ErrCorrupt], or come from NATS; the caller may try again after the latter. Callers pass
// [ErrUnconfirmed] to [RetryConflicts]; no function here returns it. The pools decide who owns which record.
//
// The package may import schedule, subjects, internal/bus, internal/codec, internal/metrics and internal/wire. It must never hold a
// decision about schedules, nor a cache.
package kv
