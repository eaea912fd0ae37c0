package chaos

import (
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// version is one spec of a schedule, in force from one instant until another. since is when the update was received. It is
// stored a moment later, at the latest by seen, when its answer arrived.
type version struct {
	spec               *specproc.Spec
	since, until, seen time.Time
}

// due is a due time, with how sure it is.
type due struct {
	specproc.Time
	// unsure says that nobody can tell whether the time was still, or already, made.
	unsure bool
}

// checkDueTimes looks for every time that the specs give, and for runs at other times.
func (c *scheduleCase) checkDueTimes() {
	times := c.dueTimes()
	c.markUnsure(times)
	known := map[int64]bool{}
	for _, t := range times {
		if known[t.Nominal.Unix()] {
			continue // two versions give it
		}
		known[t.Nominal.Unix()] = true
		key := startKey{schedule.SourceAuto, t.Nominal.Unix()}
		if t.unsure {
			c.findings.uncertain[dueTime{c.id, t.Nominal.Unix()}] = true
		}
		switch {
		case c.accounted(key):
			c.findings.Expected++
		case t.unsure:
			c.findings.Uncertain++
		default:
			c.findings.Expected++
			c.problem(kindMissed, "", t.Nominal, "due at %s, and nothing gives account of it", t.Actual.Format(time.RFC3339Nano))
		}
	}
	for _, requestID := range c.order {
		r := c.runs[requestID]
		if r.key.source != schedule.SourceAuto {
			continue
		}
		if !known[r.key.nominal] {
			c.problem(kindUnexpected, requestID, r.at, "the spec does not give this time")
		}
	}
	c.checkPauses(times)
}

// dueTimes are the times of all versions of the spec, each as long as it was in force, in order.
func (c *scheduleCase) dueTimes() []due {
	var times []due
	for _, v := range c.versions() {
		for t := range v.spec.Between(v.since, v.seen, c.seed()) {
			// A time that is due after an update, but has a nominal time before it, may come from the previous version. So may
			// a time between the receipt of the update and the moment when it was stored.
			times = append(times, due{Time: t, unsure: !t.Nominal.After(v.since) || t.Actual.After(v.until)})
		}
	}
	slices.SortStableFunc(times, func(a, b due) int { return a.Actual.Compare(b.Actual) })
	return times
}

func (c *scheduleCase) seed() string { return c.evidence.Namespace + "-" + c.id }

// versions are the specs of the schedule, by the acknowledged requests.
func (c *scheduleCase) versions() []version {
	var versions []version
	for i := range c.requests {
		r := &c.requests[i]
		if (r.Verb != Create && r.Verb != Update) || !r.Acknowledged() {
			continue
		}
		spec, err := specproc.Compile(r.Schedule.Spec)
		if err != nil {
			c.problem(kindUnexpected, r.RequestID, time.Time{}, "a spec was accepted that is not valid: %v", err)
			continue
		}
		if n := len(versions); n > 0 {
			versions[n-1].until, versions[n-1].seen = r.Since, r.Answered
		}
		end := r.Schedule.Spec.EndTime.Add(time.Hour)
		versions = append(versions, version{spec, r.Since, end, end})
	}
	return versions
}

// markUnsure marks the times around pauses and updates as uncertain. Two kinds of times are uncertain:
//
//   - times between the moment when the request was sent and the moment when it, or the unpause, took effect
//   - times before that which are not accounted for, because a late generator finds the schedule changed
//
// But if a later time is accounted for, the generator saw those before the change. That does not hold if the later one may come
// from another version, which has the same time with another jitter.
func (c *scheduleCase) markUnsure(times []due) {
	for _, change := range c.changes() {
		later := map[int64]bool{} // nominal times that also come after the change
		for i := len(times) - 1; i >= 0; i-- {
			t := &times[i]
			nominal := t.Nominal.Unix()
			before := t.Actual.Before(change.From)
			if before && !later[nominal] && c.accounted(startKey{schedule.SourceAuto, nominal}) {
				break
			}
			later[nominal] = later[nominal] || !before
			if change.To.IsZero() || !t.Actual.After(change.To) {
				t.unsure = true
			}
		}
	}
}

// changes are the periods of pauses and updates, each from when the first request was sent. If its outcome is unknown, it never
// ends.
func (c *scheduleCase) changes() []period {
	var changes []period
	for i := range c.requests {
		r := &c.requests[i]
		switch r.Verb {
		case Update:
			changes = append(changes, period{From: r.Sent, To: r.Answered})
		case Pause:
			changes = append(changes, period{From: r.Sent})
		case Unpause:
			if n := len(changes); n > 0 && r.Acknowledged() {
				changes[n-1].To = r.Answered
			}
		}
	}
	return changes
}

// checkPauses looks for automated runs that were due while the schedule was certainly paused.
func (c *scheduleCase) checkPauses(times []due) {
	for _, paused := range c.pauses() {
		for _, t := range times {
			fate := c.fates[startKey{schedule.SourceAuto, t.Nominal.Unix()}]
			within := t.Actual.After(paused.From) && (paused.To.IsZero() || t.Actual.Before(paused.To))
			if within && fate != nil && len(fate.started) > 0 {
				c.problem(kindUnexpected, fate.started[0], t.Nominal, "due while the schedule was paused, and started")
			}
		}
	}
}

// pauses are the periods in which the schedule was certainly paused.
func (c *scheduleCase) pauses() []period {
	var pauses []period
	for i := range c.requests {
		switch r := &c.requests[i]; r.Verb {
		case Pause:
			if r.Acknowledged() {
				pauses = append(pauses, period{From: r.Answered})
			}
		case Unpause:
			if n := len(pauses); n > 0 && pauses[n-1].To.IsZero() {
				pauses[n-1].To = r.Sent
			}
		}
	}
	return pauses
}
