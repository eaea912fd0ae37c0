package generator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// attempt is one of a transition.
type attempt struct {
	key   schedule.Key
	wakes []wire.Wake
	// due is what the messages have been held for, zero if they were not.
	due time.Time
	// routine says that nothing has come but due times. What is done then does not need to be done by the newest definition
	// or, where something is handed over, is confirmed.
	routine bool
	// created is the message that the schedule has been created, if nothing else has come and it brings the definition.
	created *loop.Message[wire.Wake]
	// again says that there was an attempt before, contested that another process has come first.
	again, contested bool
	// asked is when the definition was asked for that the decision goes by, or before. What is due later is not decided by it: the
	// answer may have been on its way for long, and the schedule be paused by then.
	asked time.Time
	// fired is when the timer fired that has brought one of the messages, by the clock of NATS; zero if none did.
	fired time.Time
	// begun is when the attempt began: before it read anything.
	begun time.Time
	// pending are the triggers and backfills of a schedule that has nothing else to do.
	pending []kv.Key[wire.BackfillState]
	// known says that the record is as this process has known it, and was not read.
	known bool
	// gone says that the message which has been held is not stored any more, shared that another process may have it as well.
	gone, shared bool
	// failure is that of the attempt before.
	failure error
	// letsGo says that the message which has been held is to be left to others.
	letsGo bool
	// armed is what the timer was armed with, if it was. Until the record is written too, that may be the wrong time, in the place
	// of the right one of another process.
	armed *wire.Wake
}

// sight is what an attempt has read of a schedule.
type sight struct {
	record     kv.Record[wire.GeneratorState]
	definition kv.Record[wire.Definition]
	// wakes are those of the messages, and one that says what the record does: a message that is held may be older than what was last
	// done for the schedule.
	wakes []wire.Wake
}

// errGone says that the schedule is not there any more.
var errGone = errors.New("generator: the schedule is gone")

// transition makes one attempt: it loads, decides, and commits. It returns until when to hold the messages, if that is needed.
func (p *Pool) transition(ctx context.Context, a *attempt) (holdUntil time.Time, err error) {
	a.begun = p.config.Now()
	a.asked = a.begun
	if a.created != nil && !a.again {
		if holdUntil, done, err := p.begin(ctx, a); done || err != nil {
			return holdUntil, err
		}
	}
	s, err := p.load(ctx, a)
	var decision Decision
	if err == nil {
		decision, err = p.settle(ctx, a, &s)
	}
	switch {
	case errors.Is(err, errGone):
		p.forgetRecent(a.key)
		return time.Time{}, p.forget(ctx, a.key, s.wakes)
	case err != nil:
		return time.Time{}, err
	}
	holdUntil = p.holdFor(a, decision)
	if isDone(a.due, &s.record.Value, &decision) && !holdUntil.IsZero() {
		a.letsGo = true // else there was a timer, which may be the very one that has brought the message: it is armed anew
		return time.Time{}, nil
	}
	return p.carryOut(ctx, a, &s, decision, holdUntil)
}

// load reads the record, and then the definition as the record and the messages say that it is, or newer. It arms guards again.
func (p *Pool) load(ctx context.Context, a *attempt) (s sight, err error) {
	if s.record, err = p.record(ctx, a); err != nil {
		return s, err
	}
	s.wakes = append(a.wakes, wire.Wake{Incarnation: s.record.Value.Incarnation, Version: s.record.Value.Version})
	s.definition, err = p.definition(ctx, a, s.wakes, s.record.Revision == 0)
	gone := errors.Is(err, kv.ErrNotFound)
	if err != nil && !gone {
		return s, err
	}
	if err := p.armGuardsAgain(ctx, a.key, a.wakes, &s.definition.Value); err != nil {
		return s, err
	}
	if gone {
		return s, errGone
	}
	return s, nil
}

// settle decides, and makes sure of what the decision goes by as far as it matters: see confirm and isDelicate.
func (p *Pool) settle(ctx context.Context, a *attempt, s *sight) (Decision, error) {
	first := s.record.Revision == 0
	decision, err := p.decide(ctx, a, &s.definition.Value, s.record.Value)
	if err == nil && !first && (decision.HandOff != nil || decision.WakeAt.IsZero()) {
		s.definition, decision, err = p.confirm(ctx, a, s.definition, decision, s.record.Value)
		if errors.Is(err, kv.ErrNotFound) {
			return Decision{}, errGone
		}
	}
	if err != nil {
		return Decision{}, err
	}
	if !a.again && (isDelicate(&decision, first) || a.known && decision.Updated) {
		return Decision{}, errDelicate
	}
	return decision, nil
}

