package simulation

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// requests: what callers have asked for, and were told is done, has been done.
func (c *checker) requests() {
	if c.isReplaced(c.id) {
		return // a request to one schedule has no effect on another of the same ID
	}
	canceled := slices.ContainsFunc(c.replies, func(r *request) bool { return r.verb == "cancelBackfill" && r.id == c.id })
	for _, r := range c.replies {
		if r.id != c.id || r.err != nil {
			continue
		}
		c.told(r)
		c.ended(r)
		if !canceled {
			c.done(r)
			c.initial(r)
		}
	}
}

// told: an event tells of each change.
func (c *checker) told(r *request) {
	requestID, _ := r.body["requestId"].(string)
	if requestID == "" || slices.Contains([]string{"unskip", "delete", "cancelRun", "terminateRun"}, r.verb) {
		return
	}
	if !slices.ContainsFunc(c.events, func(e schedule.Event) bool { return e.RequestID == requestID }) {
		c.find("requests", "no event tells of %s %s", r.verb, requestID)
	}
}

// done: each trigger has a fate, each backfill an end.
func (c *checker) done(r *request) {
	switch answer := r.answer.(type) {
	case schedule.TriggerReply:
		count := 0
		for _, e := range c.events {
			if e.Source == answer.TriggerID && slices.Contains(fates, e.Kind) {
				count++
			}
		}
		if count != 1 {
			c.find("requests", "trigger %s has %d fates", answer.TriggerID, count)
		}
	case schedule.BackfillReply:
		if !slices.ContainsFunc(c.events, func(e schedule.Event) bool {
			return e.Source == answer.BackfillID && e.Kind == schedule.EventBackfillCompleted
		}) {
			c.find("requests", "backfill %s has not completed", answer.BackfillID)
		}
		c.whole(r, answer.BackfillID)
	}
}

// whole: each time of the range of a backfill has a fate, where nobody has changed the schedule.
func (c *checker) whole(r *request, id string) {
	start, ok := r.body["start"].(string)
	if !ok || slices.ContainsFunc(c.open, func(other *request) bool { return other.id == c.id && other.verb == "update" }) {
		return
	}
	from, err := time.Parse(time.RFC3339, start)
	if err != nil {
		panic(err)
	}
	to, err := time.Parse(time.RFC3339, r.body["end"].(string))
	if err != nil {
		panic(err)
	}
	had := map[string]bool{}
	for i := range c.events {
		if e := &c.events[i]; e.Source == id && slices.Contains(fates, e.Kind) {
			had[fateKey(id, e.Nominal)] = true
		}
	}
	times := timesOf(c.definition, from.Add(-1), to)
	missing := slices.DeleteFunc(times, func(at time.Time) bool {
		return had[fateKey(id, at)] || at.Add(longestJitter).After(to) || // with its jitter it may be due after the end
			slices.ContainsFunc(c.books.versions[c.id], func(v version) bool { return !isDue(&v.definition, at) })
	})
	if len(missing) > 0 {
		c.find("requests", "nothing became of %d times of backfill %s, the first: %s", len(missing), id, missing[0])
	}
}

// initial: triggers and backfills that come with the creation are done as well.
func (c *checker) initial(r *request) {
	if r.verb != "create" {
		return
	}
	count := map[schedule.EventKind]int{}
	for i := range c.events {
		e := &c.events[i]
		if e.RequestID != r.body["requestId"] || e.Kind == schedule.EventCreated {
			continue
		}
		count[e.Kind]++
		if e.Kind == schedule.EventTriggered {
			c.done(&request{answer: schedule.TriggerReply{TriggerID: e.Source}})
		} else {
			c.done(&request{answer: schedule.BackfillReply{BackfillID: e.Source}})
		}
	}
	triggers := 0
	if r.body["triggerNow"] == true {
		triggers = 1
	}
	ranges, _ := r.body["backfills"].([]any)
	if count[schedule.EventTriggered] != triggers || count[schedule.EventBackfillRequested] != len(ranges) {
		c.find("requests", "created with %d triggers and %d backfills, by the events %v", triggers, len(ranges), count)
	}
}

// deletes: a request deletes at most one schedule, however often it is repeated, and its repeat succeeds as well. Only the last
// deletion of an ID is remembered, so this is checked where no other request has deleted a schedule of the ID.
func (c *checker) deletes() {
	var deletes []*request
	names := map[any]bool{}
	for _, r := range slices.Concat(c.replies, c.open) { // some have been given up
		if r.id == c.id && r.verb == "delete" {
			names[r.body["requestId"]] = true
		}
	}
	for _, r := range c.replies {
		if r.id == c.id && r.verb == "delete" {
			deletes = append(deletes, r)
		}
	}
	gone := 0
	for i := range c.books.versions[c.id] {
		if c.books.versions[c.id][i].definition.Incarnation == "" {
			gone++
		}
	}
	if told := c.toldBy(names); len(names) == 1 && told > 1 {
		c.find("deleted", "%d were deleted by one request", told)
	}
	for _, r := range deletes {
		done := slices.ContainsFunc(deletes, func(first *request) bool { return isRepeat(r, first) && first.err == nil && r.from.After(first.to) })
		if done && r.err != nil && gone == 1 {
			c.find("deleted", "%s was answered, and its repeat with %v", r.body["requestId"], r.err)
		}
	}
}

// toldBy: the event of a deletion names the request, if that is still remembered when the event is stored. It returns the
// number of deletions in the history.
func (c *checker) toldBy(names map[any]bool) (told int) {
	for _, e := range once(c.history(c.id)) {
		if e.Kind != schedule.EventDeleted {
			continue
		}
		if told++; !names[e.RequestID] && (e.RequestID != "" || !c.forgotten(e.ID)) {
			c.find("deleted", "the event %s names the request %q", e.ID, e.RequestID)
		}
	}
	return told
}

// forgotten reports whether the request of a deletion was no longer known when the event of the deletion was stored: another
// request had deleted a later schedule of the ID, or the trace of the deletion was too old. A schedule that a generator closed
// was deleted by no request.
func (c *checker) forgotten(eventID string) bool {
	var stored time.Time
	for _, m := range c.server.Messages(c.names.EventStream(), c.names.Events(keyOf(c.id))) {
		if stored.IsZero() && m.Header.Get(nats.MsgIdHdr) == eventID {
			stored = m.Stored
		}
	}
	var before string
	deleted := false
	for i := range c.books.versions[c.id] {
		v := &c.books.versions[c.id][i]
		if deleted && v.deleter == roleFrontend {
			return !v.at.After(stored)
		}
		if v.deleter != "" && wire.DeletedEventID(before) == eventID {
			deleted = true
			if stored.Sub(v.at) > subjects.TombstoneAge {
				return true
			}
		}
		before = v.definition.Incarnation
	}
	return false
}

func isRepeat(r, other *request) bool {
	return r != other && r.body["requestId"] == other.body["requestId"]
}

// numberOf is the number of an invoker's event, by its ID.
func numberOf(eventID string) int {
	number, err := strconv.Atoi(eventID[strings.LastIndexByte(eventID, '-')+1:])
	if err != nil {
		return 0
	}
	return number
}
