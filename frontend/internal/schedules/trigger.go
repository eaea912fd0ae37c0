package schedules

import (
	"context"
	"errors"
	"slices"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Trigger writes a record that the backfiller turns into one start.
func (s *Service) Trigger(
	ctx context.Context, namespace string, req *schedule.TriggerRequest,
) (schedule.TriggerReply, error) {
	key := schedule.Key{Namespace: namespace, ID: req.ID}
	from := s.origin(ctx, req.RequestID)
	id, err := s.request(ctx, key, from, func(incarnation string) wire.BackfillState {
		id := s.newID()
		if req.RequestID != "" {
			id = triggerID(incarnation, req.RequestID)
		}
		return newTrigger(incarnation, id, req.Trigger, from)
	})
	return schedule.TriggerReply{ID: req.ID, TriggerID: id}, err
}

// Backfill writes a record that the backfiller works off.
func (s *Service) Backfill(
	ctx context.Context, namespace string, req *schedule.BackfillRequest,
) (schedule.BackfillReply, error) {
	key := schedule.Key{Namespace: namespace, ID: req.ID}
	from := s.origin(ctx, req.RequestID)
	id, err := s.request(ctx, key, from, func(incarnation string) wire.BackfillState {
		id := s.newID()
		if req.RequestID != "" {
			id = backfillID(incarnation, req.RequestID)
		}
		return newBackfill(incarnation, id, req.BackfillRange, from)
	})
	return schedule.BackfillReply{ID: req.ID, BackfillID: id}, err
}

// request writes the record of a trigger or backfill, wakes the backfiller, and returns its ID. It reads the definition from the
// leader: a record with the incarnation of a schedule that has just been replaced would be dropped, although it was answered.
func (s *Service) request(
	ctx context.Context, key schedule.Key, from request.Origin, newRecord func(incarnation string) wire.BackfillState,
) (string, error) {
	look := !s.rooms.has(key, from.Now)
	asked := requested{}
	if !look {
		asked.record = newRecord(s.rooms.incarnationOf(key))
	}
	if err := s.prepare(ctx, key, &asked, look); err != nil {
		return "", err
	}
	def, record := &asked.definition.Value, asked.record
	guarded := record.Incarnation == def.Incarnation
	if !guarded {
		record = newRecord(def.Incarnation)
	}
	if err := checkTrigger(def, record.Trigger); err != nil {
		return "", err
	}
	taken, half := false, false
	if !look {
		taken, half = s.rooms.take(key, record.ID, from.Now)
	}
	if !taken {
		if err := s.admit(ctx, def, asked.pending, record.ID, look); err != nil {
			return "", err
		}
	}
	// A conflict means a repeat of the request, whose record may be gone already.
	_, err := s.putGuarded(ctx, key, &record, guarded)
	repeated := errors.Is(err, kv.ErrConflict)
	if err != nil && !repeated {
		return "", err
	}
	if err := s.keepOpen(ctx, def); err != nil {
		s.rooms.forget(key)
		return "", err // the guard takes care of what has been stored
	}
	s.rooms.stored(key, record.ID)
	effects := []effect{s.goOn(def, &record, repeated), s.tellAgain(record.Requested(key), repeated)}
	if half {
		effects = append(effects, s.clearRoom(key))
	}
	s.follow(ctx, key, effects...)
	return record.ID, nil
}

// checkTrigger refuses a trigger that the action of the schedule cannot be given.
func checkTrigger(def *wire.Definition, trigger *schedule.Trigger) error {
	if trigger == nil {
		return nil
	}
	_, err := def.Schedule.Action.With(trigger)
	return err
}

// keepOpen makes sure that a generator that has not seen a stored request does not close the schedule for being idle. See
// [wire.Definition.Closing]. If the schedule is gone by now, the request is void.
func (s *Service) keepOpen(ctx context.Context, def *wire.Definition) error {
	spec, err := s.specs.Get(def)
	if err != nil || !spec.MayClose(def, s.now()) {
		return err
	}
	for range request.MaxWrites {
		latest, err := s.newestDefinition(ctx, def.Key())
		if err != nil {
			return err
		}
		if latest.Value.Incarnation != def.Incarnation {
			return schedule.Errorf(schedule.CodeUnavailable, "the schedule was closed at this moment, and created again: try again")
		}
		if !latest.Value.Closing {
			return nil
		}
		latest.Value.Closing = false
		if _, err := kv.Put(ctx, s.store, kv.Definition(def.Key()), &latest.Value, latest.Revision); !errors.Is(err, kv.ErrConflict) {
			return err
		}
	}
	return errTooManyOthers
}

// goOn makes sure that a request with a stored record is carried out. The start of a trigger goes straight to the invoker,
// because somebody waits for it. If that fails, the guard wakes the backfiller, which does it again. A repeat must not take this
// way: it was made at another time than the record says, so it would be another start.
func (s *Service) goOn(def *wire.Definition, record *wire.BackfillState, repeated bool) effect {
	if record.Trigger == nil || repeated {
		return s.wakeBackfill(def.Key(), record.ID, wakeFor(def, wire.ReasonTriggered))
	}
	return s.handOff(record.TriggerHandOff(def), def.Key(), record.Trace)
}

// requested has what a request for starts is prepared with.
type requested struct {
	definition kv.Record[wire.Definition]
	// pending are the IDs of the pending triggers and backfills, if they are needed.
	pending []string
	// record is the record if the schedule is still the one that the last look saw; empty if that is unknown. It is guarded.
	record wire.BackfillState
}

// prepare reads what a request depends on and arms the guard of its record, all concurrently. If the schedule is another one by
// now, that guard has no effect: the backfiller finds no record.
func (s *Service) prepare(ctx context.Context, key schedule.Key, r *requested, look bool) error {
	return sideBySide(
		func() (err error) {
			r.definition, err = s.newestDefinition(ctx, key)
			return err
		},
		func() (err error) {
			if look {
				r.pending, err = s.backfillIDs(ctx, key)
			}
			return err
		},
		func() error {
			if r.record.Incarnation == "" {
				return nil
			}
			return s.armBackfillGuard(ctx, key, &r.record)
		},
	)
}

// putGuarded writes the record of a new backfill or trigger, whose guard may be armed already.
func (s *Service) putGuarded(ctx context.Context, key schedule.Key, record *wire.BackfillState, guarded bool) (uint64, error) {
	if err := s.checkTriggerBytes(key.Namespace, record.Trigger); err != nil {
		return 0, err
	}
	if !guarded {
		if err := s.armBackfillGuard(ctx, key, record); err != nil {
			return 0, err
		}
	}
	return kv.Insert(ctx, s.store, kv.Backfill(key, record.ID), record)
}

// admit refuses a request that would exceed the number of pending ones. A repeat of a pending one is accepted. looked is false if
// others took the room at the last moment, and the pending ones have not been read.
func (s *Service) admit(
	ctx context.Context, def *wire.Definition, pending []string, id string, looked bool,
) (err error) {
	if !looked {
		if pending, err = s.backfillIDs(ctx, def.Key()); err != nil {
			return err
		}
	}
	pending, err = s.withOpen(ctx, def, pending)
	if err != nil {
		return err
	}
	if slices.Contains(pending, id) {
		return nil
	}
	if err := checkPending(len(pending), 1); err != nil {
		return err
	}
	s.rooms.saw(def.Key(), def.Incarnation, len(pending)+1, s.now())
	return nil
}

// withOpen adds the requests of a definition that have no record yet to the IDs of those that have one.
func (s *Service) withOpen(ctx context.Context, def *wire.Definition, pending []string) ([]string, error) {
	if len(def.Requests) == 0 {
		return pending, nil
	}
	generator, err := s.newestGenerator(ctx, def.Key())
	return mergeIDs(pending, openRequests(def, &generator)), err
}

// clearRoom finds out which of those that were accepted without a look are over. It runs together with what follows a write, so
// later requests need not wait for it. If it fails, the next request looks itself.
func (s *Service) clearRoom(key schedule.Key) effect {
	return func(ctx context.Context) error {
		ids := s.rooms.taken(key)
		pending, err := kv.PendingBackfills(ctx, s.store, key, ids)
		if err == nil {
			s.rooms.over(key, slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(pending, id) }))
		} else {
			s.rooms.forget(key)
		}
		return nil
	}
}

// putRequest writes the record of a new backfill or trigger, guarded, and returns its revision.
func (s *Service) putRequest(ctx context.Context, key schedule.Key, record *wire.BackfillState) (uint64, error) {
	return s.putGuarded(ctx, key, record, false)
}

// backfillIDs returns the IDs of the unfinished backfills and triggers of a schedule. None that existed at the time of the call
// is missing, because their number decides whether requests are refused.
func (s *Service) backfillIDs(ctx context.Context, key schedule.Key) ([]string, error) {
	records, err := kv.ReadBackfills(ctx, s.store, key)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(records))
	for i, record := range records {
		ids[i] = kv.BackfillID(record)
	}
	return ids, nil
}
