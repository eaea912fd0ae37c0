package schedules

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// change is a request to change a definition.
type change struct {
	key schedule.Key
	// requestID makes the change idempotent; token is the conflict token. Both may be zero.
	requestID string
	token     uint64
	// needsTimes and needsPending say which facts the edit depends on.
	needsTimes, needsPending bool
	// spec is the new spec, if the change sets one: the edit depends on the calendars that it names.
	spec *schedule.Spec
	// edit decides. It is called again after a conflict.
	edit func(*edit) error
}

// change carries out a change, including its effects, and returns the resulting definition. For a repeat of a request it changes
// nothing and returns the definition as it is.
func (s *Service) change(ctx context.Context, c change) (wire.Definition, error) {
	from := s.origin(ctx, c.requestID)
	var current wire.Definition
	var done *edit // nil for a repeat
	err := s.replace(ctx, c.key, func(record kv.Record[wire.Definition]) (func(context.Context) error, error) {
		current, done = record.Value, nil
		if _, ok := appliedAs(&current, c.requestID); ok {
			return nil, nil
		}
		next, err := s.decide(ctx, &c, current, from)
		if err != nil {
			return nil, err
		}
		done = next
		return func(ctx context.Context) error {
			_, err := kv.Put(ctx, s.store, kv.Definition(c.key), &next.next, record.Revision)
			return err
		}, nil
	})
	switch {
	case err != nil:
		return wire.Definition{}, err
	case done == nil:
		s.afterRepeat(ctx, &current, c.requestID)
		return current, nil
	}
	if len(done.requested) > 0 {
		s.rooms.forget(c.key)
	}
	s.afterChange(ctx, done)
	return done.next, nil
}

// decide makes the edit that a change asks for.
func (s *Service) decide(ctx context.Context, c *change, current wire.Definition, from request.Origin) (*edit, error) {
	if err := request.CheckToken("schedule", current.Version, c.token); err != nil {
		return nil, err
	}
	facts, err := s.facts(ctx, &current, c)
	if err != nil {
		return nil, err
	}
	next := beginEdit(current, from, facts)
	before := current.Schedule
	if err := c.edit(next); err != nil {
		return nil, err
	}
	if err := s.checkBytes(current.Namespace, &before, &next.next.Schedule); err != nil {
		return nil, err
	}
	next.end()
	return next, nil
}

// facts reads what an edit depends on. It reads from the leader where nothing may be missed.
func (s *Service) facts(ctx context.Context, def *wire.Definition, c *change) (f facts, err error) {
	if c.needsTimes {
		if f.times, err = s.times(def); err != nil {
			return f, err
		}
	}
	if c.spec != nil {
		if f.calendars, err = s.Calendars.Of(ctx, def.Namespace, c.spec); err != nil {
			return f, err
		}
	}
	if c.needsPending {
		if f.pending, err = s.backfillIDs(ctx, def.Key()); err != nil {
			return f, err
		}
	}
	if c.needsTimes || len(def.Skips) > 0 || len(def.Requests) > 0 || len(def.Events) > 0 {
		f.generator, err = s.newestGenerator(ctx, def.Key())
	}
	return f, err
}

// times compiles the spec of a definition. A stored spec is valid.
func (s *Service) times(def *wire.Definition) (times, error) {
	spec, err := s.specs.Get(def)
	return times{spec: spec, seed: def.JitterSeed()}, err
}

// newestGenerator reads the last written record of the generator; the zero value if there is none.
func (s *Service) newestGenerator(ctx context.Context, key schedule.Key) (wire.GeneratorState, error) {
	record, err := kv.OrZero(kv.GetLeader(ctx, s.store, kv.Generator(key)))
	return record.Value, err
}

// afterChange wakes the generator, which works out what is due from now on, and the generator wakes the invoker: other policies
// may let a waiting start go.
func (s *Service) afterChange(ctx context.Context, done *edit) {
	key, wake := done.next.Key(), wakeFor(&done.next, done.reason)
	s.follow(ctx, key, s.tellAndWake(key, wake, slices.Concat(done.events, done.requested)...))
}

// afterRepeat wakes the generator once more, in case the first attempt did not. The wake has the version that the request made.
func (s *Service) afterRepeat(ctx context.Context, def *wire.Definition, requestID string) {
	wake := wakeFor(def, wire.ReasonUpdated)
	if version, ok := appliedAs(def, requestID); ok {
		wake.Version = version
	}
	s.follow(ctx, def.Key(), s.wakeGenerator(def.Key(), wake))
}

// wakeFor returns a wake that asks to look at this version of the definition or a later one.
func wakeFor(def *wire.Definition, reason wire.Reason) wire.Wake {
	return wire.Wake{Incarnation: def.Incarnation, Version: def.Version, Reason: reason}
}

// Update replaces a schedule. Its answer warns of surprising times, and of an action that no worker has a handler for.
func (s *Service) Update(
	ctx context.Context, namespace string, req *schedule.UpdateRequest,
) (schedule.Description, error) {
	return s.withTypeWarning(ctx, namespace, &req.Action, func() (schedule.Description, error) {
		return s.updateNow(ctx, namespace, req)
	})
}

