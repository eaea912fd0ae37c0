package schedules

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// triggerID derives the name of a trigger from its request, so that a repeat names the same one. The incarnation distinguishes
// schedules that share an ID over time.
func triggerID(incarnation, requestID string) string {
	return request.DerivedID(incarnation + "/" + requestID)
}

// initialTriggerID names the trigger that a create request asks for. No real request has the empty ID.
func initialTriggerID(def *wire.Definition) string { return triggerID(def.Incarnation, "") }

// partID names one of several things that a request asks for. No request ID contains a zero byte, so no part shares its name with
// the trigger of another request.
func partID(incarnation, requestID, part string) string {
	return triggerID(incarnation, requestID+"\x00"+part)
}

// backfillID names a backfill as triggerID names a trigger.
func backfillID(incarnation, requestID string) string {
	return partID(incarnation, requestID, "backfill")
}

// newTrigger returns the record of a request for one start now.
func newTrigger(incarnation, id string, trigger schedule.Trigger, from request.Origin) wire.BackfillState {
	request := newRequest(incarnation, id, from)
	request.Trigger = &trigger
	return request
}

// newBackfill returns the record of a request for the starts of a range.
func newBackfill(incarnation, id string, r schedule.BackfillRange, from request.Origin) wire.BackfillState {
	r.Start, r.End = r.Start.UTC(), r.End.UTC()
	request := newRequest(incarnation, id, from)
	request.Range = &r
	return request
}

func newRequest(incarnation, id string, from request.Origin) wire.BackfillState {
	return wire.BackfillState{
		Incarnation: incarnation, ID: id, RequestTime: from.Now,
		Trace: from.Trace, Identity: from.Identity, RequestID: from.RequestID,
	}
}

// newRequests returns the records of a trigger, if there is one, and of backfills. Their IDs derive from the name of the request
// that asks for all of them. For a create request the name may be empty.
func newRequests(
	incarnation, name string, trigger *schedule.Trigger, ranges []schedule.BackfillRange, from request.Origin,
) []wire.BackfillState {
	var requests []wire.BackfillState
	if trigger != nil {
		requests = append(requests, newTrigger(incarnation, partID(incarnation, name, "trigger"), *trigger, from))
	}
	for i, r := range ranges {
		id := partID(incarnation, name, "backfills["+strconv.Itoa(i)+"]")
		requests = append(requests, newBackfill(incarnation, id, r, from))
	}
	return requests
}

// initialRequests returns the records of the starts that a create request asks for.
func initialRequests(def *wire.Definition, req *schedule.CreateRequest, from request.Origin) []wire.BackfillState {
	requests := newRequests(def.Incarnation, "", nil, req.Backfills, from)
	if req.TriggerNow {
		trigger := newTrigger(def.Incarnation, initialTriggerID(def), schedule.Trigger{}, from)
		requests = append([]wire.BackfillState{trigger}, requests...)
	}
	for i := range requests {
		requests[i].RequestTime = def.CreateTime
	}
	return requests
}

// checkTogether refuses a request that asks for more triggers and backfills than a schedule may have pending.
func checkTogether(trigger bool, backfills int) error {
	if !trigger || backfills < schedule.MaxBackfills {
		return nil // the validation counts the ranges by themselves
	}
	return schedule.Invalid("backfills", "has %d entries, and with the trigger at most %d are accepted",
		backfills, schedule.MaxBackfills-1)
}

// checkPending refuses further triggers and backfills if there would be too many. It is called before the records are written, so
// requests that arrive together may exceed the limit by their number.
func checkPending(pending, further int) error {
	if pending+further <= schedule.MaxBackfills {
		return nil
	}
	asked := "one more"
	if further != 1 {
		asked = fmt.Sprintf("%d more", further)
	}
	return schedule.Errorf(schedule.CodeResourceExhausted,
		"the schedule has %d pending triggers and backfills, %s would be too many: at most %d are accepted, "+
			"wait until some have started", pending, asked, schedule.MaxBackfills)
}

// openRequests returns those requests of a definition that may not have a record of the generator yet.
func openRequests(def *wire.Definition, generator *wire.GeneratorState) []wire.BackfillState {
	return slices.DeleteFunc(slices.Clone(def.Requests), func(r wire.BackfillState) bool {
		return generator.Incarnation == def.Incarnation && r.Version <= generator.Version
	})
}

// mergeIDs returns the IDs of records and of requests without a record, each once.
func mergeIDs(records []string, requests []wire.BackfillState) []string {
	ids := slices.Clone(records)
	for i := range requests {
		ids = append(ids, requests[i].ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// request asks for starts, together with whatever else the edit does. It does not ask again for those that are already pending:
// they are from a repeat of a request so old that the definition has forgotten it.
func (e *edit) request(requests []wire.BackfillState) error {
	pending := mergeIDs(e.facts.pending, e.next.Requests)
	fresh := slices.DeleteFunc(slices.Clone(requests), func(r wire.BackfillState) bool {
		return slices.Contains(pending, r.ID)
	})
	if err := checkPending(len(pending), len(fresh)); err != nil {
		return err
	}
	for i := range fresh {
		fresh[i].Version = e.next.Version
		e.next.Requests = append(e.next.Requests, fresh[i])
		e.requested = append(e.requested, fresh[i].Requested(e.next.Key()))
	}
	return nil
}
