package wire

import (
	"github.com/carillon-scheduler/carillon/schedule"
)

// GoneReason is the Reason of an EventDropped for a start of a deleted or closed schedule. No counter counts it, because the counters are
// deleted too.
const GoneReason = "the schedule is gone"

// Add counts an event. The events of one incarnation of a schedule, each counted once and in any order, give the counters of its record. So
// the event history alone is enough to rebuild them. Events that no counter counts change nothing.
func (c *Counters) Add(e schedule.Event) {
	count := int64(max(e.Count, 1))
	switch e.Kind {
	case schedule.EventStarted:
		c.Actions += count
	case schedule.EventMissed:
		c.MissedCatchup += count
	case schedule.EventSkipped:
		// An overlap policy skips with the policy set. Without it, a person asked for the skip.
		if e.Overlap == "" {
			c.SkippedOnRequest += count
		} else {
			c.OverlapSkipped += count
		}
	case schedule.EventDropped:
		if e.Reason != GoneReason {
			c.BufferDropped += count
		}
	}
}

// RemainingActions returns how many automated actions the definition's limit still allows. Without a limit, the number has no meaning. The
// state may be the zero value, or belong to an earlier incarnation or limit; such a state used nothing of the limit.
func (s *InvokerState) RemainingActions(d *Definition) int {
	remaining := d.Schedule.State.RemainingActions
	if s.Incarnation == d.Incarnation && s.LimitVersion == d.LimitVersion {
		remaining -= s.LimitUsed
	}
	return max(remaining, 0)
}
