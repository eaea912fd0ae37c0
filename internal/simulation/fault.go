package simulation

import "time"

// fault counts what goes wrong.
func (w *world) fault(kind, _ string) { w.faults[kind]++ }

// arrange plans the faults that do not depend on what the processes do.
func (w *world) arrange(begin time.Time) {
	some := func(count int, happen func(now time.Time)) {
		for range count {
			w.at(begin.Add(w.duration(0, w.plan.Duration)), happen)
		}
	}
	some(w.plan.Restarts, func(now time.Time) { w.stop(w.anyNode(), now) })
	some(w.plan.Suspensions, func(now time.Time) { w.suspend(w.anyNode(), now) })
	some(w.plan.Outages, func(now time.Time) {
		w.fault("outage", "")
		w.setOutage(now.Add(w.duration(100*time.Millisecond, 20*time.Second)))
		w.trace.note(now, "OUTAGE", w.outage.Sub(now).String())
		w.at(w.outage, func(time.Time) { w.stir() })
	})
	if w.plan.Skew > 0 {
		some(3, func(now time.Time) {
			n := w.anyNode()
			n.skew.Store(int64(w.duration(-w.plan.Skew, w.plan.Skew)))
			w.fault("clock jump", n.name)
			w.trace.note(now, "CLOCK", n.name+" is off by "+time.Duration(n.skew.Load()).String())
		})
	}
	w.at(begin.Add(w.plan.Duration), func(now time.Time) { w.calmDown(now) })
}

// setOutage says until when nobody reaches JetStream. The processes see it too: they have no connection.
func (w *world) setOutage(until time.Time) {
	w.outage = until
	w.reachable.Store(until.UnixNano())
}

// calmDown ends all faults.
func (w *world) calmDown(now time.Time) {
	w.trace.note(now, "CALM", "")
	w.calm = true
	w.setOutage(now)
	w.stir()
	for _, n := range w.nodes {
		n.skew.Store(0)
		if n.suspended.After(now) {
			n.suspended = now
		}
	}
}

func (w *world) anyNode() *node { return w.nodes[w.rng.IntN(len(w.nodes))] }
