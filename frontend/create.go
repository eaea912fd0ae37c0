package frontend

import (
	"context"
	"errors"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// create writes a new definition. An ID that is taken shows by the conflict of that write and not by a look before it,
// which would leave a gap between the two.
func (a *api) create(
	ctx context.Context, namespace string, req *schedule.CreateRequest,
) (schedule.Description, error) {
	key := schedule.Key{Namespace: namespace, ID: req.ID}
	def := newDefinition(key, req, a.now(), a.newID())
	if err := a.armGuard(ctx, key, def.Version); err != nil {
		return schedule.Description{}, err
	}
	discard, err := a.putInitialTrigger(ctx, &def, req)
	if err != nil {
		return schedule.Description{}, err
	}
	_, err = kv.Put(ctx, a.store, kv.Definition(key), &def, 0)
	if errors.Is(err, kv.ErrConflict) {
		discard()
		return a.repeatCreate(ctx, key, req)
	}
	if err != nil {
		return schedule.Description{}, err
	}
	a.afterCreate(ctx, &def, req)
	return describe(&def, schedule.GeneratorState{}, schedule.InvokerState{}, a.now()), nil
}

// putInitialTrigger writes the record of the run that a create request asks for. It stands before the definition is
// written, so a definition that exists has its trigger, and a repeat of the request need not add one: it would run
// twice if the first had finished. Without a definition of its incarnation the record is void; discard removes it, and
// where that does not happen the backfiller does.
func (a *api) putInitialTrigger(
	ctx context.Context, def *schedule.Definition, req *schedule.CreateRequest,
) (discard func(), err error) {
	if !req.TriggerNow {
		return func() {}, nil
	}
	record := newTrigger(def.Incarnation, initialTriggerID(def), schedule.Trigger{}, def.CreateTime, telemetry.Traceparent(ctx))
	revision, err := a.putBackfill(ctx, def.Key(), &record)
	if err != nil {
		return nil, err
	}
	return func() {
		if err := kv.Delete(ctx, a.store, kv.Backfill(def.Key(), record.ID), revision); err != nil {
			a.logFor(def.Key()).WarnContext(ctx, "trigger of a refused create request not removed", "error", err)
		}
	}, nil
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
	return a.description(ctx, &record.Value)
}

func (a *api) afterCreate(ctx context.Context, def *schedule.Definition, req *schedule.CreateRequest) {
	effects := []effect{
		a.wakeGenerator(def.Key(), schedule.Wake{
			Incarnation: def.Incarnation, Version: def.Version, Reason: schedule.ReasonCreated,
		}),
		a.publishEvent(def, schedule.EventCreated, 1, ""),
	}
	if req.TriggerNow {
		effects = append(effects, a.wakeBackfill(def.Key(), initialTriggerID(def), schedule.Wake{
			Incarnation: def.Incarnation, Version: def.Version, Reason: schedule.ReasonTriggered,
		}))
	}
	a.follow(ctx, def.Key(), effects...)
}
