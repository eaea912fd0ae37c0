// Package kv keeps Carillon's records on JetStream KV: one bucket for each shard, one key for each record, every write a
// compare-and-set on the record's revision.
//
// A [Key] names a record and carries its type, so that [Get], [Put] and [Delete] are typed:
//
//	record, err := kv.Get(ctx, store, kv.Definition(key))
//	…
//	revision, err := kv.Put(ctx, store, kv.Definition(key), next, record.Revision)
//
// What an installation knows beside its schedules is in a bucket of its own, the [Cluster].
//
// Errors are one of [ErrNotFound], [ErrConflict] and [ErrCorrupt], or come from NATS and mean that it may be tried again.
// [ErrUnconfirmed] is a word for the callers: no function here returns it.
// Whether a record was read or written in vain is an ordinary outcome here; who owns which record is the pools' matter.
//
// The package may import schedule, subjects, internal/bus, internal/codec, internal/metrics and internal/wire. It must never hold a
// decision about schedules, nor a cache.
package kv
