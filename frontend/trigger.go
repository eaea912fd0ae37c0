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
	look := !a.rooms.has(key, from.now)
	def, pending, err := a.requested(ctx, key, look)
	if err != nil {
		return "", err
	}
	record := newRecord(def.Incarnation)
	taken, half := false, false
	if !look {
		taken, half = a.rooms.take(key, record.ID, from.now)
	}
	if !taken {
		if err := a.admit(ctx, def, pending, record.ID, look); err != nil {
			return "", err
		}
	}
	// A conflict is a repeat of the request, whose record may be gone already.
	if _, err := a.putRequest(ctx, key, &record); err != nil && !errors.Is(err, kv.ErrConflict) {
		return "", err
	}
	a.rooms.stored(key, record.ID)
	effects := []effect{
		a.wakeBackfill(key, record.ID, wakeFor(def, schedule.ReasonTriggered)), a.tell(record.Requested(key)),
	}
	if half {
		effects = append(effects, a.clearRoom(key))
	}
	a.follow(ctx, key, effects...)
	return record.ID, nil
}

// requested reads, side by side, the definition of a schedule, and, if they are to be looked at, the IDs of its triggers and
// backfills that are pending.
func (a *api) requested(ctx context.Context, key schedule.Key, look bool) (*schedule.Definition, []string, error) {
	var (
		definition kv.Record[schedule.Definition]
		pending    []string
	)
	err := sideBySide(
		func() (err error) {
			definition, err = a.newestDefinition(ctx, key)
			return err
		},
		func() (err error) {
			if look {
				pending, err = a.backfillIDs(ctx, key)
			}
			return err
		},
	)
	return &definition.Value, pending, err
}

// admit refuses a request that would be one too many to be pending; a repeat of one that is pending is not.
// Where looked is false the room was taken by others at the last moment, and nobody has looked at those that are.
func (a *api) admit(
	ctx context.Context, def *schedule.Definition, pending []string, id string, looked bool,
) (err error) {
	if !looked {
		if pending, err = a.backfillIDs(ctx, def.Key()); err != nil {
			return err
		}
	}
	pending, err = a.withOpen(ctx, def, pending)
	if err != nil {
		return err
	}
	if slices.Contains(pending, id) {
		return nil
	}
	if err := checkPending(len(pending), 1); err != nil {
		return err
	}
	a.rooms.saw(def.Key(), len(pending)+1, a.now())
	return nil
}

// withOpen adds the requests of a definition that have no record yet to the IDs of those that have one.
func (a *api) withOpen(ctx context.Context, def *schedule.Definition, pending []string) ([]string, error) {
	if len(def.Requests) == 0 {
		return pending, nil
	}
	generator, err := a.newestGenerator(ctx, def.Key())
	return mergeIDs(pending, openRequests(def, &generator)), err
}

// clearRoom finds out which of those that were taken in without a look are over, beside what follows a write: requests to
// come need not wait for it. Where that fails, the next one looks itself.
func (a *api) clearRoom(key schedule.Key) effect {
	return func(ctx context.Context) error {
		ids := a.rooms.taken(key)
		pending, err := kv.PendingBackfills(ctx, a.store, key, ids)
		if err == nil {
			a.rooms.over(key, slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(pending, id) }))
		} else {
			a.rooms.forget(key)
		}
		return nil
	}
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
	_, records, err := kv.ReadBackfills(ctx, a.store, key)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(records))
	for i, record := range records {
		ids[i] = kv.BackfillID(record)
	}
	return ids, nil
}
