package frontend

import (
	"context"
	"errors"
	"slices"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// trigger writes a record that the backfiller turns into one start.
func (a *api) trigger(
	ctx context.Context, namespace string, req *schedule.TriggerRequest,
) (schedule.TriggerReply, error) {
	key := schedule.Key{Namespace: namespace, ID: req.ID}
	from := a.origin(ctx, req.RequestID)
	id, err := a.request(ctx, key, from, func(incarnation string) schedule.BackfillState {
		id := a.newID()
		if req.RequestID != "" {
			id = triggerID(incarnation, req.RequestID)
		}
		return newTrigger(incarnation, id, req.Trigger, from)
	})
	return schedule.TriggerReply{ID: req.ID, TriggerID: id}, err
}

// backfill writes a record that the backfiller works off.
func (a *api) backfill(
	ctx context.Context, namespace string, req *schedule.BackfillRequest,
) (schedule.BackfillReply, error) {
	key := schedule.Key{Namespace: namespace, ID: req.ID}
	from := a.origin(ctx, req.RequestID)
	id, err := a.request(ctx, key, from, func(incarnation string) schedule.BackfillState {
		id := a.newID()
		if req.RequestID != "" {
			id = backfillID(incarnation, req.RequestID)
		}
		return newBackfill(incarnation, id, req.BackfillRange, from)
	})
	return schedule.BackfillReply{ID: req.ID, BackfillID: id}, err
}

// request writes the record of a trigger or backfill, wakes the backfiller, and returns its ID. The definition is read from
// the leader: a record with the incarnation of a schedule that has just been replaced would be dropped, though answered.
func (a *api) request(
	ctx context.Context, key schedule.Key, from origin, newRecord func(incarnation string) schedule.BackfillState,
) (string, error) {
	definition, err := a.newestDefinition(ctx, key)
	if err != nil {
		return "", err
	}
	def := &definition.Value
	record := newRecord(def.Incarnation)
	if err := a.admit(ctx, def, record.ID); err != nil {
		return "", err
	}
	// A conflict is a repeat of the request, whose record may be gone already.
	if _, err := a.putRequest(ctx, key, &record); err != nil && !errors.Is(err, kv.ErrConflict) {
		return "", err
	}
	a.follow(ctx, key,
		a.wakeBackfill(key, record.ID, wakeFor(def, schedule.ReasonTriggered)),
		a.tell(record.Requested(key)))
	return record.ID, nil
}

// admit refuses a request that would be one too many to be pending; a repeat of one that is pending is not.
func (a *api) admit(ctx context.Context, def *schedule.Definition, id string) error {
	pending, err := a.backfillIDs(ctx, def.Key())
	if err != nil {
		return err
	}
	if len(def.Requests) > 0 {
		generator, err := a.newestGenerator(ctx, def.Key())
		if err != nil {
			return err
		}
		pending = mergeIDs(pending, openRequests(def, &generator))
	}
	if slices.Contains(pending, id) {
		return nil
	}
	return checkPending(len(pending), 1)
}

// putRequest writes the record of a new backfill or trigger, guarded, and returns its revision.
func (a *api) putRequest(ctx context.Context, key schedule.Key, record *schedule.BackfillState) (uint64, error) {
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
		ids[i] = kv.BackfillID(record)
	}
	return ids, nil
}
