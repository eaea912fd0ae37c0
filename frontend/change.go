package frontend

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
	// requestID makes it idempotent, token is the conflict token. Both may be zero.
	requestID string
	token     uint64
	// needsTimes and needsPending say which facts the edit depends on.
	needsTimes, needsPending bool
	// spec is the one to be put in place, if one is: the edit depends on the calendars that it names.
	spec *schedule.Spec
	// edit decides. It is called again after a conflict.
	edit func(*edit) error
}

// change carries out a change, with what follows it, and returns the definition that it leads to. For a repeat of a request
// that is the definition as it is: nothing is changed.
func (a *api) change(ctx context.Context, c change) (wire.Definition, error) {
	from := a.origin(ctx, c.requestID)
	var current wire.Definition
	var done *edit // nil for a repeat
	err := a.replace(ctx, c.key, func(record kv.Record[wire.Definition]) (func(context.Context) error, error) {
		current, done = record.Value, nil
		if _, ok := appliedAs(&current, c.requestID); ok {
			return nil, nil
		}
		next, err := a.decide(ctx, &c, current, from)
		if err != nil {
			return nil, err
		}
		done = next
		return func(ctx context.Context) error {
			_, err := kv.Put(ctx, a.store, kv.Definition(c.key), &next.next, record.Revision)
			return err
		}, nil
	})
	switch {
	case err != nil:
		return wire.Definition{}, err
	case done == nil:
		a.afterRepeat(ctx, &current, c.requestID)
		return current, nil
	}
	if len(done.requested) > 0 {
		a.rooms.forget(c.key)
	}
	a.afterChange(ctx, done)
	return done.next, nil
}

// decide makes the edit of a definition that a change asks for.
func (a *api) decide(ctx context.Context, c *change, current wire.Definition, from request.Origin) (*edit, error) {
	if err := request.CheckToken("schedule", current.Version, c.token); err != nil {
		return nil, err
	}
	facts, err := a.facts(ctx, &current, c)
	if err != nil {
		return nil, err
	}
	next := beginEdit(current, from, facts)
	before := current.Schedule
	if err := c.edit(next); err != nil {
		return nil, err
	}
	if err := a.checkBytes(current.Namespace, &before, &next.next.Schedule); err != nil {
		return nil, err
	}
	next.end()
	return next, nil
}

// facts reads what an edit depends on, from the leader where it matters that nothing is missed.
func (a *api) facts(ctx context.Context, def *wire.Definition, c *change) (f facts, err error) {
	if c.needsTimes {
		if f.times, err = a.times(def); err != nil {
			return f, err
		}
	}
	if c.spec != nil {
		if f.calendars, err = a.calendars.Of(ctx, def.Namespace, c.spec); err != nil {
			return f, err
		}
	}
	if c.needsPending {
		if f.pending, err = a.backfillIDs(ctx, def.Key()); err != nil {
			return f, err
		}
	}
	if c.needsTimes || len(def.Skips) > 0 || len(def.Requests) > 0 || len(def.Events) > 0 {
		f.generator, err = a.newestGenerator(ctx, def.Key())
	}
	return f, err
}

// times compiles the spec of a definition, which is valid since it is stored.
func (a *api) times(def *wire.Definition) (times, error) {
	spec, err := a.specs.Get(def)
	return times{spec: spec, seed: def.JitterSeed()}, err
}

// newestGenerator reads the generator's record as it was last written; the zero value if there is none.
func (a *api) newestGenerator(ctx context.Context, key schedule.Key) (wire.GeneratorState, error) {
	record, err := kv.OrZero(kv.GetLeader(ctx, a.store, kv.Generator(key)))
	return record.Value, err
}

// afterChange wakes the generator, which works out what is due from now on, and wakes the invoker: by other policies a start
// that waits may go.
func (a *api) afterChange(ctx context.Context, done *edit) {
	key, wake := done.next.Key(), wakeFor(&done.next, done.reason)
	a.follow(ctx, key, a.tellAndWake(key, wake, slices.Concat(done.events, done.requested)...))
}

// afterRepeat wakes the generator once more, in case that was not done before. The wake is that of the version which the
// request has made.
func (a *api) afterRepeat(ctx context.Context, def *wire.Definition, requestID string) {
	wake := wakeFor(def, wire.ReasonUpdated)
	if version, ok := appliedAs(def, requestID); ok {
		wake.Version = version
	}
	a.follow(ctx, def.Key(), a.wakeGenerator(def.Key(), wake))
}

