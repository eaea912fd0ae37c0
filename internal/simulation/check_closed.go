package simulation

import (
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// closed: a schedule is closed when nothing has happened for the idle time, and not before: nothing is due any more by its last version,
// nobody has changed it, and none of its runs was due or in progress. That all which have nothing to do are closed in the end is a matter
// of coming to rest.
func (c *checker) closed() {
	versions := c.books.versions[c.id]
	for i := range versions {
		if i == 0 || versions[i].definition.Incarnation != "" || !c.wasClosed(versions[i-1].definition.Incarnation) {
			continue
		}
		at, last := versions[i].at, &versions[i-1].definition
		since := at.Add(-c.plan.IdleTime + 2*c.plan.Skew + time.Second)
		if changed := maxTime(last.CreateTime, maxTime(last.UpdateTime, last.ActiveSince)); changed.After(since) {
			c.find("closed", "it was closed at %s, and changed at %s", at.Sub(c.trace.begin), changed.Sub(c.trace.begin))
		}
		for _, r := range c.ledger.order {
			if r.scheduleID == c.id && r.decision.incarnation == last.Incarnation && (r.due.After(since) || !r.over || r.ended.After(at)) {
				c.find("closed", "it was closed at %s, when %s was not over for long enough", at.Sub(c.trace.begin), r.workflowID)
			}
		}
		if next := timesOf(last, at, at.Add(time.Hour)); !last.Schedule.State.LimitedActions && len(next) > 0 {
			c.find("closed", "it was closed at %s, and has a time at %s", at.Sub(c.trace.begin), next[0].Sub(c.trace.begin))
		}
	}
}

// wasClosed reports whether the history tells that a schedule was closed, and not that anybody has deleted it.
func (c *checker) wasClosed(incarnation string) bool {
	closed, deleted := false, false
	for _, e := range c.history(c.id) {
		closed = closed || e.ID == schedule.ClosedEventID(incarnation)
		deleted = deleted || e.ID == schedule.DeletedEventID(incarnation)
	}
	return closed && !deleted
}
