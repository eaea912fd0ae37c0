package schedule

// GoneReason is the Reason of an EventDropped about a start that a deleted or closed schedule takes with it. No counter
// counts it: the counters go as well.
const GoneReason = "the schedule is gone"

// Add counts what an event tells. The events of one incarnation of a schedule, each counted once and in any order, give
// the counters of its record: the event history alone is enough to rebuild them. Events that count nothing change
// nothing.
func (c *Counters) Add(e Event) {
	count := int64(max(e.Count, 1))
	switch e.Kind {
	case EventStarted:
		c.Actions += count
	case EventMissed:
		c.MissedCatchup += count
	case EventSkipped:
		// Only an overlap policy skips under one; without, a person has asked for it.
		if e.Overlap == "" {
			c.SkippedOnRequest += count
		} else {
			c.OverlapSkipped += count
		}
	case EventDropped:
		if e.Reason != GoneReason {
			c.BufferDropped += count
		}
	}
}
