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

// contents: runs are told what the action says, what their trigger says, and what came of the runs before them. The ID of a
// trigger without an answer is not known here, so its run may have been told anything.
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

// wasTold reports whether a run was told what an action says, as changed by a trigger.
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

// resultOf is the result of a run that completes: its name. Some runs have none.
func resultOf(requestID string) json.RawMessage {
	if len(requestID) > 0 && requestID[len(requestID)-1] == 'f' {
		return nil
	}
	return json.RawMessage(`"` + requestID + `"`)
}

// results are the runs of a schedule that have ended, by its events and by their completions. Completions may say more than one
// thing of a run: the record then has one of them, and the last result perhaps another.
type results struct {
	*checker
	ends map[string]*schedule.Event
	said []completion
}

// completion is a published completion, and when it was published.
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

// told compares the results that a run was told with what earlier runs have reported. It must know what the record of the
// invoker knew when the run was decided, and may know what was reported before it was started.
func (r *results) told(run *run) {
	success, failure := r.known(run, schedule.StatusCompleted), r.known(run, schedule.StatusFailed, schedule.StatusTimedOut)
	first, told, knows := r.successTold(run, success)
	if !knows {
		r.find("last result", "%s was told of the success %s", run.workflowID, run.request.LastSuccess)
		return
	}
	var since time.Time // the earliest end that the reported failure may have
	mustKnow := failure != nil && failure.CloseTime.After(told.Add(r.slack()))
	if mustKnow {
		since = failure.CloseTime
	}
	if len(run.request.LastSuccess) > 0 { // a run without a result may not be remembered
		since = maxTime(since, first)
	}
	switch last := run.request.LastFailure; {
	case last == nil && mustKnow:
		r.find("last result", "%s was not told of the failure of %s", run.workflowID, failure.WorkflowID)
	case last != nil && !r.failedSince(run, last, since.Add(-r.slack())):
		r.find("last result", "%s was told of the failure %q", run.workflowID, last.Message)
	}
}

// slack is how far the ends of two runs may seem out of order because clocks are off.
func (r *results) slack() time.Duration { return 2 * r.plan.Skew }

// known is the last run that ended with one of some statuses, as the record of the invoker knew it when a run was decided; nil
// if there is none. A success without a result is left out: if it is all there is, nothing is recorded, and an earlier end may
// come later.
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

// successTold returns when the success ended that a run was told of: its first report and its last. ok is false if the run must
// not be told of it: another one has ended later, or it had not been reported.
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

// failedSince reports whether a run with this failure has ended since a time, and had reported it.
func (r *results) failedSince(run *run, failure *schedule.Failure, since time.Time) bool {
	return slices.ContainsFunc(r.said, func(c completion) bool {
		return c.failed() && c.Failure != nil && c.Failure.Message == failure.Message && !c.CloseTime.Before(since) && !c.at.After(run.at)
	})
}
