package simulation

import (
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// fates are the kinds of event that say what became of an action.
var fates = []schedule.EventKind{schedule.EventStarted, schedule.EventSkipped, schedule.EventMissed, schedule.EventDropped}

// isSpan reports whether an event stands for several actions, or for one without naming it.
func isSpan(e *schedule.Event) bool { return e.Count > 1 || e.Nominal.IsZero() }

func fateKey(source string, nominal time.Time) string {
	return source + " " + nominal.UTC().Format(time.RFC3339Nano)
}

// fates: each action has at most one.
func (c *checker) fates() {
	had := map[string]int{}
	for i := range c.events {
		if e := &c.events[i]; slices.Contains(fates, e.Kind) && !isSpan(e) {
			key := fateKey(e.Source, e.Nominal)
			if had[key]++; had[key] > 1 {
				c.find("fates", "%s has %d, the last: %s", key, had[key], e.Kind)
			}
		}
	}
}

// due: each due time of an unchanged schedule has a fate, of its own or as one of several that were given up together. The
// number given up agrees with the events.
func (c *checker) due() {
	state := &c.definition.Schedule.State
	if c.changed() || c.replanned() || c.wasPaused() || state.LimitedActions || state.Paused {
		return
	}
	had := map[string]bool{}
	var spans []*schedule.Event
	givenUp := 0
	for i := range c.events {
		switch e := &c.events[i]; {
		case !slices.Contains(fates, e.Kind) || e.Source != schedule.SourceAuto:
		case isSpan(e):
			spans = append(spans, e)
			givenUp += max(e.Count, 1)
		default:
			had[fateKey(e.Source, e.Nominal)] = true
		}
	}
	// The clock of another process may have been ahead. And an action that is due because of its jitter may have an earlier
	// nominal time.
	from, other := c.definition.CreateTime.Add(2*c.plan.Skew), 0
	times := timesOf(c.definition, c.definition.CreateTime.Add(-2*c.plan.Skew-time.Second), c.definition.Schedule.Spec.EndTime)
	for _, at := range times {
		switch fate := fateKey(schedule.SourceAuto, at); {
		case had[fate]:
		case slices.ContainsFunc(spans, func(e *schedule.Event) bool { return within(e, at) }):
			other++
		case at.After(from):
			c.find("missed", "nothing became of %s", fate)
		}
	}
	if other != givenUp {
		c.find("missed", "%d actions were given up together, by the events %d", other, givenUp)
	}
	c.spans(spans, times, had)
}

// within reports whether a time is inside the span of an event.
func within(e *schedule.Event, at time.Time) bool { return !at.Before(e.First) && !at.After(e.Last) }

// changed reports whether a caller has changed when the schedule is due.
func (c *checker) changed() bool {
	return slices.ContainsFunc(c.open, func(r *request) bool {
		return r.id == c.id && (r.verb == "pause" || r.verb == "update")
	})
}

// replanned reports whether another version of a calendar has changed when the schedule is due.
func (c *checker) replanned() bool {
	return slices.ContainsFunc(c.books.versions[c.id], func(v version) bool {
		return v.definition.Incarnation == c.definition.Incarnation && v.definition.CalendarsVersion > 0
	})
}

// runs: the events agree with what the world has seen of the runs. Each run that has started has ended, once. Each other run
// that the action stream has stored has an event that gives it up.
func (c *checker) runs() {
	if c.isReplaced(c.id) {
		return
	}
	type story struct {
		started, completed, givenUp int
		status                      schedule.Status
	}
	stories := map[string]*story{}
	for i := range c.events {
		e := &c.events[i]
		if e.RequestID == "" || !strings.HasPrefix(e.RequestID, "sched-") {
			continue
		}
		s := stories[e.RequestID]
		if s == nil {
			s = &story{}
			stories[e.RequestID] = s
		}
		switch e.Kind {
		case schedule.EventStarted:
			s.started++
		case schedule.EventCompleted:
			s.completed++
			s.status = e.Status
		case schedule.EventDropped, schedule.EventMissed, schedule.EventSkipped:
			s.givenUp++
		}
	}
	for requestID, s := range stories {
		r := c.ledger.runs[requestID]
		seen := r != nil && r.stored > 0
		switch {
		case s.started != s.completed || s.started > 1:
			c.find("runs", "%s has started %d times and completed %d times, by the events", requestID, s.started, s.completed)
		case s.started == 1 && !seen && s.status != schedule.StatusTerminated && s.status != schedule.StatusTimedOut:
			// The process that made a start ready may have died before it published the run. If the run is terminated
			// meanwhile, or its timeout is over (its timer is armed first), it counts as started. So a run timeout that is
			// shorter than the time to notice a dead process may cost an action: the action ends as timed out, and has never
			// run.
			c.find("runs", "%s has started by the events, and nobody has seen it", requestID)
		case s.completed == 1 && s.status != schedule.StatusTerminated && !slices.Contains(r.statuses, s.status):
			c.find("runs", "%s has ended as %s by the events, which nobody has reported", requestID, s.status)
		}
	}
	for requestID, r := range c.ledger.runs {
		if r.scheduleID != c.id || r.stored == 0 {
			continue
		}
		if s := stories[requestID]; s == nil || s.started+s.givenUp == 0 {
			c.find("runs", "%s was started, and no event tells of it", requestID)
		}
	}
}

// pauses: nothing starts that is due after a pause was acknowledged and before anybody asks for its end. A replica that lags
// behind may show a pool the definition from before the pause. That must not matter: pools confirm the definition with its
// leader before they hand anything over.
func (c *checker) pauses() {
	margin := 2*c.plan.Skew + time.Second
	for _, p := range c.replies {
		if p.id != c.id || p.verb != "pause" || p.err != nil {
			continue
		}
		from, to := p.to.Add(margin), c.endOfPause(p).Add(-margin)
		for _, r := range c.ledger.order {
			if r.scheduleID == c.id && r.automated() && r.nominal.After(from) && r.nominal.Before(to) {
				c.find("paused", "%s was started, paused since %s", r.workflowID, p.to.Sub(c.trace.begin))
			}
		}
	}
}

// endOfPause is the earliest moment at which a pause may be over: a caller has asked for something that ends it, perhaps before
// the pause and without an answer by then.
func (c *checker) endOfPause(p *request) time.Time {
	end := c.moment(c.plan.Duration).Add(drainLimit)
	for _, r := range c.open {
		if r.id == c.id && r.changes() && (r.to.IsZero() || r.to.After(p.from)) {
			end = minTime(end, r.from)
		}
	}
	return end
}

// order: under the policy buffer all with one run at a time, starts go in the order in which they were buffered. Where nothing
// brings hand-offs out of order, that is the order of their times.
func (c *checker) order() {
	if slices.ContainsFunc(c.open, func(r *request) bool { return r.id == c.id && r.body["overlap"] != nil }) {
		return // a start with its own policy need not wait for the others
	}
	if slices.ContainsFunc(c.books.versions[c.id], func(v version) bool {
		d := &v.definition
		return d.Schedule.Policies.Overlap != schedule.OverlapBufferAll || limitOf(d) != 1
	}) {
		return
	}
	place := map[string]int{} // of those that had to wait; a start that need not wait comes before all that are put behind it
	for i := range c.events {
		if e := &c.events[i]; e.Kind == schedule.EventDeferred {
			place[e.RequestID] = numberOf(e.ID)
		}
	}
	var before *run
	for _, r := range c.ledger.order {
		if r.scheduleID != c.id || r.late {
			continue
		}
		if before != nil && place[r.requestID] > 0 && place[r.requestID] < place[before.requestID] {
			c.find("order", "%s was started after %s, and was buffered before it", r.workflowID, before.workflowID)
		}
		before = r
	}
}
