// Package cache keeps what a process has used last. So a schedule that is due every second is not read, decoded and compiled
// every second.
//
//   - [Records] are the records that a pool has read or written last, decoded. Like the answer of a replica that lags behind,
//     such a record may be outdated, because another process may have written it since. So it may serve the first read of a
//     transition, but nothing that needs the leader's answer. The compare-and-set of the write detects an outdated record; then
//     the record is read from the leader, and kept again. A caller that keeps a record must not change what it refers to.
//   - [Specs] are compiled specs. A version of a definition never changes, so they never go stale.
//
// The package may be imported by the pools, the frontend, internal/backup, and what sets up the pools. It may import schedule,
// specproc, kv and internal/wire. It does not know what the records mean, and must never decide anything.
package cache

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// DefaultSize is how many records of a kind, or specs, a pool keeps. They are for the schedules that are often due. If there are
// more such schedules, each record is forgotten before it is of use.
const DefaultSize = 16384

// Definitions returns records of definitions. The pools of a process share them: what one pool has just read or confirmed serves
// the next.
func Definitions() *Records[wire.Definition] { return NewRecords(DefaultSize, kv.Definition) }

// Records are the last records of one kind, by schedule. It is safe for concurrent use.
type Records[T any] struct {
	records *lru.Cache[schedule.Key, kv.Record[T]]
	key     func(schedule.Key) kv.Key[T]
}

// NewRecords returns records of the kind that key names, at most size of them, and at least one.
func NewRecords[T any](size int, key func(schedule.Key) kv.Key[T]) *Records[T] {
	records, err := lru.New[schedule.Key, kv.Record[T]](max(size, 1))
	if err != nil {
		panic("cache: " + err.Error()) // only for a size below 1
	}
	return &Records[T]{records: records, key: key}
}

// Get returns the record of a schedule as it is known here; false if it is not known.
func (r *Records[T]) Get(key schedule.Key) (kv.Record[T], bool) { return r.records.Get(key) }

// Load is [kv.Load] for a transition: a record that is known here replaces the answer of a replica. Load does not keep what it
// reads, because the transition may fail.
func (r *Records[T]) Load(ctx context.Context, store *kv.Store, key schedule.Key, again bool) (kv.Record[T], error) {
	if again {
		r.Drop(key)
	}
	if record, known := r.records.Get(key); known {
		return record, nil
	}
	return kv.Load(ctx, store, r.key(key), again)
}

// Keep remembers a record. A record with revision 0 does not exist, and is forgotten.
func (r *Records[T]) Keep(key schedule.Key, record kv.Record[T]) {
	if record.Revision == 0 {
		r.Drop(key)
		return
	}
	r.records.Add(key, record)
}

// Drop forgets the record of a schedule.
func (r *Records[T]) Drop(key schedule.Key) { r.records.Remove(key) }
