package simulation

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// contents: runs are told what the action says, and what the trigger says that asked for them; and what came of the runs before. The
// ID of a trigger that nobody has an answer to is not known here: its run may have been told anything.
func (c *checker) contents() {
	triggers := map[string]*request{}
	for _, r := range c.replies {
		if answer, ok := r.answer.(schedule.TriggerReply); ok && r.err == nil {
			triggers[answer.TriggerID] = r
		}
	}
	unanswered := slices.ContainsFunc(c.open, func(r *request) bool { return r.id == c.id && r.verb == "trigger" && r.to.IsZero() })
	results := c.results()
	for _, r := range c.ledger.order {
		if r.scheduleID != c.id || r.decision.incarnation != c.definition.Incarnation {
			continue
		}
		by := triggers[r.source()]
		unknown := unanswered && by == nil && r.source() != schedule.SourceAuto
		if !unknown && !slices.ContainsFunc(r.possible, func(d *wire.Definition) bool { return wasTold(r, d, by) }) {
			c.find("contents", "%s was told %s, %v and %s", r.workflowID, r.request.Input, r.request.Headers, r.request.Memo)
		}
		results.told(r)
	}
}

// wasTold reports whether a run was told what an action says, with what a trigger puts in its place.
func wasTold(r *run, d *wire.Definition, by *request) bool {
	action := &d.Schedule.Action
	input, headers, memo := action.Input, maps.Clone(action.Headers), maps.Clone(action.Memo)
	if by != nil {
		var asked schedule.Trigger
		mustDecode(mustEncode(by.body), &asked)
		if len(asked.Input) > 0 {
			input = asked.Input
		}
		headers, memo = over(headers, asked.Headers), over(memo, asked.Memo)
	}
	return bytes.Equal(input, r.request.Input) && maps.Equal(headers, r.request.Headers) &&
		maps.EqualFunc(memo, r.request.Memo, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

func over[V any](base, entries map[string]V) map[string]V {
	if base == nil {
		base = map[string]V{}
	}
	maps.Copy(base, entries)
	return base
}

// resultOf is what a run that completes says: its name. Some have nothing to say.
func resultOf(requestID string) json.RawMessage {
	if len(requestID) > 0 && requestID[len(requestID)-1] == 'f' {
		return nil
	}
	return json.RawMessage(`"` + requestID + `"`)
}

// results are the runs of a schedule that have ended: as its events say, and as their completions did. Those may say more than
// one thing of a run, of which the record has one, and the last result perhaps another.
type results struct {
	*checker
	ends map[string]*schedule.Event
	said []completion
}

// completion is one that has been published, and when.
type completion struct {
	schedule.Completion
	at time.Time
}

func (c *completion) failed() bool {
	return c.Status == schedule.StatusFailed || c.Status == schedule.StatusTimedOut
}

func (c *checker) results() *results {
	r := &results{checker: c, ends: map[string]*schedule.Event{}}
	for requestID, run := range c.ledger.runs { // one that has timed out may never have been started
		if made := c.books.decisions[requestID]; made != nil && made.incarnation == c.definition.Incarnation {
			r.said = append(r.said, run.said...)
		}
	}
	for i := range c.events {
		if e := &c.events[i]; e.Kind == schedule.EventCompleted {
			r.ends[e.RequestID] = e
		}
	}
	return r
}

// told compares what a run was told of those before it with what they have said: it must know what the record of the invoker knew
// when the run was decided, and may know what has been said by the time it was started.
func (r *results) told(run *run) {
	success, failure := r.known(run, schedule.StatusCompleted), r.known(run, schedule.StatusFailed, schedule.StatusTimedOut)
	first, told, knows := r.successTold(run, success)
	if !knows {
		r.find("last result", "%s was told of the success %s", run.workflowID, run.request.LastSuccess)
		return
	}
	var since time.Time // when the failure that is told must have been, at least
	mustKnow := failure != nil && failure.CloseTime.After(told.Add(r.slack()))
	if mustKnow {
		since = failure.CloseTime
	}
	if len(run.request.LastSuccess) > 0 { // one that has said nothing may not be remembered
		since = maxTime(since, first)
	}
	switch last := run.request.LastFailure; {
	case last == nil && mustKnow:
		r.find("last result", "%s was not told of the failure of %s", run.workflowID, failure.WorkflowID)
	case last != nil && !r.failedSince(run, last, since.Add(-r.slack())):
		r.find("last result", "%s was told of the failure %q", run.workflowID, last.Message)
	}
}

// slack is how far apart ends may be by clocks that are off, so that they seem to have come in another order.
func (r *results) slack() time.Duration { return 2 * r.plan.Skew }

// known is the last end of some statuses that the record of the invoker knew when a run was decided; nil if there is none. A
// success that has said nothing is left out: where it is all there is, nothing is written down, and what ended before it may come
// later.
func (r *results) known(run *run, statuses ...schedule.Status) (last *schedule.Event) {
	for requestID, e := range r.ends {
		left, ok := r.books.left[requestID]
		silent := e.Status == schedule.StatusCompleted && resultOf(requestID) == nil
		if ok && !silent && left.write <= run.decision.write && slices.Contains(statuses, e.Status) &&
			(last == nil || e.CloseTime.After(last.CloseTime)) {
			last = e
		}
	}
	return last
}

// successTold is when the success ended that a run was told of, or a repeat of it. It is false if it cannot be that: another has
// ended later, or it had not been said.
func (r *results) successTold(run *run, known *schedule.Event) (first, ended time.Time, ok bool) {
	was := known == nil && len(run.request.LastSuccess) == 0
	for i := range r.said {
		c := &r.said[i]
		if c.Status == schedule.StatusCompleted && bytes.Equal(c.Result, run.request.LastSuccess) && !c.at.After(run.at) {
			if ended, was = maxTime(ended, c.CloseTime), true; first.IsZero() {
				first = c.CloseTime
			}
			first = minTime(first, c.CloseTime)
		}
	}
	was = was || len(run.request.LastSuccess) == 0
	return first, ended, was && (known == nil || !ended.Before(known.CloseTime.Add(-r.slack())) || r.isPassedOver(known))
}

// isPassedOver reports whether a success may have come after a failure that ended later: then it changes nothing.
func (r *results) isPassedOver(success *schedule.Event) bool {
	recorded := r.books.left[success.RequestID].at
	return slices.ContainsFunc(r.said, func(c completion) bool {
		return c.failed() && !c.CloseTime.Before(success.CloseTime.Add(-r.slack())) && !c.at.After(recorded)
	})
}

// failedSince reports whether a failure is that of a run that has ended since a time, and had said so.
func (r *results) failedSince(run *run, failure *schedule.Failure, since time.Time) bool {
	return slices.ContainsFunc(r.said, func(c completion) bool {
		return c.failed() && c.Failure != nil && c.Failure.Message == failure.Message && !c.CloseTime.Before(since) && !c.at.After(run.at)
	})
}
