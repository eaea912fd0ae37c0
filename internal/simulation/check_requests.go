package simulation

import (
	"slices"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// requests: what people have asked for, and were told is done, has been done.
func (c *checker) requests() {
	if c.isReplaced(c.id) {
		return // what one schedule was asked for, another of the same ID does not do
	}
	canceled := slices.ContainsFunc(c.replies, func(r *request) bool { return r.verb == "cancelBackfill" && r.id == c.id })
	for _, r := range c.replies {
		if r.id != c.id || r.err != nil {
			continue
		}
		c.told(r)
		if !canceled {
			c.done(r)
		}
	}
}

// told: an event tells of each change.
func (c *checker) told(r *request) {
	requestID, _ := r.body["requestId"].(string)
	if requestID == "" || r.verb == "unskip" || r.verb == "delete" {
		return
	}
	if !slices.ContainsFunc(c.events, func(e schedule.Event) bool { return e.RequestID == requestID }) {
		c.find("requests", "no event tells of %s %s", r.verb, requestID)
	}
}

// done: each trigger has a fate, each backfill an end.
func (c *checker) done(r *request) {
	switch answer := r.answer.(type) {
	case *schedule.TriggerReply:
		count := 0
		for _, e := range c.events {
			if e.Source == answer.TriggerID && slices.Contains(fates, e.Kind) {
				count++
			}
		}
		if count != 1 {
			c.find("requests", "trigger %s has %d fates", answer.TriggerID, count)
		}
	case *schedule.BackfillReply:
		if !slices.ContainsFunc(c.events, func(e schedule.Event) bool {
			return e.Source == answer.BackfillID && e.Kind == schedule.EventBackfillCompleted
		}) {
			c.find("requests", "backfill %s has not completed", answer.BackfillID)
		}
	}
}

// numberOf is the number of an event of the invoker, by its ID.
func numberOf(eventID string) int {
	number, err := strconv.Atoi(eventID[strings.LastIndexByte(eventID, '-')+1:])
	if err != nil {
		return 0
	}
	return number
}