// holdFor is until when to hold the messages, if a timer is not to be armed instead.
func (p *Pool) holdFor(a *attempt, decision Decision) time.Time {
	// The timer of another process is gone, and perhaps the message as well; or the message is for sure; or the other may acknowledge
	// it when it is done with what it has decided before. Where nothing changes, it has decided the same.
	if a.armed != nil || a.gone || a.shared && decision.Changed {
		return time.Time{}
	}
	return p.holdUntil(decision)
}

// carryOut tells what has become of an earlier schedule of the ID, and closes this one or commits what has been decided. It returns until
// when to hold the messages.
func (p *Pool) carryOut(ctx context.Context, a *attempt, s *sight, decision Decision, holdUntil time.Time) (time.Time, error) {
	if before := s.record.Value.Incarnation; before != "" && before != s.definition.Value.Incarnation {
		if err := p.publishEnding(ctx, a.key, before, a.wakes); err != nil {
			return time.Time{}, err
		}
	}
	if decision.Close {
		p.forgetRecent(a.key)
		return time.Time{}, p.close(ctx, s.definition)
	}
	if !holdUntil.IsZero() {
		p.held.note(a.key, holdUntil)
		if a.contested {
			holdUntil = holdUntil.Add(yieldTime)
		}
	}
	p.definitions.Keep(a.key, s.definition) // before the invoker asks for it
	revision, err := p.commit(ctx, a, &s.definition.Value, decision, s.record.Revision, holdUntil.IsZero())
	if err != nil {
		return time.Time{}, err
	}
	if revision != s.record.Revision {
		s.record = kv.Record[wire.GeneratorState]{Value: decision.State, Revision: revision}
	}
	p.records.Keep(a.key, s.record)
	return holdUntil, nil
}

// armGuardsAgain arms the guards once more that have fired before what they guard was there: the version of a definition, or its
// deletion. d is the zero value if there is none. A guard that names a schedule which is not there any more has nothing to guard.
func (p *Pool) armGuardsAgain(ctx context.Context, key schedule.Key, wakes []wire.Wake, d *wire.Definition) error {
	shard, names := p.config.Store.ShardOf(key), p.config.Names
	for _, wake := range wakes {
		if wake.Version <= d.Version || wake.Incarnation != "" && wake.Incarnation != d.Incarnation {
			continue
		}
		timer, target := names.GuardTimer(shard, key, wake.Version), names.GenerateGuard(shard, key, wake.Version)
		if err := task.ArmAgain(ctx, p.config.Bus, timer, target, p.config.Now(), wake); err != nil {
			return err
		}
	}
	return nil
}

// recordAge is how long after the next due time that it gives a record may still be as it was last known here.
const recordAge = 2 * time.Second

// record reads the record, unless it is known and nothing else than a due time has come. What is known is old where its next
// time has passed: another process is looking after the schedule then.
func (p *Pool) record(ctx context.Context, a *attempt) (kv.Record[wire.GeneratorState], error) {
	known, ok := p.records.Get(a.key)
	a.known = ok && a.routine && !a.again && p.config.Now().Before(known.Value.Next.Add(recordAge))
	if a.known {
		return known, nil
	}
	return kv.Load(ctx, p.config.Store, kv.Generator(a.key), a.again)
}

func (p *Pool) forgetRecent(key schedule.Key) {
	p.records.Drop(key)
	p.definitions.Drop(key)
}

// confirm makes sure that something is handed over by the definition as it is: the replica that was asked may be cut off from
// the others for a while, and not know yet of a pause or an update that was acknowledged long ago. What an old definition
// gives must not start any more; and the time up to now would count as done, so that what the new one gives would be lost. The
// same before a schedule is left alone: no record is written then that would conflict with that of whoever knows more, and the
// message may be all that wakes it.
func (p *Pool) confirm(
	ctx context.Context, a *attempt, definition kv.Record[wire.Definition], decision Decision, state wire.GeneratorState,
) (kv.Record[wire.Definition], Decision, error) {
	asked := p.config.Now()
	latest, err := kv.RefreshLeader(ctx, p.config.Store, kv.Definition(a.key), definition)
	if err != nil || latest.Revision == definition.Revision {
		return definition, decision, err
	}
	a.asked = asked
	decision, err = p.decide(ctx, a, &latest.Value, state)
	return latest, decision, err
}

