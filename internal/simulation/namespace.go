package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// space is a namespace.
type space struct {
	record atomic.Pointer[schedule.Namespace]
	// freezes and limits are all that there were.
	freezes []*schedule.Freeze
	limits  []limitsSince
}

// limitsSince are limits of a namespace, and when they began.
type limitsSince struct {
	at time.Time
	schedule.NamespaceLimits
}

// makeSpaces makes the namespaces of the plan.
func (w *world) makeSpaces() {
	w.spaces = map[string]*space{namespace: {}}
	if w.plan.Twin {
		w.spaces[otherSpace] = &space{}
	}
	for name, s := range w.spaces {
		s.record.Store(&schedule.Namespace{Name: name})
	}
}

// spaceOf is the namespace of a schedule.
func (w *world) spaceOf(id string) *space { return w.spaces[keyOf(id).Namespace] }

// Get implements namespaces.Source for all processes: all of them know at once what a frontend has written. Other tests cover
// how soon they know it.
func (w *world) Get(name string) (schedule.Namespace, bool) {
	if s, there := w.spaces[name]; there {
		return *s.record.Load(), true
	}
	return schedule.Namespace{}, false
}

// All implements namespaces.Source.
func (w *world) All() (all []schedule.Namespace) {
	for _, name := range slices.Sorted(maps.Keys(w.spaces)) {
		all = append(all, *w.spaces[name].record.Load())
	}
	return all
}

// limit sets the limits of the namespace. The other one has none as long as the limits do not change.
func (w *world) limit() {
	limits := schedule.NamespaceLimits{ActionsPerSecond: w.plan.ActionsPerSecond, MaxPendingRuns: w.plan.MaxPendingRuns, WorkflowRetention: schedule.Duration(w.plan.Retention)}
	w.spaces[namespace].setLimits(limits, time.Now())
}

func (s *space) setLimits(limits schedule.NamespaceLimits, now time.Time) {
	next := *s.record.Load()
	next.Limits = limits
	s.limits = append(s.limits, limitsSince{now, limits})
	s.record.Store(&next)
}

// arrangeLimits plans that the limits of the namespaces change, or go, again and again.
func (w *world) arrangeLimits() {
	rng := rand.New(rand.NewPCG(w.seed, streamLimits))
	for range w.plan.LimitChanges {
		for _, name := range w.plan.spaces() {
			var limits schedule.NamespaceLimits
			if rng.IntN(2) == 0 {
				limits.ActionsPerSecond = 0.5 + 3*rng.Float64()
			}
			if rng.IntN(2) == 0 {
				limits.MaxPendingRuns = 1 + rng.IntN(4)
			}
			w.at(w.moment(between(rng, 0, w.plan.Duration)), func(now time.Time) { w.relimit(name, limits, now) })
		}
	}
}

func (w *world) relimit(name string, limits schedule.NamespaceLimits, now time.Time) {
	w.fault("limits changed")
	w.trace.note(now, "LIMITS", fmt.Sprintf("of %s: %+v", name, limits))
	w.spaces[name].setLimits(limits, now)
}

// freeze freezes a namespace for a time. Then the freeze ends by itself, or a caller ends it.
func (w *world) freeze(name string, now time.Time, d time.Duration, byItself bool) {
	s := w.spaces[name]
	if w.calm || s.record.Load().Freeze.Covers(now) {
		return
	}
	w.fault("freeze")
	freeze := &schedule.Freeze{Reason: "maintenance of " + name, From: now}
	if byItself {
		freeze.Until = now.Add(d)
	} else {
		w.at(now.Add(d), func(now time.Time) { w.unfreeze(name, now) })
	}
	w.trace.note(now, "FREEZE", name+" for "+d.String())
	s.setFreeze(freeze)
}

// unfreeze ends the freeze of a namespace, as a frontend does.
func (w *world) unfreeze(name string, now time.Time) {
	s := w.spaces[name]
	freeze := s.record.Load().Freeze
	if !freeze.Covers(now) {
		return
	}
	over := *freeze
	over.Until = now
	s.freezes = s.freezes[:len(s.freezes)-1]
	w.trace.note(now, "UNFREEZE", name)
	s.setFreeze(&over)
}

func (s *space) setFreeze(freeze *schedule.Freeze) {
	next := *s.record.Load()
	next.Freeze = freeze
	s.freezes = append(s.freezes, freeze)
	s.record.Store(&next)
}

// frozen: no automated action that is due in a freeze starts, and none is given up for a freeze of another namespace. The
// record of the namespace knows the newest freeze only. An action that was due in an earlier freeze, and had not been handed
// over when the newest one began, starts after that.
func (c *checker) frozen() {
	for i := range c.events {
		e := &c.events[i]
		if reason, isFrozen := strings.CutPrefix(e.Reason, schedule.FrozenReason); isFrozen && reason != "maintenance of "+c.key.Namespace {
			c.find("frozen", "%s was given up: %s", e.Nominal.Format(time.RFC3339), e.Reason)
		}
	}
	margin := 2 * c.plan.Skew
	freezes := c.spaceOf(c.id).freezes
	for i, f := range freezes {
		next := time.Now()
		if i < len(freezes)-1 {
			next = freezes[i+1].From
		}
		from, until := f.From.Add(margin), f.Until.Add(-margin)
		for _, r := range c.ledger.order {
			// With its jitter, an action before the end may be due after it.
			inside := r.nominal.After(from) && r.nominal.Before(until.Add(-time.Second))
			if r.scheduleID == c.id && r.automated() && inside && r.at.Before(next) {
				c.find("frozen", "%s was started, frozen since %s", r.workflowID, f.From.Sub(c.trace.begin))
			}
		}
	}
}
