package wire

import (
	"github.com/carillon-scheduler/carillon/schedule"
)

// GoneReason is the Reason of an EventDropped about a start that a deleted or closed schedule takes with it. No counter
// counts it: the counters go as well.
const GoneReason = "the schedule is gone"

// Add counts what an event tells. The events of one incarnation of a schedule, each counted once and in any order, give
// the counters of its record: the event history alone is enough to rebuild them. Events that count nothing change
// nothing.
func (c *Counters) Add(e schedule.Event) {
	count := int64(max(e.Count, 1))
	switch e.Kind {
	case schedule.EventStarted:
		c.Actions += count
	case schedule.EventMissed:
		c.MissedCatchup += count
	case schedule.EventSkipped:
		// Only an overlap policy skips under one; without, a person has asked for it.
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

// RemainingActions returns how many automated actions the definition's limit still allows; without a limit the number
// means nothing. The state may be the zero value, or that of an earlier incarnation or limit, which used nothing up.
func (s *InvokerState) RemainingActions(d *Definition) int {
	remaining := d.Schedule.State.RemainingActions
	if s.Incarnation == d.Incarnation && s.LimitVersion == d.LimitVersion {
		remaining -= s.LimitUsed
	}
	return max(remaining, 0)
}
