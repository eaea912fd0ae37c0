// Package heap keeps the memory of a process small while there is little to do.
//
// Go lets a heap grow to twice of what is in use before it collects, and gives memory back to the system slowly. That is right
// under load, where collecting more often would take processor time from the work; under much load with little in use it is not
// enough. A scheduler waits most of its life, with an index of everything that waits in memory: there, half of it would be held for
// nothing.
//
// It is for the processes of Carillon (package cli). Libraries must not import it: how often a process collects is not theirs to
// say.
package heap

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/carillon-scheduler/carillon/internal/idle"
)

const (
	// interval is how often the load is looked at.
	interval = time.Second
	// calm is how many looks in a row have to find little load until the heap may grow by less, and memory is given back.
	calm = 10
	// between is how far apart collections are to be, unless the heap may grow by Go's default or more; and at least how far
	// apart those are that give memory back.
	between = time.Minute
	// rarely is how far apart collections are to be for Go's default to be enough.
	rarely = 2 * time.Second
)

// The levels are by how many percent the heap may grow between two collections.
const (
	least     = 20
	less      = 50
	goDefault = 100
	more      = 200
)

// Pace adapts to the load by how much the heap may grow between two collections, until ctx ends; then it restores what it has
// found. That is 20, 50, 100 or, where collections would come more often than every two seconds, 200 percent: more at once for
// whoever allocates more, less after ten seconds. Where it is less than Go's 100 then, it also gives back to the system what is not
// in use, once a minute at most. It is for the whole process, and must not run twice at a time.
//
// Whoever has set GOGC has decided already: then it should not be called. A limit set by GOMEMLIMIT stays in force.
func Pace(ctx context.Context) {
	p := pacer{percent: least, since: between}
	before := debug.SetGCPercent(p.percent)
	defer func() { debug.SetGCPercent(before) }()
	last := measure()
	for idle.For(ctx, interval) == nil {
		now := measure()
		release := p.next(now.live, now.allocated-last.allocated, interval)
		last = now
		debug.SetGCPercent(p.percent)
		if release {
			debug.FreeOSMemory()
		}
	}
}

// pacer decides by how much the heap may grow.
type pacer struct {
	percent int
	// calm counts the looks in a row that would have been content with less.
	calm int
	// since is how long ago memory was last given back.
	since time.Duration
}

// next goes by the bytes that are in use, and those that have been allocated in a time. It reports whether memory should be
// given back: where there was more load than now, and there is little.
func (p *pacer) next(live, allocated uint64, in time.Duration) (release bool) {
	p.since += in
	want := percentFor(live, allocated, in)
	switch {
	case want >= p.percent:
		p.percent, p.calm = want, 0
		return false
	case p.calm < calm-1:
		p.calm++
		return false
	}
	p.percent, p.calm = want, 0
	if p.since < between || want >= goDefault {
		return false
	}
	p.since = 0
	return true
}

// percentFor returns the least level at which collections are far enough apart.
func percentFor(live, allocated uint64, in time.Duration) int {
	// grows is by how many percent the heap grows in a time.
	grows := func(d time.Duration) float64 {
		return 100 * float64(allocated) * (float64(d) / float64(in)) / math.Max(float64(live), 1)
	}
	switch {
	case grows(between) <= least:
		return least
	case grows(between) <= less:
		return less
	case grows(rarely) <= goDefault:
		return goDefault
	}
	return more
}

// usage is what the runtime says of the heap.
type usage struct {
	// allocated counts the bytes since the process began, live those that the last collection has found in use.
	allocated, live uint64
}

func measure() usage {
	samples := [...]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples[:])
	return usage{samples[0].Value.Uint64(), samples[1].Value.Uint64()}
}
