package schedules

import (
	"context"
	"errors"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// CancelBackfill marks the record of a backfill or trigger as canceled, and wakes both pools: the invoker takes its waiting
// starts out of the buffer; the backfiller hands over nothing more and ends it. The guard wakes only the backfiller, which tells
// the invoker.
func (s *Service) CancelBackfill(
	ctx context.Context, namespace string, req *schedule.CancelBackfillRequest,
) (schedule.Empty, error) {
	key := schedule.Key{Namespace: namespace, ID: req.ID}
	if subjects.Escape(req.BackfillID) != req.BackfillID {
		return schedule.Empty{}, errNoBackfill(key, req.BackfillID) // it would not be one token of a key
	}
	err := s.cancelAsked(ctx, key, req)
	if schedule.CodeOf(err) == schedule.CodeNotFound {
		if repeated, failed := s.hasCanceled(ctx, key, req); failed != nil || repeated {
			return schedule.Empty{}, failed
		}
	}
	return schedule.Empty{}, err
}

// cancelAsked cancels a backfill or trigger that exists.
func (s *Service) cancelAsked(ctx context.Context, key schedule.Key, req *schedule.CancelBackfillRequest) error {
	for range request.MaxWrites {
		definition, err := s.newestDefinition(ctx, key)
		if err != nil {
			return err
		}
		err = s.cancelRequest(ctx, &definition.Value, req)
		if errors.Is(err, kv.ErrConflict) {
			continue
		}
		if err != nil {
			return err
		}
		wake := wakeFor(&definition.Value, wire.ReasonCanceled)
		s.follow(ctx, key, s.wakeInvoker(key, wake), s.wakeBackfill(key, req.BackfillID, wake))
		return nil
	}
	return schedule.Errorf(schedule.CodeUnavailable,
		"the backfill is being worked on by too many others: try again")
}

// cancelRequest makes one attempt to mark a record as canceled. It returns ErrConflict if another writer was faster.
func (s *Service) cancelRequest(ctx context.Context, def *wire.Definition, req *schedule.CancelBackfillRequest) error {
	key, id := def.Key(), req.BackfillID
	record, err := kv.GetLeader(ctx, s.store, kv.Backfill(key, id))
	if errors.Is(err, kv.ErrNotFound) {
		return s.cancelPatched(ctx, def, req)
	}
	switch {
	case err != nil:
		return err
	case record.Value.Incarnation != def.Incarnation:
		return errNoBackfill(key, id)
	case record.Value.Canceled:
		return nil
	}
	if err := s.armBackfillGuard(ctx, key, &record.Value); err != nil {
		return err
	}
	markCanceled(ctx, &record.Value, req)
	_, err = kv.Put(ctx, s.store, kv.Backfill(key, id), &record.Value, record.Revision)
	return err
}

// cancelPatched cancels a request of a patch that has no record yet. It makes a record that is canceled from the beginning, which
// keeps the generator from making another.
func (s *Service) cancelPatched(ctx context.Context, def *wire.Definition, req *schedule.CancelBackfillRequest) error {
	request, err := s.patched(ctx, def, req.BackfillID)
	if err != nil {
		return err
	}
	markCanceled(ctx, &request, req)
	_, err = s.putRequest(ctx, def.Key(), &request)
	return err
}

func markCanceled(ctx context.Context, record *wire.BackfillState, req *schedule.CancelBackfillRequest) {
	record.Canceled, record.CanceledBy, record.CancelRequestID = true, request.IdentityOf(ctx), req.RequestID
}

// patched returns a request in a definition that has no record yet.
func (s *Service) patched(ctx context.Context, def *wire.Definition, id string) (wire.BackfillState, error) {
	if len(def.Requests) == 0 {
		return wire.BackfillState{}, errNoBackfill(def.Key(), id)
	}
	generator, err := s.newestGenerator(ctx, def.Key())
	if err != nil {
		return wire.BackfillState{}, err
	}
	for _, request := range openRequests(def, &generator) {
		if request.ID == id {
			return request, nil
		}
	}
	return wire.BackfillState{}, errNoBackfill(def.Key(), id)
}