// updateNow puts another schedule in place of the existing one, under the same name and with the same history.
func (s *Service) updateNow(
	ctx context.Context, namespace string, req *schedule.UpdateRequest,
) (schedule.Description, error) {
	def, err := s.change(ctx, change{
		key:       schedule.Key{Namespace: namespace, ID: req.ID},
		requestID: req.RequestID, token: req.ConflictToken, spec: &req.Spec,
		edit: func(e *edit) error {
			e.replace(req.Schedule)
			return nil
		},
	})
	if err != nil {
		return schedule.Description{}, err
	}
	return s.answerStored(ctx, &def)
}

// Patch does several things with one write of the definition, so all of them happen or none. That is why triggers and backfills
// go into the definition. The generator makes records of them before it does anything else with this version, even if only the
// guard wakes it.
func (s *Service) Patch(ctx context.Context, namespace string, req *schedule.PatchRequest) (schedule.Description, error) {
	if err := checkTogether(req.Trigger != nil, len(req.Backfills)); err != nil {
		return schedule.Description{}, err
	}
	name := cmp.Or(req.RequestID, s.newID())
	def, err := s.change(ctx, change{
		key:       schedule.Key{Namespace: namespace, ID: req.ID},
		requestID: req.RequestID, token: req.ConflictToken,
		needsTimes:   req.Skip != nil,
		needsPending: req.Trigger != nil || len(req.Backfills) > 0,
		edit:         func(e *edit) error { return e.patch(req, name) },
	})
	if err != nil {
		return schedule.Description{}, err
	}
	return s.description(ctx, &def)
}

// patch makes all changes of a patch. name distinguishes its triggers and backfills from those of other requests.
func (e *edit) patch(req *schedule.PatchRequest, name string) error {
	if req.Pause != nil {
		e.pause(*req.Pause)
	}
	if req.Unpause != nil {
		e.unpause(*req.Unpause)
	}
	if req.Unskip != nil {
		e.unskip(*req.Unskip)
	}
	if req.Skip != nil {
		if err := e.skip(*req.Skip); err != nil {
			return schedule.Prefix("skip", err)
		}
	}
	if req.Trigger == nil && len(req.Backfills) == 0 {
		return nil
	}
	if err := checkTrigger(&e.next, req.Trigger); err != nil {
		return schedule.Prefix("trigger", err)
	}
	return e.request(newRequests(e.next.Incarnation, name, req.Trigger, req.Backfills, e.from))
}

// pause and unpause wake only the generator, which stops or begins to hand over starts. The invoker reads the definition before
// it starts anything, and then drops the automated starts of a paused schedule.

func (s *Service) Pause(ctx context.Context, namespace string, req *schedule.NoteRequest) (schedule.Empty, error) {
	return s.switchPaused(ctx, namespace, req, (*edit).pause)
}

func (s *Service) Unpause(ctx context.Context, namespace string, req *schedule.NoteRequest) (schedule.Empty, error) {
	return s.switchPaused(ctx, namespace, req, (*edit).unpause)
}

func (s *Service) switchPaused(
	ctx context.Context, namespace string, req *schedule.NoteRequest, to func(*edit, schedule.Note),
) (schedule.Empty, error) {
	_, err := s.change(ctx, change{
		key: schedule.Key{Namespace: namespace, ID: req.ID}, requestID: req.RequestID,
		edit: func(e *edit) error {
			to(e, schedule.Note{Note: req.Note})
			return nil
		},
	})
	return schedule.Empty{}, err
}

func (s *Service) Skip(ctx context.Context, namespace string, req *schedule.SkipRequest) (schedule.SkipReply, error) {
	return s.changeSkips(ctx, change{
		key: schedule.Key{Namespace: namespace, ID: req.ID}, requestID: req.RequestID, needsTimes: true,
		edit: func(e *edit) error { return e.skip(req.Skip) },
	})
}

func (s *Service) Unskip(ctx context.Context, namespace string, req *schedule.UnskipRequest) (schedule.SkipReply, error) {
	return s.changeSkips(ctx, change{
		key: schedule.Key{Namespace: namespace, ID: req.ID}, requestID: req.RequestID,
		edit: func(e *edit) error {
			e.unskip(req.Unskip)
			return nil
		},
	})
}

// changeSkips answers with what is left to skip after the change. A time is missing if it came due in the same moment and the
// generator dealt with it before it could see the change.
func (s *Service) changeSkips(ctx context.Context, c change) (schedule.SkipReply, error) {
	def, err := s.change(ctx, c)
	if err != nil {
		return schedule.SkipReply{}, err
	}
	reply := schedule.SkipReply{ID: c.key.ID, Skips: []time.Time{}}
	if len(def.Skips) == 0 {
		return reply, nil
	}
	generator, err := s.newestGenerator(ctx, c.key)
	if err != nil {
		return schedule.SkipReply{}, err
	}
	reply.Skips = append(reply.Skips, skipsToCome(&def, &generator)...)
	return reply, nil
}
