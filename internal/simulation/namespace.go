package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Get implements namespaces.Source for all processes: what a frontend has written, all of them know at once. How soon they
// do is the matter of other tests.
func (w *world) Get(name string) (schedule.Namespace, bool) {
	space := w.space.Load()
	return *space, name == space.Name
}

// limitsSince are limits of the namespace, and when they began to hold.
type limitsSince struct {
	at time.Time
	schedule.NamespaceLimits
}

// limit sets the limits of the namespace.
func (w *world) limit() {
	limits := schedule.NamespaceLimits{ActionsPerSecond: w.plan.ActionsPerSecond, MaxPendingRuns: w.plan.MaxPendingRuns}
	w.limits = append(w.limits, limitsSince{time.Now(), limits})
	w.space.Store(&schedule.Namespace{Name: namespace, Limits: limits})
}

// arrangeLimits plans that the limits of the namespace become others, or none, again and again.
func (w *world) arrangeLimits() {
	rng := rand.New(rand.NewPCG(w.seed, streamLimits))
	for range w.plan.LimitChanges {
		var limits schedule.NamespaceLimits
		if rng.IntN(2) == 0 {
			limits.ActionsPerSecond = 0.5 + 3*rng.Float64()
		}
		if rng.IntN(2) == 0 {
			limits.MaxPendingRuns = 1 + rng.IntN(4)
		}
		w.at(w.moment(between(rng, 0, w.plan.Duration)), func(now time.Time) { w.relimit(limits, now) })
	}
}

func (w *world) relimit(limits schedule.NamespaceLimits, now time.Time) {
	w.fault("limits changed")
	w.trace.note(now, "LIMITS", fmt.Sprintf("%+v", limits))
	next := *w.space.Load()
	next.Limits = limits
	w.limits = append(w.limits, limitsSince{now, limits})
	w.space.Store(&next)
}

// freeze freezes the namespace for a time, after which the freeze ends by itself or somebody ends it.
func (w *world) freeze(now time.Time, d time.Duration, byItself bool) {
	if w.calm || w.space.Load().Freeze.Covers(now) {
		return
	}
	w.fault("freeze")
	freeze := &schedule.Freeze{Reason: "maintenance", From: now}
	if byItself {
		freeze.Until = now.Add(d)
	} else {
		w.at(now.Add(d), w.unfreeze)
	}
	w.trace.note(now, "FREEZE", "for "+d.String())
	w.setFreeze(freeze)
}

// unfreeze ends the freeze of the namespace, as a frontend does.
func (w *world) unfreeze(now time.Time) {
	freeze := w.space.Load().Freeze
	if !freeze.Covers(now) {
		return
	}
	over := *freeze
	over.Until = now
	w.freezes = w.freezes[:len(w.freezes)-1]
	w.trace.note(now, "UNFREEZE", "")
	w.setFreeze(&over)
}

func (w *world) setFreeze(freeze *schedule.Freeze) {
	next := *w.space.Load()
	next.Freeze = freeze
	w.freezes = append(w.freezes, freeze)
	w.space.Store(&next)
}

// frozen: nothing automated that is due in a freeze starts. The record of the namespace knows the newest freeze only: what was
// due in an earlier one, and had not been handed over when the newest began, starts after that.
func (c *checker) frozen() {
	margin := 2 * c.plan.Skew
	for i, f := range c.freezes {
		next := time.Now()
		if i < len(c.freezes)-1 {
			next = c.freezes[i+1].From
		}
		from, until := f.From.Add(margin), f.Until.Add(-margin)
		for _, r := range c.ledger.order {
			// By its jitter, what has its time before the end is due after it.
			inside := r.nominal.After(from) && r.nominal.Before(until.Add(-time.Second))
			if r.scheduleID == c.id && r.automated() && inside && r.at.Before(next) {
				c.find("frozen", "%s was started, frozen since %s", r.workflowID, f.From.Sub(c.trace.begin))
			}
		}
	}
}
