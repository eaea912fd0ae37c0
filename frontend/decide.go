package frontend

import (
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/carillon-scheduler/carillon/schedule"
)

// maxPendingBackfills bounds the backfills and triggers of one schedule that are not finished (SEMANTICS §8). It is
// counted before the record is written, so requests that arrive together may pass it by their number.
const maxPendingBackfills = 100

// triggerSpace is the UUID namespace of trigger IDs. It must never change: the protection of a repeated request against
// triggering twice depends on it.
var triggerSpace = uuid.MustParse("0c3e4d0e-3b54-4b1f-9f0e-6f1f0a1d7c52")

// newDefinition returns the definition that a create request writes.
func newDefinition(key schedule.Key, req *schedule.CreateRequest, now time.Time, incarnation string) schedule.Definition {
	return schedule.Definition{
		Namespace: key.Namespace, ID: key.ID,
		Incarnation: incarnation, Version: 1, LimitVersion: 1,
		Schedule: req.Schedule, RequestID: req.RequestID, CreateTime: now.UTC(),
	}
}

// checkRepeat decides about a create request for an ID that is taken: nil if it repeats the request that took it, which
// is then answered in the same way.
func checkRepeat(def *schedule.Definition, req *schedule.CreateRequest) error {
	if req.RequestID != "" && req.RequestID == def.RequestID {
		return nil
	}
	return &schedule.Error{
		Code: schedule.CodeAlreadyExists, Field: "id",
		Message: fmt.Sprintf("namespace %q has a schedule %q already", def.Namespace, def.ID),
	}
}

// setPaused returns the definition that a pause or unpause writes. It is a new version also where nothing changes: every
// accepted request counts. The update time stays; that what was due during a pause remains undone is what ActiveSince
// says.
func setPaused(def schedule.Definition, paused bool, note string, now time.Time) schedule.Definition {
	def.Version++
	if def.Schedule.State.Paused && !paused {
		def.ActiveSince = now.UTC()
	}
	def.Schedule.State.Paused = paused
	if note != "" {
		def.Schedule.State.Notes = note
	}
	return def
}

// afterDelete is the version that the absence of a definition stands for: a pool that still reads an older one knows
// that it reads a lagging replica.
func afterDelete(def *schedule.Definition) uint64 { return def.Version + 1 }

// newTrigger returns the record of a request for one start now.
func newTrigger(incarnation, id string, trigger schedule.Trigger, now time.Time, trace string) schedule.BackfillState {
	return schedule.BackfillState{
		Incarnation: incarnation, ID: id, RequestTime: now.UTC(), Trigger: &trigger, Trace: trace,
	}
}

// triggerID names a trigger after the request, so that a repeat of it names the same. The incarnation keeps the schedules
// apart that share an ID over time.
func triggerID(incarnation, requestID string) string {
	return uuid.NewSHA1(triggerSpace, []byte(incarnation+"/"+requestID)).String()
}

// initialTriggerID names the trigger that a create request asks for. No request of its own has the empty ID.
func initialTriggerID(def *schedule.Definition) string { return triggerID(def.Incarnation, "") }

// checkPending refuses a further backfill where there are too many.
func checkPending(pending int) error {
	if pending < maxPendingBackfills {
		return nil
	}
	return schedule.Errorf(schedule.CodeResourceExhausted,
		"the schedule has %d pending triggers and backfills, and at most %d are accepted: wait until some have started",
		pending, maxPendingBackfills)
}

// newEvent says what happened to a definition. Its ID is the same for every attempt to tell it.
func newEvent(
	def *schedule.Definition, kind schedule.EventKind, version uint64, reason string, now time.Time, trace string,
) schedule.Event {
	return schedule.Event{
		ID:   def.Incarnation + "-" + string(kind) + "-" + strconv.FormatUint(version, 10),
		Time: now.UTC(), Namespace: def.Namespace, ScheduleID: def.ID, Kind: kind, Reason: reason, Trace: trace,
	}
}
