package simulation

import (
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// closed: a schedule is closed when nothing has happened for the idle time, and not before: its last version has no due time
// left, nobody has changed it, and none of its runs was due or in progress. That every schedule with nothing to do is closed in
// the end is checked by busy.
//
// A trigger or backfill is stored without a change of the definition. So one that comes between the generator's last look and
// the closing does not keep the schedule open, and its caller is told so. What was accepted is carried out before the schedule
// is closed.
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
		looked := c.lookedBeforeClosing(at)
		for _, r := range c.ledger.order {
			of := r.scheduleID == c.id && r.decision.incarnation == last.Incarnation
			open := !r.lost && (!r.over || r.ended.After(at)) // the end of a lost run is unknown
			if of && !c.storedSince(r, looked) && (r.due.After(since) || open) {
				c.find("closed", "it was closed at %s, when %s was not over for long enough", at.Sub(c.trace.begin), r.workflowID)
			}
		}
		c.acceptedBeforeClosing(last, at)
		// What a clock that is ahead calls due has been started already.
		if next := timesOf(last, at.Add(c.plan.Skew), at.Add(time.Hour)); !last.Schedule.State.LimitedActions && len(next) > 0 {
			c.find("closed", "it was closed at %s, and has a time at %s", at.Sub(c.trace.begin), next[0].Sub(c.trace.begin))
		}
	}
}

// acceptedBeforeClosing: a request that was accepted has come to its end when the schedule is closed.
func (c *checker) acceptedBeforeClosing(last *wire.Definition, at time.Time) {
	over := append(slices.Clone(fates), schedule.EventBackfillCompleted, schedule.EventBackfillCanceled)
	for _, r := range c.replies {
		if r.id != c.id || r.err != nil || r.from.Before(last.CreateTime.Add(2*c.plan.Skew)) || !r.to.Before(at) {
			continue
		}
		var id string
		switch answer := r.answer.(type) {
		case schedule.TriggerReply:
			id = answer.TriggerID
		case schedule.BackfillReply:
			id = answer.BackfillID
		default:
			continue
		}
		if !slices.ContainsFunc(c.history(c.id), func(e schedule.Event) bool { return e.Source == id && slices.Contains(over, e.Kind) }) {
			c.find("closed", "it was closed at %s, and nothing became of %s %s", at.Sub(c.trace.begin), r.verb, id)
		}
	}
}

// wasClosed reports whether the history tells that a schedule was closed.
func (c *checker) wasClosed(incarnation string) bool {
	return slices.ContainsFunc(c.history(c.id), func(e schedule.Event) bool { return e.ID == wire.ClosedEventID(incarnation) })
}

// lookedBeforeClosing returns where in the trace the generator that closed a schedule at some time last looked for triggers and
// backfills before it deleted the definition; -1 if the trace has no such line.
func (c *checker) lookedBeforeClosing(at time.Time) int {
	i := c.trace.lastBefore(len(c.trace.lines), func(l *line) bool {
		return l.at == at.Sub(c.trace.begin) && l.what == whatDelete && l.detail == subjects.StateKey(c.key, subjects.KindDefinition) && l.err == nil
	})
	if i < 0 {
		return i
	}
	who := c.trace.lines[i].who
	return c.trace.lastBefore(i, func(l *line) bool {
		return l.who == who && l.what == whatKeys && l.detail == subjects.BackfillKeys(c.key)
	})
}

// storedSince reports whether a run belongs to a trigger or backfill whose record was stored after a place in the trace.
func (c *checker) storedSince(r *run, place int) bool {
	return !r.automated() && place >= 0 && c.trace.lastBefore(place, func(l *line) bool {
		return (l.what == whatCreate || l.what == whatUpdate) && l.detail == subjects.BackfillKey(c.key, r.source()) && l.err == nil
	}) < 0
}
