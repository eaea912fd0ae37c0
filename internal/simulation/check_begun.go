package simulation

import (
	"slices"

	"github.com/carillon-scheduler/carillon/schedule"
)

// begun: the history has an event for each run that the action stream has stored, whatever has become of its schedule since. A
// run that was given up has never begun, except one that JetStream has lost, which a worker may have had.
func (c *checker) begun() {
	started, givenUp := map[string]bool{}, map[string]*schedule.Event{}
	history := c.history(c.id)
	for i := range history {
		e := &history[i]
		switch {
		case e.RequestID == "" || !slices.Contains(fates, e.Kind):
		case e.Kind == schedule.EventStarted:
			started[e.RequestID] = true
		default:
			givenUp[e.RequestID] = e
		}
	}
	for requestID, r := range c.ledger.runs {
		if r.scheduleID != c.id || r.stored == 0 {
			continue
		}
		e := givenUp[requestID]
		switch {
		case !started[requestID] && e == nil:
			c.find("untold", "%s was stored, and no event tells of it", requestID)
		case e != nil && len(r.begun) > 0 && !r.lost:
			c.find("begun", "%s has begun, and was given up: %s: %s", requestID, e.Kind, e.Reason)
		case e != nil && started[requestID]:
			c.find("begun", "%s has started by one event, and was given up by another: %s", requestID, e.Reason)
		}
	}
}
