package frontend

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// trigger writes a record that the backfiller turns into one start. The definition is read from the leader: a record with
// the incarnation of a schedule that has just been replaced would be dropped, though answered.
func (a *api) trigger(
	ctx context.Context, namespace string, req *schedule.TriggerRequest,
) (schedule.TriggerReply, error) {
	key := schedule.Key{Namespace: namespace, ID: req.ID}
	definition, err := a.newestDefinition(ctx, key)
	if err != nil {
		return schedule.TriggerReply{}, err
	}
	def := &definition.Value
	id := a.newID()
	if req.RequestID != "" {
		id = triggerID(def.Incarnation, req.RequestID)
	}
	if err := a.admitTrigger(ctx, key, id); err != nil {
		return schedule.TriggerReply{}, err
	}
	record := newTrigger(def.Incarnation, id, req.Trigger, a.now(), telemetry.Traceparent(ctx))
	// A conflict is a repeat of the request, whose record may be gone already.
	if _, err := a.putBackfill(ctx, key, &record); err != nil && !errors.Is(err, kv.ErrConflict) {
		return schedule.TriggerReply{}, err
	}
	a.follow(ctx, key, a.wakeBackfill(key, id, schedule.Wake{
		Incarnation: def.Incarnation, Version: def.Version, Reason: schedule.ReasonTriggered,
	}))
	return schedule.TriggerReply{ID: req.ID, TriggerID: id}, nil
}

// admitTrigger refuses a request that would be one too many to be pending; a repeat of one that is pending is not.
func (a *api) admitTrigger(ctx context.Context, key schedule.Key, id string) error {
	pending, err := a.backfillIDs(ctx, key)
	if err != nil || slices.Contains(pending, id) {
		return err
	}
	return checkPending(len(pending))
}

// putBackfill writes the record of a new backfill or trigger, guarded, and returns its revision.
func (a *api) putBackfill(ctx context.Context, key schedule.Key, record *schedule.BackfillState) (uint64, error) {
	if err := a.armBackfillGuard(ctx, key, record); err != nil {
		return 0, err
	}
	return kv.Insert(ctx, a.store, kv.Backfill(key, record.ID), record)
}

// backfillIDs returns the IDs of the backfills and triggers of a schedule that are not finished.
func (a *api) backfillIDs(ctx context.Context, key schedule.Key) ([]string, error) {
	records, err := kv.Backfills(ctx, a.store, key)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(records))
	for i, record := range records {
		name := record.String()
		ids[i] = name[strings.LastIndexByte(name, '.')+1:]
	}
	return ids, nil
}
