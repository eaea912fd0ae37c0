package chaos

import (
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// eventOf is the event of each kind of request.
var eventOf = map[Verb]schedule.EventKind{
	Create: schedule.EventCreated, Trigger: schedule.EventTriggered, Backfill: schedule.EventBackfillRequested,
	Pause: schedule.EventPaused, Unpause: schedule.EventUnpaused, Update: schedule.EventUpdated,
}

// checkRequests looks for the effect of every acknowledged request.
func (c *scheduleCase) checkRequests() {
	for i := range c.requests {
		r := &c.requests[i]
		if !r.Acknowledged() {
			continue
		}
		c.checkTold(r)
		switch r.Verb {
		case Trigger:
			c.findings.Expected++
			if !c.sources[r.Source] {
				c.problem(kindLost, r.RequestID, time.Time{}, "the trigger %s was acknowledged, and nothing gives account of its start", r.Source)
			}
		case Backfill:
			c.checkBackfill(r)
		}
	}
	c.checkPaused()
}

// checkTold checks that the event history has the request exactly once.
func (c *scheduleCase) checkTold(r *request) {
	told := 0
	for i := range c.events {
		if e := &c.events[i]; e.Kind == eventOf[r.Verb] && e.RequestID == r.RequestID {
			told++
		}
	}
	switch {
	case told == 0:
		c.problem(kindLost, r.RequestID, time.Time{}, "%s was acknowledged, and no event tells of it", r.Verb)
	case told > 1:
		c.problem(kindDoubled, r.RequestID, time.Time{}, "%s was asked for once, and %d events tell of it", r.Verb, told)
	}
}

// checkBackfill checks that every time of the range is accounted for. Only schedules that are not updated are backfilled, so
// the spec is that of the creation.
func (c *scheduleCase) checkBackfill(r *request) {
	versions := c.versions()
	if len(versions) != 1 {
		return
	}
	found := false
	var missing []time.Time
	for t := range versions[0].spec.Between(r.Range.Start.Add(-1), r.Range.End, c.seed()) {
		c.findings.Expected++
		if c.accounted(startKey{r.Source, t.Nominal.Unix()}) {
			found = true
		} else {
			missing = append(missing, t.Nominal)
		}
	}
	if len(missing) > 0 && !found {
		c.problem(kindLost, r.RequestID, missing[0], "the backfill %s was acknowledged, and nothing gives account of its %d starts",
			r.Source, len(missing))
		return
	}
	for _, nominal := range missing {
		c.problem(kindMissed, r.RequestID, nominal, "a time of the backfill %s, and nothing gives account of it", r.Source)
	}
}

// checkPaused checks that the schedule is paused at the end if, and only if, the last request said so.
func (c *scheduleCase) checkPaused() {
	if !c.described {
		return
	}
	paused := false
	for i := range c.requests {
		r := &c.requests[i]
		switch {
		case r.Refused != "":
		case r.Verb == Create, r.Verb == Pause, r.Verb == Unpause:
			if r.Answered.IsZero() {
				return // nobody knows
			}
			paused = r.Verb == Pause
		case r.Verb == Update:
			if r.Answered.IsZero() {
				return
			}
			paused = r.Schedule.State.Paused
		}
	}
	if paused != c.description.State.Paused {
		c.problem(kindLost, "", time.Time{}, "paused is %t at the end, and the last acknowledged request asks for %t",
			c.description.State.Paused, paused)
	}
}

// checkRuns checks that each run has ended, and that its code has run where the events say so.
func (c *scheduleCase) checkRuns() {
	begun, ended := map[string]bool{}, map[string]bool{}
	for i := range c.evidence.Ledger {
		note := &c.evidence.Ledger[i]
		if note.ScheduleID != c.id {
			continue
		}
		begun[note.RequestID] = true
		ended[note.RequestID] = ended[note.RequestID] || note.End && note.Cause == ""
		if c.runs[note.RequestID] == nil && !note.End {
			c.problem(kindUnexpected, note.RequestID, note.Nominal, "its code has run, and no event says that it was started")
		}
	}
	for _, requestID := range c.order {
		switch r := c.runs[requestID]; {
		case r.status == "":
			c.problem(kindMissed, requestID, r.at, "it was started, and has not ended")
		case r.status == schedule.StatusFailed:
			c.problem(kindUnexpected, requestID, r.at, "it failed, and the code of no run does")
		case r.status == schedule.StatusCompleted && !begun[requestID]:
			c.problem(kindMissed, requestID, r.at, "it is said to have completed, and its code never began")
		case r.status == schedule.StatusCompleted && !ended[requestID]:
			c.problem(kindMissed, requestID, r.at, "it is said to have completed, and its code never came to its end")
		}
	}
}

// The reasons why the code of a run may begin again.
const (
	afterWorkerLost = "worker_killed_or_suspended"
	afterOutage     = "nats_fault"
)

// checkLedger looks for runs whose code began again. There are two good reasons: the worker that began it was killed, or
// suspended for longer than its lease; or a fault of NATS may have taken the lease, or the acknowledgement, away.
func checkLedger(e *evidence, f *Findings) {
	begins := map[string][]*note{}
	for i := range e.Ledger {
		if note := &e.Ledger[i]; !note.End {
			begins[note.RequestID] = append(begins[note.RequestID], note)
		}
	}
	for requestID, notes := range begins {
		slices.SortFunc(notes, func(a, b *note) int { return a.At.Compare(b.At) })
		for i := 1; i < len(notes); i++ {
			reason := e.reason(notes[i-1], notes[i])
			if reason != "" {
				f.Repeated[reason]++
				continue
			}
			f.Problems = append(f.Problems, Problem{
				Kind: kindDoubled, ScheduleID: notes[i].ScheduleID, RequestID: requestID, Nominal: notes[i].Nominal,
				What: "its code began at " + notes[i-1].At.Format(time.RFC3339Nano) + " in " + notes[i-1].Life +
					" and again at " + notes[i].At.Format(time.RFC3339Nano) + " in " + notes[i].Life + ", and nothing had happened to it",
			})
		}
	}
}

// recovery is how long after a fault of NATS its effect may last: an election, and the acknowledgement wait of an action.
const recovery = 20 * time.Second

// reason says why the code of a run may have begun again; empty if there is no reason.
func (e *evidence) reason(first, again *note) string {
	life := e.Lives[first.Life]
	if !life.To.IsZero() && !life.To.After(again.At) {
		return afterWorkerLost
	}
	for _, p := range life.Suspended {
		if p.overlaps(first.At, again.At) {
			return afterWorkerLost
		}
	}
	for _, p := range e.Outages {
		if !p.To.IsZero() {
			p.To = p.To.Add(recovery)
		}
		if p.overlaps(first.At, again.At) {
			return afterOutage
		}
	}
	return ""
}
