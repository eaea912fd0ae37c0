package frontend

import (
	"context"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// delete removes the definition and wakes every pool that has records or timers of the schedule, so that they are removed. The
// same step notes in the trace of the definition what shall happen to its runs, and which request this was. So the invoker
// handles the runs whoever wakes it, and a repeat of the request is recognised, even if nothing else gets done.
func (a *api) delete(ctx context.Context, namespace string, req *schedule.DeleteRequest) (schedule.Empty, error) {
	key := schedule.Key{Namespace: namespace, ID: req.ID}
	if repeated, err := a.hasDeleted(ctx, key, req.RequestID); err != nil || repeated {
		return schedule.Empty{}, err
	}
	var deleted wire.Definition
	repeated := false
	err := a.replace(ctx, key, func(current kv.Record[wire.Definition]) (func(context.Context) error, error) {
		if repeated = current.Value.Predecessor.By(req.RequestID); repeated {
			return nil, nil
		}
		if err := request.CheckToken("schedule", current.Value.Version, req.ConflictToken); err != nil {
			return nil, err
		}
		deleted = current.Value
		return func(ctx context.Context) error {
			return kv.DeleteNoting(ctx, a.store, kv.Definition(key), current.Revision, noteOf(&deleted, req))
		}, nil
	})
	if schedule.CodeOf(err) == schedule.CodeNotFound && req.RequestID != "" {
		return schedule.Empty{}, a.repeatDelete(ctx, key, req.RequestID, err)
	}
	if err != nil || repeated {
		return schedule.Empty{}, err
	}
	a.afterDelete(ctx, &deleted, req.Runs, a.origin(ctx, req.RequestID))
	return schedule.Empty{}, nil
}

// noteOf returns the note for the trace of a definition.
func noteOf(deleted *wire.Definition, req *schedule.DeleteRequest) kv.Note {
	note := kv.Note{Runs: req.Runs}
	if req.RequestID != "" {
		note.Deletion = &wire.Deletion{Incarnation: deleted.Incarnation, RequestID: req.RequestID}
	}
	return note
}

// repeatDelete answers a delete that finds no schedule. If the same request deleted it, the answer is the earlier one.
func (a *api) repeatDelete(ctx context.Context, key schedule.Key, requestID string, notFound error) error {
	last, err := kv.LastDeletion(ctx, a.store, key)
	if err == nil && !last.By(requestID) {
		return notFound
	}
	return err
}

func (a *api) afterDelete(ctx context.Context, def *wire.Definition, runs schedule.RunsPolicy, from request.Origin) {
	key := def.Key()
	wake := wire.Wake{Incarnation: def.Incarnation, Version: afterDelete(def), Reason: wire.ReasonDeleted}
	forget := wake
	forget.Runs = runs // in case the schedule is created again before the invoker reads the trace
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
