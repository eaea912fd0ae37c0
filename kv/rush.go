package kv

import (
	"sync/atomic"
	"time"
)

// rushRecords is how many records that are read in a second, of shards with a lane, make a rush. An action takes one, or a little more.
// Reads would not tell: where there is much to do, each is of more records.
const rushRecords = 1500

// rush knows whether so much is read of shards with a lane that the lanes give way. A read by a lane wakes goroutines for itself alone,
// while one by the connection of everything else goes along with what that carries. Where there is much to do, the cost of reads decides
// how much is done; what a lane is for, that others need not wait for its shard, matters less then. It is safe for concurrent use.
type rush struct {
	second  atomic.Int64 // that is counted
	records atomic.Int64 // read in it so far
	on      atomic.Bool
}

// read counts records that are read together, and reports whether that is in a rush: whether there were as many in the second before. At
// is since any moment, the same for all reads. Where two seconds meet, a few records may be counted in the wrong one.
func (r *rush) read(records int, at time.Duration) bool {
	second, last := int64(at/time.Second), r.second.Load()
	if second > last && r.second.CompareAndSwap(last, second) {
		before := r.records.Swap(0)
		r.on.Store(second == last+1 && before >= rushRecords)
	}
	r.records.Add(int64(records))
	return r.on.Load()
}
