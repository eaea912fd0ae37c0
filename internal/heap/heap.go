// Package heap gives memory back to the system once a process has little to do.
//
// Go lets a heap grow to twice what is in use before it collects, and returns memory to the system slowly. That is right under load.
// A scheduler waits most of its life, with an index of everything that waits in memory: there, half of it would be held for nothing.
//
// It is for the processes of Carillon (package cli). Libraries must not import it: what a process does with its memory is not theirs
// to say.
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
	// interval is the time between two looks. To wake up is much of what an idle process does.
	interval = 4 * time.Second
	// calm is how long a process must have little to do before it gives memory back.
	calm = 3 * interval
	// leastLoad is how much a process must allocate in an interval to have anything to do, in bytes.
	leastLoad = 1 << 20
	// between is the least time from one giving back to the next: each is a collection.
	between = time.Minute
)

// GiveBack gives memory back to the system, until ctx ends, whenever the process has had little to do for twelve seconds. There must have
// been much to do before, or much of the memory must be unused. GiveBack does so once a minute at most. It is for the whole process, and
// must not run twice at a time. How often Go collects is left to Go, and to GOGC and GOMEMLIMIT.
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

// usage is what the runtime says of the heap, in bytes.
type usage struct {
	// allocated counts since the process began.
	allocated uint64
	// live is what the last collection has found in use.
	live uint64
	// held is what the heap takes of the system's memory, in use or not.
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

// rest decides when to give memory back.
type rest struct {
	// quiet is how long there has been little to do, since how long ago memory was given back.
	quiet, since time.Duration
	// loaded says that there was much to do since then. What was in use at the last collection may be unused by now.
	loaded bool
}

// next takes in what is in use now, and what has been allocated in the last interval. It reports whether to give memory back: if there has
// been little to do for a while, and there was much before or much is held that is not in use.
//
// Little is less than a fiftieth of what is in use, or than a mebibyte. NATS allocates a tenth when it writes the index of a large
// stream, every two minutes. Much is a third.
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
