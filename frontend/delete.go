package frontend

import (
	"context"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// delete removes the definition and wakes everybody who has records or timers of the schedule, to remove them. What becomes
// of its runs is noted in the trace of the definition, in the same step: the invoker sees to it, whoever wakes it.
func (a *api) delete(ctx context.Context, namespace string, req *schedule.DeleteRequest) (schedule.Empty, error) {
	key := schedule.Key{Namespace: namespace, ID: req.ID}
	if repeated, err := a.hasDeleted(ctx, key, req.RequestID); err != nil || repeated {
		return schedule.Empty{}, err
	}
	var deleted schedule.Definition
	err := a.replace(ctx, key, func(current kv.Record[schedule.Definition]) (func(context.Context) error, error) {
		if err := checkToken("schedule", current.Value.Version, req.ConflictToken); err != nil {
			return nil, err
		}
		deleted = current.Value
		return func(ctx context.Context) error {
			return kv.DeleteNoting(ctx, a.store, kv.Definition(key), current.Revision, string(req.Runs))
		}, nil
	})
	if err != nil {
		return schedule.Empty{}, err
	}
	a.afterDelete(ctx, &deleted, req.Runs, a.origin(ctx, req.RequestID))
	return schedule.Empty{}, nil
}

func (a *api) afterDelete(ctx context.Context, def *schedule.Definition, runs schedule.RunsPolicy, from origin) {
	key := def.Key()
	wake := schedule.Wake{Incarnation: def.Incarnation, Version: afterDelete(def), Reason: schedule.ReasonDeleted}
	forget := wake
	forget.Runs = runs // should the schedule be made anew before the invoker reads the trace
	a.follow(ctx, key, a.wakeInvokerToForget(key, forget), a.tellAndWake(key, wake, deletedEvent(def, from)))
	backfills, err := a.backfillIDs(ctx, key)
	if err != nil {
		a.logFor(key).WarnContext(ctx, "backfills of a deleted schedule not woken", "error", err)
	}
	var effects []effect
	for _, id := range backfills {
		effects = append(effects, a.wakeBackfill(key, id, wake))
	}
	a.follow(ctx, key, effects...)
}
