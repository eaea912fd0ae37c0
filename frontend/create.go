package frontend

import (
	"cmp"
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// initialWriters bounds how many records of a create request are written at once. There may be 100 of them.
const initialWriters = 16

// create makes a schedule, and warns of times that may surprise and of an action that no worker has a handler for.
func (a *api) create(
	ctx context.Context, namespace string, req *schedule.CreateRequest,
) (schedule.Description, error) {
	return a.withTypeWarning(ctx, namespace, &req.Action, func() (schedule.Description, error) {
		return a.createNow(ctx, namespace, req)
	})
}

// createNow writes a new definition. An ID that is taken shows by the conflict of that write and not by a look before it,
// which would leave a gap between the two.
func (a *api) createNow(
	ctx context.Context, namespace string, req *schedule.CreateRequest,
) (schedule.Description, error) {
	if err := checkTogether(req.TriggerNow, len(req.Backfills)); err != nil {
		return schedule.Description{}, err
	}
	key, from := schedule.Key{Namespace: namespace, ID: req.ID}, a.origin(ctx, req.RequestID)
	def := newDefinition(key, req, from, a.newID())
	calendars, err := a.calendars.Of(ctx, namespace, &req.Spec)
	if err != nil {
		return a.repeatOr(ctx, key, req, err)
	}
	def.Calendars = calendars
	if err := a.checkBytes(namespace, nil, &def.Schedule); err != nil {
		return a.repeatOr(ctx, key, req, err)
	}
	if err := a.takePlace(ctx, key); err != nil {
		return a.repeatOr(ctx, key, req, err)
	}
	if err := a.armGuard(ctx, key, "", def.Version); err != nil {
		return schedule.Description{}, err
	}
	discard, err := a.putInitialRequests(ctx, key, initialRequests(&def, req, from))
	if err != nil {
		return schedule.Description{}, err
	}
	err = a.putNew(ctx, key, &def)
	if errors.Is(err, kv.ErrConflict) {
		discard()
		return a.repeatCreate(ctx, key, req)
	}
	if err != nil {
		return schedule.Description{}, err
	}
	a.rooms.forget(key)
	a.afterCreate(ctx, &def, req)
	return a.withTimeWarnings(describe(&def, wire.GeneratorState{}, wire.InvokerState{}, a.now()), &def), nil
}

// putNew writes the definition of a new schedule, with what the trace of an earlier one of the same ID says of its end. A
// schedule that is there is a conflict.
func (a *api) putNew(ctx context.Context, key schedule.Key, def *wire.Definition) error {
	conflict := error(nil)
	for range maxWrites {
		_, err := kv.Insert(ctx, a.store, kv.Definition(key), def)
		if !errors.Is(err, kv.ErrConflict) {
			return err
		}
		conflict = err
		trace, err := kv.Trace(ctx, a.store, kv.Definition(key))
		if err != nil || trace.Revision == 0 {
			return cmp.Or(err, conflict)
		}
		// Anew: the wake of a schedule that has come and gone meanwhile has removed the guard.
		if err := a.armGuard(ctx, key, "", def.Version); err != nil {
			return err
		}
		def.Predecessor, def.PredecessorClosed = trace.Value.Deletion, trace.Value.Closed
		_, err = kv.Put(ctx, a.store, kv.Definition(key), def, trace.Revision)
		if !errors.Is(err, kv.ErrConflict) {
			return err
		}
		def.Predecessor, def.PredecessorClosed = nil, "" // the trace is gone, or another schedule has come, and may be gone again
	}
	return conflict
}

// putInitialRequests writes the records of what a create request asks to be started. They stand before the definition is
// written, so a definition that exists has them, and a repeat of the request need not add any: it would start twice what
// has finished. Without a definition of its incarnation a record is void; discard removes them, and where that does not
// happen the backfiller does.
func (a *api) putInitialRequests(
	ctx context.Context, key schedule.Key, requests []wire.BackfillState,
) (discard func(), err error) {
	revisions := make([]uint64, len(requests))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(initialWriters)
	for i := range requests {
		group.Go(func() (err error) {
			revisions[i], err = a.putRequest(groupCtx, key, &requests[i])
			return err
		})
	}
	discard = func() { a.discard(ctx, key, requests, revisions) }
	if err := group.Wait(); err != nil {
		discard()
		return nil, err
	}
	return discard, nil
}

// discard removes the records of a create request that has been refused.
func (a *api) discard(ctx context.Context, key schedule.Key, requests []wire.BackfillState, revisions []uint64) {
	var errs []error
	for i := range requests {
		if revisions[i] != 0 {
			errs = append(errs, kv.Delete(ctx, a.store, kv.Backfill(key, requests[i].ID), revisions[i]))
		}
	}
	if err := errors.Join(errs...); err != nil {
		a.logFor(key).WarnContext(ctx, "requests of a refused create not removed", "error", err)
	}
}

// repeatOr answers a create request that cannot be carried out as things are now: as it was answered before, or with an error.
func (a *api) repeatOr(
	ctx context.Context, key schedule.Key, req *schedule.CreateRequest, refused error,
) (schedule.Description, error) {
	if record, err := a.newestDefinition(ctx, key); err != nil || checkRepeat(&record.Value, req) != nil {
		return schedule.Description{}, refused
	}
	return a.repeatCreate(ctx, key, req)
}

// repeatCreate answers a create request for an ID that is taken. If this is the request that took it, what follows the
// write is done again, in case it was not done then.
func (a *api) repeatCreate(
	ctx context.Context, key schedule.Key, req *schedule.CreateRequest,
) (schedule.Description, error) {
	record, err := a.newestDefinition(ctx, key)
	if schedule.CodeOf(err) == schedule.CodeNotFound {
		return schedule.Description{}, schedule.Errorf(schedule.CodeUnavailable,
			"a schedule of this ID was deleted at the same moment: try again")
	}
	if err != nil {
		return schedule.Description{}, err
	}
	if err := checkRepeat(&record.Value, req); err != nil {
		return schedule.Description{}, err
	}
	a.afterCreate(ctx, &record.Value, req)
	return a.answerStored(ctx, &record.Value)
}

func (a *api) afterCreate(ctx context.Context, def *wire.Definition, req *schedule.CreateRequest) {
	from, key := a.origin(ctx, req.RequestID), def.Key()
	from.Now = def.CreateTime // of a repeat, too: it tells what the first one has done
	events := []schedule.Event{changeEvent(def, schedule.EventCreated, 1, "", from)}
	var effects []effect
	requests := initialRequests(def, req, from)
	for i := range requests {
		events = append(events, requests[i].Requested(key))
		effects = append(effects, a.wakeBackfill(key, requests[i].ID, wakeFor(def, wire.ReasonTriggered)))
	}
	wake := wakeFor(def, wire.ReasonCreated)
	if def.Version == 1 {
		if isSmall(def) {
			wake.Created = def
		}
		effects = append(effects, a.tellAndWake(key, wake, events...))
	} else { // a repeat, and whether the change that followed has been told of is not known here
		effects = append(effects, a.tell(events...), a.wakeGenerator(key, wake))
	}
	a.follow(ctx, key, effects...)
}

// maxCreated is how large a definition may be that a wake brings along.
const maxCreated = 4 << 10

// isSmall reports whether a definition may go with the wake that tells of it.
func isSmall(def *wire.Definition) bool {
	data, err := codec.Marshal(def)
	return err == nil && len(data) <= maxCreated
}
