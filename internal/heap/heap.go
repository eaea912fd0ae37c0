// Package heap keeps the memory of a process small while there is little to do, and its timers on time while memory is collected.
//
// Go lets a heap grow to twice of what is in use before it collects, and gives memory back to the system slowly. That is right
// under load, where collecting more often would take processor time from the work. A scheduler waits most of its life, with an index
// of everything that waits in memory: there, half of it would be held for nothing.
//
// While Go marks what is in use, processors that have nothing to do help with it, for ten or twenty milliseconds at a time: they look
// for goroutines and for the network in between, not for timers, and catch up with their share of the marking before they go on. Where
// much is in use that lasts for seconds, in which everything would be late. So collections are begun here, where they are at least
// four seconds apart, and while one lasts something comes from the network, as far as Go can see, four times in a millisecond (ticks),
// and there are as many processors as Go needs to set one aside for the marking.
//
// It is for the processes of Carillon (package cli). Libraries must not import it: how often a process collects is not theirs to
// say.
package heap

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// interval is how often it is looked whether to collect, seldomInterval where that is far from being due: to wake up is much of what
// an idle process does.
const (
	interval       = 250 * time.Millisecond
	seldomInterval = time.Second
)

// Pace adapts to the load by how much the heap may grow between two collections, until ctx ends; then it restores what it has
// found. That is 30, 40 or 60 percent by what was allocated in the last minute; where that was a gibibyte or more, it is 150 percent or
// 1.25 GiB, whichever is less, and 60 percent at least. It is 100 percent where collections come more often than every four seconds, and
// 150 where they come more often than every two. The first two seconds, in which a process starts, count for none of that. Once there
// is little to do after such a load, it gives back to the system what is not in use, once a minute at most. It is for the whole process,
// and must not run twice at a time.
//
// Whoever has set GOGC has decided already: then it should not be called. A limit set by GOMEMLIMIT stays in force.
func Pace(ctx context.Context) {
	p := newPacer()
	limit := growth[p.level].limit
	before := debug.SetGCPercent(limit)
	defer func() { debug.SetGCPercent(before) }()
	ticks := newTicks()
	defer ticks.close()
	last := measure()
	for pause := interval; sleep.For(ctx, pause) == nil; pause = p.pause(last) {
		now := measure()
		what := p.next(now, now.allocated-last.allocated, pause)
		last = now
		if limit != growth[p.level].limit { // to set it stops the process for a moment
			limit = growth[p.level].limit
			debug.SetGCPercent(limit)
		}
		switch what {
		case collect:
			onTime(ticks, runtime.GC)
		case giveBack:
			onTime(ticks, debug.FreeOSMemory)
		}
	}
}

// onTime calls a function that collects, such that timers fire in time meanwhile.
func onTime(ticks *ticks, collect func()) { ticks.during(func() { withProcessors(collect) }) }

// usage is what the runtime says of the heap, in bytes.
type usage struct {
	// allocated counts since the process began.
	allocated uint64
	// live is what the last collection has found in use, objects what is there now: that, and what has been allocated since.
	live, objects uint64
}

func measure() usage {
	samples := [...]metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
	}
	metrics.Read(samples[:])
	return usage{samples[0].Value.Uint64(), samples[1].Value.Uint64(), samples[2].Value.Uint64()}
}