// errDelicate asks the leader in two cases:
//
//   - before a hand-off that is delicate;
//   - before what an update brings, where this process has the record from memory: that may be so old that no trace of the first time
//     is left.
var errDelicate = fmt.Errorf("%w: generator: at a hand-off that no repeat mends", kv.ErrUnconfirmed)

// isDelicate reports whether a hand-off does harm if it is made by an old mark, as a replica shows it that lags behind. What
// has been handed over since is as a rule the same again, and known. But some of it may be late by now, and be counted as
// missed although it has been started; and by a new version of the definition it may have another jitter, and be started
// twice. Where there is no record, the hand-off covers all since the creation, also what an older version has given, and is
// still on its way to the invoker.
func isDelicate(d *Decision, first bool) bool {
	e := d.HandOff
	return e != nil && (first || d.Updated || e.Missed+e.Superseded+e.Dropped > 0)
}

// definition reads the definition, from the leader if there is no record: of a schedule that has been deleted, a lagging
// replica would bring the record and the timer back. Where nothing else than a due time has come, one that is known will do:
// it may be long out of date, but nothing is handed over by it.
func (p *Pool) definition(
	ctx context.Context, a *attempt, wakes []wire.Wake, fresh bool,
) (kv.Record[wire.Definition], error) {
	if fresh {
		return kv.GetLeader(ctx, p.config.Store, kv.Definition(a.key))
	}
	known, ok := p.definitions.Get(a.key)
	if ok && a.routine && !a.again && !kv.Behind(&known.Value, wakes...) {
		return known, nil
	}
	return kv.DefinitionFor(ctx, p.config.Store, a.key, wakes...)
}

// decide gathers what the decision needs. The invoker's record is read only for schedules whose actions are limited or
// that have none left.
func (p *Pool) decide(
	ctx context.Context, a *attempt, d *wire.Definition, state wire.GeneratorState,
) (Decision, error) {
	spec, err := p.specs.Get(d)
	if err != nil {
		return Decision{}, err
	}
	namespace, _ := p.config.Namespaces.Get(d.Namespace)
	in := Input{
		Definition: d, Spec: spec, Zone: p.specs.Zone(d), State: state, Told: toldBy(d, a.wakes),
		IdleTime: max(p.config.IdleTime, 0), Now: a.asked, Freeze: namespace.Freeze,
	}
	if d.Schedule.State.LimitedActions {
		if err := p.readInvoker(ctx, &in, kv.Get); err != nil {
			return Decision{}, err
		}
	}
	a.pending = nil
	decision := Decide(in)
	if decision.Reason != wire.ReasonIdle {
		return decision, nil
	}
	// From the leader, since a schedule may be closed on the strength of it. What is not among the backfills any more the invoker has
	// taken over before.
	a.pending, err = kv.Backfills(ctx, p.config.Store, d.Key())
	if err != nil {
		return Decision{}, err
	}
	if err := p.readInvoker(ctx, &in, kv.GetLeader); err != nil {
		return Decision{}, err
	}
	in.Busy = in.Busy || len(a.pending) > 0
	return Decide(in), nil
}

type getInvoker func(context.Context, *kv.Store, kv.Key[wire.InvokerState]) (kv.Record[wire.InvokerState], error)

// readInvoker fills in what the invoker knows: remaining actions, the newest one, whether anything is going on.
func (p *Pool) readInvoker(ctx context.Context, in *Input, get getInvoker) error {
	record, err := kv.OrZero(get(ctx, p.config.Store, kv.Invoker(in.Definition.Key())))
	if err != nil {
		return err
	}
	invoker := &record.Value
	in.Remaining = invoker.RemainingActions(in.Definition)
	if invoker.Incarnation != in.Definition.Incarnation {
		return nil
	}
	for i := range invoker.Starts {
		in.Busy = in.Busy || invoker.Starts[i].Phase != schedule.PhaseCompleted
	}
	in.LastAction = invoker.LastAction()
	progress := invoker.Sources[schedule.SourceAuto]
	in.Taken = progress.TakenFrom(in.Definition.CreateTime)
	return nil
}

// holdUntil is until when to hold the message, if the next due time is that soon; else a timer does it.
func (p *Pool) holdUntil(decision Decision) time.Time {
	if decision.Reason == wire.ReasonDue && decision.WakeAt.Sub(p.config.Now()) <= p.config.Lead {
		return decision.WakeAt
	}
	return time.Time{}
}