// wakeFor says what is to be looked at: this version of the definition or a later one.
func wakeFor(def *wire.Definition, reason wire.Reason) wire.Wake {
	return wire.Wake{Incarnation: def.Incarnation, Version: def.Version, Reason: reason}
}

// update replaces a schedule, and warns of times that may surprise and of an action that no worker has a handler for.
func (a *api) update(
	ctx context.Context, namespace string, req *schedule.UpdateRequest,
) (schedule.Description, error) {
	return a.withTypeWarning(ctx, namespace, &req.Action, func() (schedule.Description, error) {
		return a.updateNow(ctx, namespace, req)
	})
}

// updateNow puts another schedule in the place of the one there is, under the same name and with the same history.
func (a *api) updateNow(
	ctx context.Context, namespace string, req *schedule.UpdateRequest,
) (schedule.Description, error) {
	def, err := a.change(ctx, change{
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
	return a.answerStored(ctx, &def)
}

// patch does several things with one write of the definition, so that all of them are done or none. Triggers and backfills
// go into the definition for that; the generator makes records of them before it does anything else with this version, also
// when only the guard is left to wake it.
func (a *api) patch(ctx context.Context, namespace string, req *schedule.PatchRequest) (schedule.Description, error) {
	if err := checkTogether(req.Trigger != nil, len(req.Backfills)); err != nil {
		return schedule.Description{}, err
	}
	name := cmp.Or(req.RequestID, a.newID())
	def, err := a.change(ctx, change{
		key:       schedule.Key{Namespace: namespace, ID: req.ID},
		requestID: req.RequestID, token: req.ConflictToken,
		needsTimes:   req.Skip != nil,
		needsPending: req.Trigger != nil || len(req.Backfills) > 0,
		edit:         func(e *edit) error { return e.patch(req, name) },
	})
	if err != nil {
		return schedule.Description{}, err
	}
	return a.description(ctx, &def)
}

// patch makes all changes of a patch; name tells its triggers and backfills from those of other requests.
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
	return e.request(newRequests(e.next.Incarnation, name, req.Trigger, req.Backfills, e.from))
}

// pause and unpause wake the generator alone: it stops or begins to hand over starts. The invoker reads the definition
// before it starts anything, and drops automated starts of a paused schedule then.

func (a *api) pause(ctx context.Context, namespace string, req *schedule.NoteRequest) (schedule.Empty, error) {
	return a.switchPaused(ctx, namespace, req, (*edit).pause)
}

func (a *api) unpause(ctx context.Context, namespace string, req *schedule.NoteRequest) (schedule.Empty, error) {
	return a.switchPaused(ctx, namespace, req, (*edit).unpause)
}

func (a *api) switchPaused(
	ctx context.Context, namespace string, req *schedule.NoteRequest, to func(*edit, schedule.Note),
) (schedule.Empty, error) {
	_, err := a.change(ctx, change{
		key: schedule.Key{Namespace: namespace, ID: req.ID}, requestID: req.RequestID,
		edit: func(e *edit) error {
			to(e, schedule.Note{Note: req.Note})
			return nil
		},
	})
	return schedule.Empty{}, err
}

func (a *api) skip(ctx context.Context, namespace string, req *schedule.SkipRequest) (schedule.SkipReply, error) {
	return a.changeSkips(ctx, change{
		key: schedule.Key{Namespace: namespace, ID: req.ID}, requestID: req.RequestID, needsTimes: true,
		edit: func(e *edit) error { return e.skip(req.Skip) },
	})
}

func (a *api) unskip(ctx context.Context, namespace string, req *schedule.UnskipRequest) (schedule.SkipReply, error) {
	return a.changeSkips(ctx, change{
		key: schedule.Key{Namespace: namespace, ID: req.ID}, requestID: req.RequestID,
		edit: func(e *edit) error {
			e.unskip(req.Unskip)
			return nil
		},
	})
}

// changeSkips answers with what is left to skip once the change is made. A time that has come due in the same moment, and
// that the generator has dealt with before it could see the change, is not among it.
func (a *api) changeSkips(ctx context.Context, c change) (schedule.SkipReply, error) {
	def, err := a.change(ctx, c)
	if err != nil {
		return schedule.SkipReply{}, err
	}
	reply := schedule.SkipReply{ID: c.key.ID, Skips: []time.Time{}}
	if len(def.Skips) == 0 {
		return reply, nil
	}
	generator, err := a.newestGenerator(ctx, c.key)
	if err != nil {
		return schedule.SkipReply{}, err
	}
	reply.Skips = append(reply.Skips, skipsToCome(&def, &generator)...)
	return reply, nil
}
