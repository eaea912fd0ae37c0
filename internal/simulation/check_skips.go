package simulation

import (
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// skipped: an action does not start if each version that a generator may have used skips it. An action that is given up as
// skipped is skipped by one of them. As for a pause, a replica that lags behind must not matter.
func (c *checker) skipped() {
	margin := 2*c.plan.Skew + time.Second
	for _, r := range c.ledger.order {
		if r.scheduleID != c.id || !r.automated() || r.decision.incarnation != c.definition.Incarnation {
			continue
		}
		versions := c.inForce(r.due.Add(-margin), r.at)
		if len(versions) > 0 && !slices.ContainsFunc(versions, func(d *wire.Definition) bool { return !skips(d, r.nominal) }) {
			c.find("skipped", "%s was started, and was to be skipped", r.workflowID)
		}
	}
	for i := range c.events {
		e := &c.events[i]
		if e.Kind != schedule.EventSkipped || e.Overlap != "" || e.Source != schedule.SourceAuto {
			continue
		}
		versions := c.inForce(e.Actual.Add(-margin), e.Time.Add(margin))
		if !slices.ContainsFunc(versions, func(d *wire.Definition) bool { return skips(d, e.Nominal) }) {
			c.find("skipped", "%s was skipped, and nobody wants that", e.WorkflowID)
		}
	}
}

func skips(d *wire.Definition, nominal time.Time) bool {
	return slices.ContainsFunc(d.Skips, nominal.Equal)
}

// inForce are the definitions of the schedule that were the newest at some moment between two times.
func (c *checker) inForce(from, to time.Time) (all []*wire.Definition) {
	for _, v := range c.versionsInForce(from, to) {
		all = append(all, &v.definition)
	}
	return all
}

func (c *checker) versionsInForce(from, to time.Time) (all []*version) {
	versions := c.books.versions[c.id]
	for i := range versions {
		v := &versions[i]
		replaced := i < len(versions)-1 && versions[i+1].at.Before(from)
		if v.definition.Incarnation == c.definition.Incarnation && !v.at.After(to) && !replaced {
			all = append(all, v)
		}
	}
	return all
}
