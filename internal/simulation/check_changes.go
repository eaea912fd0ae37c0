package simulation

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// changes: a request with a conflict token is carried out on that version alone, and refused only where there was another one.
// An update that was carried out has stored what it says.
func (c *checker) changes() {
	for _, r := range c.replies {
		if r.id != c.id || r.verb != "update" {
			continue
		}
		var refusal *schedule.Error
		switch {
		case r.err == nil:
			c.carriedOut(r)
		case errors.As(r.err, &refusal) && refusal.Field == "conflictToken" && c.wasThroughout(r.token, r.from, r.to):
			c.find("token", "%s was refused: %v", r.body["requestId"], r.err)
		}
	}
}

// carriedOut looks at the version that a request has made.
func (c *checker) carriedOut(r *request) {
	requestID, _ := r.body["requestId"].(string)
	versions := c.books.versions[c.id]
	made := slices.IndexFunc(versions, func(v version) bool {
		return slices.ContainsFunc(v.definition.Applied, func(a wire.AppliedRequest) bool { return a.RequestID == requestID })
	})
	if made < 0 {
		c.find("token", "%s was answered, and no version of the definition knows of it", requestID)
		return
	}
	d := &versions[made].definition
	if r.token > 0 && d.Version != r.token+1 {
		c.find("token", "%s of version %d was carried out on version %d", requestID, r.token, d.Version-1)
	}
	stored, err := apitext.EncodeJSON(d.Schedule)
	if err != nil {
		panic(err)
	}
	if !bytes.Equal(stored, r.asked) {
		c.find("update", "%s asked for %s and led to %s", requestID, r.asked, stored)
	}
}

// wasThroughout reports whether a schedule stayed at one version from one time to another.
func (c *checker) wasThroughout(number uint64, from, to time.Time) bool {
	versions := c.books.versions[c.id]
	for i := len(versions) - 1; i >= 0; i-- {
		v := &versions[i]
		if v.at.After(to) {
			continue
		}
		if v.definition.Version != number {
			return false
		}
		if !v.at.After(from) {
			return true
		}
	}
	return false
}

// passed: each time that a generator has passed under any version of the definition has a fate. Times that it had not reached
// when an update was made are dropped, and times in a pause do not come. Two things may remain unknown: what a freeze has given
// up, where a hand-off is made again after an update; and what an update or pause has overtaken, where a hand-off was lost.
func (c *checker) passed() {
	if len(c.spaceOf(c.id).freezes) > 0 && len(c.books.versions[c.id]) > 1 {
		return
	}
	last := len(c.books.versions[c.id]) - 1
	begin := c.definition.CreateTime
	for i := range c.books.versions[c.id] {
		v := &c.books.versions[c.id][i]
		d := &v.definition
		if d.Incarnation != c.definition.Incarnation {
			continue
		}
		from, to := maxTime(begin, maxTime(d.UpdateTime, d.ActiveSince)), v.mark.Add(-longestJitter)
		certain := from
		if i > 0 {
			// A generator whose clock is ahead may have handed over up to here under the previous version, and died before it
			// could record that.
			certain = maxTime(from, v.at.Add(2*c.plan.Skew))
		}
		if begin = maxTime(begin, v.mark); i == last {
			to = d.Schedule.Spec.EndTime
		}
		if d.Schedule.State.Paused || d.Schedule.State.LimitedActions {
			continue
		}
		for _, at := range timesOf(d, from, to) {
			// A time that is due both before and after another version of a calendar stays due.
			if (at.After(certain) || c.stayedDue(i, at)) && !c.hasFate(at) && !c.overtaken(at) {
				c.find("passed", "nothing became of %s, which version %d gives", at.Format(time.RFC3339), d.Version)
			}
		}
	}
}

// stayedDue reports whether a time that a version gives was due when it came, and has stayed due since, so that only calendars
// have changed in between.
func (c *checker) stayedDue(number int, at time.Time) bool {
	versions := c.books.versions[c.id]
	for ; number > 0; number-- {
		before, d := &versions[number-1].definition, &versions[number].definition
		replan := before.Incarnation == d.Incarnation && d.CalendarsVersion == d.Version && !before.Schedule.State.LimitedActions
		if !replan || !isDue(before, at) {
			return false
		}
		if !versions[number-1].at.After(at) {
			return true
		}
	}
	return false
}

// hasFate reports whether an event tells what became of an automated action, alone or together with others.
func (c *checker) hasFate(nominal time.Time) bool {
	return slices.ContainsFunc(c.events, func(e schedule.Event) bool {
		return e.Source == schedule.SourceAuto && slices.Contains(fates, e.Kind) &&
			(e.Nominal.Equal(nominal) || isSpan(&e) && within(&e, nominal))
	})
}

// given: each event about the fate of an automated action names a time that a version of the definition gives, and no newer
// version had replaced that one long before.
func (c *checker) given() {
	for i := range c.events {
		e := &c.events[i]
		if e.Source == schedule.SourceAuto && slices.Contains(fates, e.Kind) && !isSpan(e) && !c.isGiven(e.Nominal, e.Actual) {
			c.find("given", "%s was %s, and no version gives it", e.Nominal.Format(time.RFC3339), e.Kind)
		}
	}
}

func (c *checker) isGiven(nominal, actual time.Time) bool {
	versions := c.books.versions[c.id]
	for i := range versions {
		d := &versions[i].definition
		begin := maxTime(d.CreateTime, maxTime(d.UpdateTime, d.ActiveSince))
		switch {
		case d.Incarnation != c.definition.Incarnation || d.Schedule.State.Paused || !actual.After(begin):
		case !isDue(d, nominal):
		case c.plan.Stale > 0 || i == len(versions)-1 || !actual.After(versions[i+1].at.Add(c.plan.memory())):
			return true
		}
	}
	return false
}

// limit: each version that sets a limit of actions allows as many automated starts as were counted by it.
func (c *checker) limit() {
	started := map[uint64]int{}
	for _, r := range c.ledger.order {
		made := c.books.decisions[r.requestID]
		if r.scheduleID == c.id && r.automated() && made != nil && made.incarnation == c.definition.Incarnation {
			started[made.limitVersion]++
		}
	}
	for i := range c.books.versions[c.id] {
		d := &c.books.versions[c.id][i].definition
		state := &d.Schedule.State
		if d.Incarnation == c.definition.Incarnation && d.LimitVersion == d.Version && state.LimitedActions &&
			started[d.Version] > state.RemainingActions {
			c.find("limit", "%d actions were started by version %d, which allows %d", started[d.Version], d.Version, state.RemainingActions)
		}
	}
}
