package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// longestSuspension is how long a process stands still, at most.
const longestSuspension = 30 * time.Second

// fault counts a fault.
func (w *world) fault(kind string) { w.faults[kind]++ }

// arrange plans the faults that do not depend on what the processes do.
func (w *world) arrange() {
	rng := rand.New(rand.NewPCG(w.seed, streamFaults))
	some := func(count int, happen func(now time.Time)) {
		for range count {
			w.at(w.moment(between(rng, 0, w.plan.Duration)), happen)
		}
	}
	anyNode := func() *node { return w.nodes[rng.IntN(len(w.nodes))] }
	some(w.plan.Restarts, func(now time.Time) { w.stop(anyNode(), now) })
	some(w.plan.Suspensions, func(now time.Time) { w.suspend(anyNode(), now, between(rng, time.Second, longestSuspension)) })
	some(w.plan.Outages, func(now time.Time) {
		w.setOutage(w.breakdown(now, "outage", between(rng, 100*time.Millisecond, 20*time.Second)))
	})
	some(w.plan.Full, func(now time.Time) {
		w.full = w.breakdown(now, "full", between(rng, time.Second, 15*time.Second))
	})
	some(w.plan.Elections, func(now time.Time) { w.elect(now, between(rng, 0, 3*time.Second), between(rng, 0, 8*time.Second)) })
	some(w.plan.PowerCuts, func(now time.Time) {
		w.fault("power cut")
		for _, n := range w.nodes {
			w.crash(n, now, "with all the others: "+n.name)
		}
	})
	if w.plan.Skew > 0 {
		some(3, func(now time.Time) {
			n := anyNode()
			skew := between(rng, -w.plan.Skew, w.plan.Skew)
			for _, f := range w.fellows(n) {
				f.skew.Store(int64(skew))
			}
			w.fault("clock jump")
			w.trace.note(now, "CLOCK", n.name+" is off by "+skew.String())
		})
	}
	w.arrangeSystem()
	w.limit()
	w.arrangeLimits()
	some(w.plan.Freezes, func(now time.Time) {
		d, byItself := between(rng, time.Second, 20*time.Second), rng.IntN(2) == 0
		spaces := w.plan.spaces()
		w.freeze(spaces[rng.IntN(len(spaces))], now, d, byItself)
	})
	w.at(w.moment(w.plan.Duration), func(now time.Time) { w.calmDown(now) })
}

// breakdown is a time in which JetStream does not do what it should.
func (w *world) breakdown(now time.Time, what string, d time.Duration) (until time.Time) {
	w.fault(what)
	w.trace.note(now, "BREAKDOWN", what+" for "+d.String())
	until = now.Add(d)
	w.troubled = maxTime(w.troubled, until)
	w.at(until, func(time.Time) { w.stir() })
	return until
}

// elect gives JetStream new leaders of its consumers now, and a while later no leaders at all for some time: nobody gets an
// answer, although the connections are up.
func (w *world) elect(now time.Time, pause, d time.Duration) {
	until := w.breakdown(now, "election", pause+d)
	w.server.Elect()
	w.stir()
	w.at(now.Add(pause), func(time.Time) { w.outage = maxTime(w.outage, until) })
}

// errFull is the server's answer to a message for which it has no room.
var errFull = &jetstream.APIError{Code: 500, ErrorCode: 10047, Description: "insufficient storage resources available"}

// setOutage says until when nobody reaches JetStream. The processes see it too: they have no connection.
func (w *world) setOutage(until time.Time) {
	w.outage = until
	w.reachable.Store(until.UnixNano())
	w.at(until, func(time.Time) { w.reconnects.Add(1) })
}

// calmDown ends all faults.
func (w *world) calmDown(now time.Time) {
	w.trace.note(now, "CALM", "")
	w.calm = true
	w.orderly.Store(true)
	for _, name := range w.plan.spaces() {
		w.unfreeze(name, now)
	}
	w.full = now
	w.setOutage(now)
	w.stir()
	for _, n := range w.nodes {
		n.skew.Store(0)
		if n.suspended.After(now) && !n.standstill {
			n.suspended = now
		}
	}
}
