package schedules

import (
	"context"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Delete removes the definition and wakes every pool that has records or timers of the schedule, so that they are removed. The
// same step notes in the trace of the definition what shall happen to its runs, and which request this was. So the invoker
// handles the runs whoever wakes it, and a repeat of the request is recognised, even if nothing else gets done.
func (s *Service) Delete(ctx context.Context, namespace string, req *schedule.DeleteRequest) (schedule.Empty, error) {
	key := schedule.Key{Namespace: namespace, ID: req.ID}
	if repeated, err := s.hasDeleted(ctx, key, req.RequestID); err != nil || repeated {
		return schedule.Empty{}, err
	}
	var deleted wire.Definition
	repeated := false
	err := s.replace(ctx, key, func(current kv.Record[wire.Definition]) (func(context.Context) error, error) {
		if repeated = current.Value.Predecessor.By(req.RequestID); repeated {
			return nil, nil
		}
		if err := request.CheckToken("schedule", current.Value.Version, req.ConflictToken); err != nil {
			return nil, err
		}
		deleted = current.Value
		return func(ctx context.Context) error {
			return kv.DeleteNoting(ctx, s.store, kv.Definition(key), current.Revision, noteOf(&deleted, req))
		}, nil
	})
	if schedule.CodeOf(err) == schedule.CodeNotFound && req.RequestID != "" {
		return schedule.Empty{}, s.repeatDelete(ctx, key, req.RequestID, err)
	}
	if err != nil || repeated {
		return schedule.Empty{}, err
	}
	s.afterDelete(ctx, &deleted, req.Runs, s.origin(ctx, req.RequestID))
	return schedule.Empty{}, nil
}

// noteOf returns the note for the trace of a definition.
func noteOf(deleted *wire.Definition, req *schedule.DeleteRequest) kv.Note {
	if req.RequestID != "" || req.Runs != "" {
		return kv.Note{Deletion: &wire.Deletion{Incarnation: deleted.Incarnation, RequestID: req.RequestID, Runs: req.Runs}}
	}
	return kv.Note{}
}

// repeatDelete answers a delete that finds no schedule. If the same request deleted it, the answer is the earlier one.
func (s *Service) repeatDelete(ctx context.Context, key schedule.Key, requestID string, notFound error) error {
	last, err := kv.LastDeletion(ctx, s.store, key)
	if err == nil && !last.By(requestID) {
		return notFound
	}
	return err
}

func (s *Service) afterDelete(ctx context.Context, def *wire.Definition, runs schedule.RunsPolicy, from request.Origin) {
	key := def.Key()
	wake := wire.Wake{Incarnation: def.Incarnation, Version: afterDelete(def), Reason: wire.ReasonDeleted}
	forget := wake
	forget.Runs = runs // the trace may be gone by then
	s.follow(ctx, key, s.wakeInvokerToForget(key, forget), s.tellAndWake(key, wake, deletedEvent(def, from)))
	backfills, err := s.backfillIDs(ctx, key)
	if err != nil {
		s.logFor(key).WarnContext(ctx, "backfills of a deleted schedule not woken", "error", err)
	}
	var effects []effect
	for _, id := range backfills {
		effects = append(effects, s.wakeBackfill(key, id, wake))
	}
	s.follow(ctx, key, effects...)
}
