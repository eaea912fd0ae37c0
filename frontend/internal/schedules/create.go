package schedules

import (
	"cmp"
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// initialWriters bounds how many records of a create request are written at once. There may be 100 of them.
const initialWriters = 16

// Create makes a schedule. Its answer warns of surprising times, and of an action that no worker has a handler for.
func (s *Service) Create(
	ctx context.Context, namespace string, req *schedule.CreateRequest,
) (schedule.Description, error) {
	return s.withTypeWarning(ctx, namespace, &req.Action, func() (schedule.Description, error) {
		return s.createNow(ctx, namespace, req)
	})
}

// createNow writes a new definition. A conflict of that write shows that the ID is taken. A look before it would leave a gap
// between the two.
func (s *Service) createNow(
	ctx context.Context, namespace string, req *schedule.CreateRequest,
) (schedule.Description, error) {
	if err := checkTogether(req.TriggerNow, len(req.Backfills)); err != nil {
		return schedule.Description{}, err
	}
	key, from := schedule.Key{Namespace: namespace, ID: req.ID}, s.origin(ctx, req.RequestID)
	def := newDefinition(key, req, from, s.newID())
	calendars, err := s.Calendars.Of(ctx, namespace, &req.Spec)
	if err != nil {
		return s.repeatOr(ctx, key, req, err)
	}
	def.Calendars = calendars
	if err := s.checkBytes(namespace, nil, &def.Schedule); err != nil {
		return s.repeatOr(ctx, key, req, err)
	}
	if err := s.Registry.TakePlace(ctx, key); err != nil {
		return s.repeatOr(ctx, key, req, err)
	}
	if err := s.armGuard(ctx, key, "", def.Version); err != nil {
		return schedule.Description{}, err
	}
	discard, err := s.putInitialRequests(ctx, key, initialRequests(&def, req, from))
	if err != nil {
		return schedule.Description{}, err
	}
	err = s.putNew(ctx, key, &def)
	if errors.Is(err, kv.ErrConflict) {
		discard()
		return s.repeatCreate(ctx, key, req)
	}
	if err != nil {
		return schedule.Description{}, err
	}
	s.rooms.forget(key)
	s.afterCreate(ctx, &def, req)
	return s.withTimeWarnings(describe(&def, wire.GeneratorState{}, wire.InvokerState{}, s.now()), &def), nil
}

// putNew writes the definition of a new schedule, including what the trace of an earlier one with the same ID says about its end.
// An existing schedule is a conflict.
func (s *Service) putNew(ctx context.Context, key schedule.Key, def *wire.Definition) error {
	conflict := error(nil)
	for range request.MaxWrites {
		_, err := kv.Insert(ctx, s.store, kv.Definition(key), def)
		if !errors.Is(err, kv.ErrConflict) {
			return err
		}
		conflict = err
		trace, err := kv.Trace(ctx, s.store, kv.Definition(key))
		if err != nil || trace.Revision == 0 {
			return cmp.Or(err, conflict)
		}
		// Arm it again: a schedule may have come and gone meanwhile, and its wake has then removed the guard.
		if err := s.armGuard(ctx, key, "", def.Version); err != nil {
			return err
		}
		def.PredecessorClosed = trace.Value.Closed
		if def.Predecessor, err = s.named(ctx, key, trace.Value.Deletion); err != nil {
			return err
		}
		_, err = kv.Put(ctx, s.store, kv.Definition(key), def, trace.Revision)
		if !errors.Is(err, kv.ErrConflict) {
			return err
		}
		def.Predecessor, def.PredecessorClosed = nil, "" // the trace is gone, or another schedule has come, and may be gone again
	}
	return conflict
}

// named returns a deletion that says which schedule it is about, for the definition of the next one. If an earlier release has not noted that, the record of
// the runs says it. Without a record there are no runs whose end depends on it.
func (s *Service) named(ctx context.Context, key schedule.Key, deletion *wire.Deletion) (*wire.Deletion, error) {
	if deletion == nil || deletion.Incarnation != "" {
		return deletion, nil
	}
	invoker, err := kv.OrZero(kv.GetLeader(ctx, s.store, kv.Invoker(key)))
	if err != nil || invoker.Value.Incarnation == "" {
		return deletion.Carried(), err
	}
	named := *deletion
	named.Incarnation = invoker.Value.Incarnation
	return &named, nil
}

// putInitialRequests writes the records of the starts that a create request asks for. They are written before the definition, so
// every existing definition has them, and a repeat of the request need not add any. (Adding them would start finished ones
// twice.) Without a definition of its incarnation a record is void. discard removes such records; if it fails, the backfiller
// does.
func (s *Service) putInitialRequests(
	ctx context.Context, key schedule.Key, requests []wire.BackfillState,
) (discard func(), err error) {
	revisions := make([]uint64, len(requests))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(initialWriters)
	for i := range requests {
		group.Go(func() (err error) {
			revisions[i], err = s.putRequest(groupCtx, key, &requests[i])
			return err
		})
	}
	discard = func() { s.discard(ctx, key, requests, revisions) }
	if err := group.Wait(); err != nil {
		discard()
		return nil, err
	}
	return discard, nil
}

// discard removes the records of a create request that was refused.
func (s *Service) discard(ctx context.Context, key schedule.Key, requests []wire.BackfillState, revisions []uint64) {
	var errs []error
	for i := range requests {
		if revisions[i] != 0 {
			errs = append(errs, kv.Delete(ctx, s.store, kv.Backfill(key, requests[i].ID), revisions[i]))
		}
	}
	if err := errors.Join(errs...); err != nil {
		s.logFor(key).WarnContext(ctx, "requests of a refused create not removed", "error", err)
	}
}

// repeatOr answers a create request that cannot be carried out now: with its earlier answer if it is a repeat, else with an
// error.
func (s *Service) repeatOr(
	ctx context.Context, key schedule.Key, req *schedule.CreateRequest, refused error,
) (schedule.Description, error) {
	if record, err := s.newestDefinition(ctx, key); err != nil || checkRepeat(&record.Value, req) != nil {
		return schedule.Description{}, refused
	}
	return s.repeatCreate(ctx, key, req)
}

// repeatCreate answers a create request for an ID that is taken. If the same request took it, the steps after the write are
// repeated, in case they were not done the first time.
func (s *Service) repeatCreate(
	ctx context.Context, key schedule.Key, req *schedule.CreateRequest,
) (schedule.Description, error) {
	record, err := s.newestDefinition(ctx, key)
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
	s.afterCreate(ctx, &record.Value, req)
	return s.answerStored(ctx, &record.Value)
}

func (s *Service) afterCreate(ctx context.Context, def *wire.Definition, req *schedule.CreateRequest) {
	from, key := s.origin(ctx, req.RequestID), def.Key()
	from.Now = def.CreateTime // for a repeat too: it tells what the first one did
	events := []schedule.Event{changeEvent(def, schedule.EventCreated, 1, "", from)}
	var effects []effect
	requests := initialRequests(def, req, from)
	for i := range requests {
		events = append(events, requests[i].Requested(key))
		effects = append(effects, s.wakeBackfill(key, requests[i].ID, wakeFor(def, wire.ReasonTriggered)))
	}
	wake := wakeFor(def, wire.ReasonCreated)
	if def.Version == 1 {
		if isSmall(def) {
			wake.Created = def
		}
		effects = append(effects, s.tellAndWake(key, wake, events...))
	} else { // a repeat: whether the later change was published is not known here
		effects = append(effects, s.tell(events...), s.wakeGenerator(key, wake))
	}
	s.follow(ctx, key, effects...)
}

// maxCreated is the largest definition, in bytes, that a wake carries.
const maxCreated = 4 << 10

// isSmall reports whether a wake may carry a definition.
func isSmall(def *wire.Definition) bool {
	data, err := codec.Marshal(def)
	return err == nil && len(data) <= maxCreated
}
