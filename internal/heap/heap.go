// Package heap returns memory to the system when a process has little to do.
//
// Go lets a heap grow to twice its used size before it collects, and returns memory to the system slowly. That is right under
// load. But a scheduler waits for most of its life, and its memory has an index of everything that waits. Half of the heap would
// be unused.
//
// It is for the processes of Carillon (package cli). Libraries must not import it, because they must not decide about the memory
// of a process.
//
// The package imports nothing of Carillon.
package heap

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/carillon-scheduler/carillon/internal/sleep"
)

const (
	// interval is the time between two looks. Wake-ups are much of the work of an idle process.
	interval = 4 * time.Second
	// calm is how long a process must have little to do before it returns memory.
	calm = 3 * interval
	// leastLoad is how much a process must allocate in an interval to count as busy, in bytes.
	leastLoad = 1 << 20
	// between is the least time between two returns of memory, because each one is a collection.
	between = time.Minute
)

// GiveBack returns memory to the system, until ctx ends, whenever the process has had little to do for twelve seconds. It does so
// only if there was much to do before or much of the memory is unused, and once a minute at most. It is for the whole process,
// and must not run twice at a time. It does not change how often Go collects; Go, GOGC and GOMEMLIMIT decide that.
func GiveBack(ctx context.Context) {
	r := rest{since: between}
	for last := measure(); sleep.For(ctx, interval) == nil; {
		now := measure()
		if r.next(now, now.allocated-last.allocated) {
			debug.FreeOSMemory()
		}
		last = now
	}
}

// usage is what the runtime reports about the heap, in bytes.
type usage struct {
	// allocated counts all allocations since the process began.
	allocated uint64
	// live is what the last collection found in use.
	live uint64
	// held is the memory that the heap has from the system, in use or not.
	held uint64
}

func measure() usage {
	samples := [...]metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples[:])
	var held uint64
	for _, s := range samples[2:] {
		held += s.Value.Uint64()
	}
	return usage{allocated: samples[0].Value.Uint64(), live: samples[1].Value.Uint64(), held: held}
}

// rest decides when to return memory.
type rest struct {
	// quiet is for how long there has been little to do, since how long ago memory was last returned.
	quiet, since time.Duration
	// loaded is set if there was much to do since then. What was in use at the last collection may be unused by now.
	loaded bool
}

// next takes the current usage, and what was allocated in the last interval. It reports whether to return memory: if there has
// been little to do for a while, and either there was much to do before, or much memory is unused.
//
// Little is less than a fiftieth of the used memory, or less than a mebibyte. NATS allocates a tenth when it writes the index of
// a large stream, every two minutes. Much is a third.
func (r *rest) next(now usage, allocated uint64) bool {
	r.since += interval
	r.quiet += interval
	if allocated >= max(now.live/50, leastLoad) {
		r.quiet = 0
		r.loaded = r.loaded || allocated >= now.live/3
	}
	if r.quiet < calm || r.since < between || !r.loaded && now.held < now.live+now.live/3 {
		return false
	}
	*r = rest{quiet: r.quiet}
	return true
}
