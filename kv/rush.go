package kv

import (
	"sync/atomic"
	"time"
)

// rushRecords is the number of records, read in one second from shards with a lane, that makes a rush. An action reads one record or a
// little more. The number of reads would not show a rush, because under load each read covers more records.
const rushRecords = 1500

// rush decides whether shards are read through the main connection although they have lanes. A read through a lane wakes goroutines for
// itself alone; a read through the busy main connection shares its wake-ups with other messages. Under heavy load the cost of reads limits
// the throughput, and that matters more than keeping other shards from waiting. It is safe for concurrent use.
type rush struct {
	second  atomic.Int64 // the current second
	records atomic.Int64 // the records read in it so far
	on      atomic.Bool
}

// read counts records that are read together, and reports whether there is a rush: whether at least rushRecords were read in the second
// before. The time at counts from any fixed moment. At the border of two seconds, a few records may be counted in the wrong one.
func (r *rush) read(records int, at time.Duration) bool {
	second, last := int64(at/time.Second), r.second.Load()
	if second > last && r.second.CompareAndSwap(last, second) {
		before := r.records.Swap(0)
		r.on.Store(second == last+1 && before >= rushRecords)
	}
	r.records.Add(int64(records))
	return r.on.Load()
}
