package simulation

import (
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// promptly is how late a worker's code may begin with a run where nothing goes wrong.
const promptly = time.Second

// undisturbed is a plan without its faults, and without anything else that delays due actions.
func (p *Plan) undisturbed() Plan {
	return Plan{
		Schedules: p.Schedules, Duration: p.Duration, Requests: p.Requests,
		SystemPlan: SystemPlan{Calendars: p.Calendars, Bulks: p.Bulks, Twin: p.Twin},
	}
}

// isUndisturbed reports whether everything under a plan happens in time.
func (p *Plan) isUndisturbed() bool { return *p == p.undisturbed() }

// isUnlimited reports whether nothing delays the actions of a schedule under a plan, except limits of another namespace.
func (w *world) isUnlimited(id string) bool {
	plan := w.plan
	plan.ActionsPerSecond, plan.MaxPendingRuns, plan.LimitChanges = 0, 0, 0
	return plan.isUndisturbed() && !slices.ContainsFunc(w.spaceOf(id).limits, func(l limitsSince) bool {
		return l.NamespaceLimits != schedule.NamespaceLimits{}
	})
}

// delivered finds messages that are delivered once more although nothing has gone wrong. There are two good reasons: a
// generator holds a message until something is due, learns that another generator has handled a change meanwhile, gives the
// message back and holds the next; and a worker gives back a run that is to be tried again.
func (w *world) delivered(d *jsmodel.Delivery) {
	if d.Deliveries < 2 || !w.plan.isUndisturbed() {
		return
	}
	if task, err := w.names.ParseTask(d.Subject); err == nil && task.Role == subjects.RoleGenerate && w.plan.Requests+w.plan.Calendars+w.plan.Bulks > 0 {
		return
	}
	if r := w.ledger.runs[d.Header.Get(jetstream.MsgIDHeader)]; r != nil && r.again {
		return
	}
	w.ledger.find("redelivered", "", "%s is delivered for the %d. time", d.Subject, d.Deliveries)
}

// sharesWorkflowID reports whether another start has the same workflow ID: two backfills may cover the same time.
func (c *checker) sharesWorkflowID(e *schedule.Event) bool {
	return slices.ContainsFunc(c.ledger.order, func(r *run) bool {
		return r.scheduleID == c.id && r.workflowID == e.WorkflowID && r.requestID != e.RequestID
	})
}

// timely: where nothing goes wrong, a worker's code begins in time with actions that are due, with requested runs, and with
// runs that have waited for another to end. Limits of another namespace make no difference.
func (c *checker) timely() {
	if !c.isUnlimited(c.id) {
		return
	}
	retried := map[string]bool{}
	for i := range c.events {
		if e := &c.events[i]; e.Kind == schedule.EventRetried {
			if retried[e.RequestID] = true; !c.keepsWorkflowID(c.id) && !c.sharesWorkflowID(e) {
				c.find("late", "%s was tried again: %s", e.WorkflowID, e.Reason)
			}
		}
	}
	for _, r := range c.ledger.order {
		if r.scheduleID != c.id || r.decision.incarnation != c.definition.Incarnation || len(r.begun) == 0 || retried[r.requestID] {
			continue
		}
		if since := c.mayBegin(r); r.begun[0].at.Sub(since) > promptly {
			c.find("late", "%s might begin at %s and began at %s", r.workflowID, since.Sub(c.trace.begin), r.begun[0].at.Sub(c.trace.begin))
		}
	}
}

// keepsWorkflowID reports whether runs of a schedule may have the same workflow ID, so that one has to wait for another.
func (w *world) keepsWorkflowID(id string) bool {
	return slices.ContainsFunc(w.books.versions[id], func(v version) bool {
		return v.definition.Schedule.Policies.KeepOriginalWorkflowID
	})
}

// mayBegin is the earliest moment at which a run might begin: it is due, it has been requested, and the run it waits for has
// ended, or a change of the policies lets it go beside that.
func (c *checker) mayBegin(r *run) time.Time {
	since := r.due
	for i := range c.events {
		switch e := &c.events[i]; {
		case e.Source != r.source():
		case e.Kind == schedule.EventTriggered || e.Kind == schedule.EventBackfillRequested:
			since = maxTime(since, e.Time)
		case e.Kind == schedule.EventDeferred && e.RequestID == r.requestID:
			since = maxTime(since, maxTime(c.ledger.endedBefore(r), c.changedBefore(r.at)))
		}
	}
	return since
}

// changedBefore is when the definition was last written before a time.
func (c *checker) changedBefore(at time.Time) (last time.Time) {
	for i := range c.books.versions[c.id] {
		if v := &c.books.versions[c.id][i]; !v.at.After(at) {
			last = v.at
		}
	}
	return last
}

// endedBefore is when the last run of the same schedule ended before a given run was started.
func (l *ledger) endedBefore(r *run) (at time.Time) {
	for _, other := range l.runs {
		if other.scheduleID == r.scheduleID && other.over && !other.ended.After(r.at) {
			at = maxTime(at, other.ended)
		}
	}
	return at
}
