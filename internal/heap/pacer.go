package heap

import (
	"math"
	"time"
)

const (
	// window is over what time a load is measured that leaves nothing to wait for.
	window = 2 * time.Second
	// calm is for how long there has to be less load until the heap may grow by less, or memory is given back.
	calm = 6 * window
	// between is how far apart collections are to be, unless there is much to do; and at least how far apart those are
	// that give memory back.
	between = time.Minute
	// seldom is how far apart they are at least when they are begun here, and rarely for Go's default to be enough when they are not.
	seldom = 4 * time.Second
	rarely = 2 * time.Second
	// much is what is allocated in between, where marking by the growth of medium takes a twentieth of the time or more: 2 ns for each
	// byte in use, on two processors. How much that is does not matter: more takes longer to mark, and is marked less often.
	much = 1 << 30
	// most is by how many bytes the heap grows at most, where medium says less.
	most = 5 << 28
)

// level is how much load there is.
type level int

const (
	idlest level = iota
	light
	medium
	steady
	heavy
	heaviest
)

// growth says of each level by how many percent the heap may grow until a collection is begun here, and until Go has collected. The
// second is twice as much, so that Go does not begin first: within a second NATS allocates for the index of a large stream what is a
// tenth of the heap. Where the first is 0, it is left to Go.
var growth = [...]struct{ begin, limit int }{
	idlest:   {30, 60},
	light:    {40, 80},
	medium:   {60, 120},
	steady:   {150, 250},
	heavy:    {0, 100},
	heaviest: {0, 150},
}

// goBegins is at what part of the limit Go begins to collect, at the earliest.
const goBegins = 0.7

// action is what is to be done at once.
type action int

const (
	nothing action = iota
	// collect is to collect what is not in use.
	collect
	// giveBack is to collect it and to give it back to the system.
	giveBack
)

// pacer decides by how much the heap may grow, and when to collect.
type pacer struct {
	level level
	// starting says that the first window is not over.
	starting bool
	// less is for how long a lower level would have been enough, quiet for how long there has been little to do.
	less, quiet time.Duration
	// loaded says that there was more to do since memory was last given back, since is how long ago that is.
	loaded bool
	since  time.Duration
	// collected is how long ago a collection was last begun.
	collected time.Duration
	// allocated are the bytes, and in the time, since the load was last measured; recent are the bytes of each window of the last
	// minute, of which the oldest is the next to be replaced.
	allocated uint64
	in        time.Duration
	recent    [between / window]uint64
	oldest    int
}

func newPacer() pacer { return pacer{starting: true, loaded: true, since: between, collected: between} }

// begins reports whether to collect. Beyond what Go begins at, it has begun already.
func (l level) begins(now usage) bool {
	g, grown := growth[l], grown(now)
	enough := math.Max(float64(growth[medium].begin), percent(most, now.live))
	return g.begin > 0 && grown >= math.Min(float64(g.begin), enough) && grown < goBegins*float64(g.limit)
}

// next goes by what is in use, and by the bytes that have been allocated in a time.
func (p *pacer) next(now usage, allocated uint64, in time.Duration) action {
	p.since += in
	p.collected += in
	p.allocated += allocated
	p.in += in
	switch {
	case p.starting:
		p.start()
	case p.in >= window && p.adapt(now.live):
		return giveBack
	case p.level.begins(now):
		return p.begin()
	}
	return nothing
}

// start lets the first window pass. What a process allocates while it starts stays in use for the most part, and says nothing of
// what there will be to do: taken for load, it would let the heap grow to twice as much for a while.
func (p *pacer) start() {
	if p.in >= window {
		p.starting, p.allocated, p.in = false, 0, 0
	}
}

// pause returns when to look again. The index of a stream, which NATS begins to write at any time, does not make a collection due
// within a second where half of what the heap may grow by is left.
func (p *pacer) pause(now usage) time.Duration {
	if p.level == idlest && grown(now) < float64(growth[idlest].begin)/2 {
		return seldomInterval
	}
	return interval
}

// begin begins a collection, unless the last one was just now: then there is more to do than the last window has told.
func (p *pacer) begin() action {
	if p.collected < seldom {
		p.level, p.less = heavy, 0
		return nothing
	}
	p.collected = 0
	return collect
}

// grown returns by how many percent the heap has grown since the last collection.
func grown(u usage) float64 {
	return percent(float64(u.objects)-float64(u.live), u.live)
}

func percent(bytes float64, live uint64) float64 { return 100 * bytes / math.Max(float64(live), 1) }

// adapt changes the level. It reports whether memory should be given back: where there was more to do than now, and there is little.
//
// Of much to do a window tells enough. Of little it does not: NATS writes the indexes of its streams every two minutes, for which it
// allocates more than in all the time between.
func (p *pacer) adapt(live uint64) (release bool) {
	now, in := levelFor(live, p.allocated, p.in), p.in
	want := now
	p.remember()
	if now < heavy {
		want = p.forMinute(live)
	}
	p.follow(want, in)
	return p.rests(now, in)
}

// remember takes what has been allocated for the newest window of the last minute, and begins another.
func (p *pacer) remember() {
	p.recent[p.oldest] = p.allocated
	p.oldest = (p.oldest + 1) % len(p.recent)
	p.allocated, p.in = 0, 0
}

// forMinute returns the level for what has been allocated in the last minute.
func (p *pacer) forMinute(live uint64) level {
	var allocated uint64
	for _, bytes := range p.recent {
		allocated += bytes
	}
	if allocated >= much {
		return steady
	}
	return min(medium, levelFor(live, allocated, between))
}

// follow goes up at once, and down when that has been enough for a while.
func (p *pacer) follow(want level, in time.Duration) {
	p.less += in
	if want >= p.level || p.less >= calm {
		p.level, p.less = want, 0
	}
}

// rests reports whether there has been little to do for a while, after more.
func (p *pacer) rests(now level, in time.Duration) bool {
	p.quiet += in
	if now >= medium {
		p.loaded, p.quiet = p.loaded || now >= heavy, 0
	}
	if !p.loaded || p.quiet < calm || p.since < between {
		return false
	}
	p.loaded, p.since, p.collected = false, 0, 0
	return true
}

// levelFor returns the least level at which collections are far enough apart.
func levelFor(live, allocated uint64, in time.Duration) level {
	// grows is by how many percent the heap grows in a time.
	grows := func(d time.Duration) float64 {
		return percent(float64(allocated)*float64(d)/float64(in), live)
	}
	switch {
	case grows(between) <= float64(growth[idlest].begin):
		return idlest
	case grows(between) <= float64(growth[light].begin):
		return light
	case grows(seldom) <= float64(growth[medium].begin):
		return medium
	case grows(rarely) <= float64(growth[heavy].limit):
		return heavy
	}
	return heaviest
}
