// Package cache keeps what a process has used last, so that a schedule that fires every second is not read, decoded and compiled
// every second.
//
//   - [Records] are the records that a pool has read or written last, decoded. Such a record is like the answer of a replica that
//     lags behind: another process may have written it since. So it may serve the first read of a transition, and nothing that needs
//     the word of the leader. The compare-and-set of the write finds out; then the record is read from the leader, and kept anew.
//     Whoever keeps a record must not change what it refers to.
//   - [Specs] are compiled specs. A version of a definition never changes, so they never go stale.
//
// The package may be imported by the pools, the frontend, internal/backup, and what sets up the pools. It may import schedule, specproc,
// kv and internal/wire. It knows nothing of what the records mean, and must never decide anything.
package cache

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// DefaultSize is how many records of a kind, or specs, a pool keeps: those of the schedules that are due again and again. If there are
// more, each is forgotten before it is of use.
const DefaultSize = 16384

// Definitions returns records of definitions. The pools of a process share them: what one has just read or confirmed serves
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

// Get returns the record of a schedule as it was last known here; false if it is not.
func (r *Records[T]) Get(key schedule.Key) (kv.Record[T], bool) { return r.records.Get(key) }

// Load is [kv.Load] for a transition: what is known here stands for what a replica says. What it reads is not kept, since
// the transition may fail.
func (r *Records[T]) Load(ctx context.Context, store *kv.Store, key schedule.Key, again bool) (kv.Record[T], error) {
	if again {
		r.Drop(key)
	}
	if record, known := r.records.Get(key); known {
		return record, nil
	}
	return kv.Load(ctx, store, r.key(key), again)
}

// Keep remembers a record. One that does not exist, of revision 0, is forgotten.
func (r *Records[T]) Keep(key schedule.Key, record kv.Record[T]) {
	if record.Revision == 0 {
		r.Drop(key)
		return
	}
	r.records.Add(key, record)
}

// Drop forgets the record of a schedule.
func (r *Records[T]) Drop(key schedule.Key) { r.records.Remove(key) }
