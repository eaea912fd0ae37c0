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

// attempt is one attempt at a transition.
type attempt struct {
	key   schedule.Key
	wakes []wire.Wake
	// due is the due time that the messages were held for; zero if they were not held.
	due time.Time
	// routine says that the messages report only due times. Then the newest definition is not needed; before a hand-off, it is
	// confirmed.
	routine bool
	// created is the message that reports the creation of the schedule, if it is the only message and brings the definition along.
	created *loop.Message[wire.Wake]
	// again says that there was an attempt before; contested says that another process was faster then.
	again, contested bool
	// asked is when the definition was requested that the decision uses, or earlier. The decision covers nothing that is due later: the
	// answer may have taken long, and the schedule may have been paused meanwhile.
	asked time.Time
	// fired is when the timer of one of the messages fired, by the clock of NATS; zero if no message came from a timer.
	fired time.Time
	// begun is when the attempt began, before it read anything.
	begun time.Time
	// pending are the open triggers and backfills; they are read only if the schedule has nothing else to do.
	pending []kv.Key[wire.BackfillState]
	// known says that the record comes from this process's memory and was not read.
	known bool
	// gone says that the held message is no longer stored; shared says that another process may have it, too.
	gone, shared bool
	// failure is the error of the attempt before.
	failure error
	// letsGo says that the held message is left to other processes.
	letsGo bool
	// armed is the wake that the timer was armed with, if it was armed. Until the record is written too, its time may be wrong, and may
	// have replaced the right time of another process.
	armed *wire.Wake
}

// sight is what an attempt has read about a schedule.
type sight struct {
	record     kv.Record[wire.GeneratorState]
	definition kv.Record[wire.Definition]
	// wakes are the wakes of the messages, and one made from the record, since a held message may be older than the record.
	wakes []wire.Wake
}

// errGone says that the schedule no longer exists.
var errGone = errors.New("generator: the schedule is gone")

// transition makes one attempt: it loads, decides and commits. It returns until when to hold the messages, or zero to acknowledge them.
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
		a.letsGo = true // otherwise a timer may have brought the message, and must be armed again
		return time.Time{}, nil
	}
	return p.carryOut(ctx, a, &s, decision, holdUntil)
}

// load reads the record, and a definition at least as new as the record and the messages say. It arms guards again that fired too early.
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

// settle decides, and confirms the input of the decision with the leader if that matters; see confirm and isDelicate.
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

// holdFor returns until when to hold the messages, or zero if a timer is needed instead.
func (p *Pool) holdFor(a *attempt, decision Decision) time.Time {
	// A held message is not enough in three cases. This process has replaced the timer of another one, whose message may be gone too. Or
	// the message is gone. Or another process shares the message, and may acknowledge it after an earlier decision; if nothing changes
	// here, it has decided the same.
	if a.armed != nil || a.gone || a.shared && decision.Changed {
		return time.Time{}
	}
	return p.holdUntil(decision)
}

// carryOut reports the end of an earlier schedule with the same ID if that is still missing. Then it closes this schedule or commits the
// decision. It returns until when to hold the messages.
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
	p.definitions.Keep(a.key, s.definition) // before the invoker needs it
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

// armGuardsAgain arms guards once more that fired before the version or the deletion that they guard was stored. The definition d is the
// zero value if there is none. A guard that names a schedule that no longer exists has nothing to guard.
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

// recordAge is how long after its next due time a record from memory is still trusted.
const recordAge = 2 * time.Second

// record reads the record. It takes the record from memory if the messages report only due times. The memory is too old if its next due
// time has passed: another process looks after the schedule then.
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

// confirm makes sure that a hand-off follows the current definition. The replica that answered may be cut off from the others, and may not
// know yet of a pause or update that was acknowledged long ago. Actions of an old definition must not start, and the actions of the new
// one would be lost, since the time up to now would count as done.
//
// It also confirms before a schedule is left alone: then no record is written that could conflict with the record of a process that knows
// more, and the message may be the only one that wakes the schedule.
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
//   - before a delicate hand-off, see isDelicate;
//   - before carrying out an update with a record from memory, which may be so old that the traces of an earlier attempt are gone.
var errDelicate = fmt.Errorf("%w: generator: at a hand-off that no repeat mends", kv.ErrUnconfirmed)

// isDelicate reports whether a hand-off does harm if its mark is old because a replica lags behind. Usually, such a hand-off only repeats
// actions that the invoker knows. There are three exceptions:
//
//   - An action is late by now. It would count as missed although it was started.
//   - A new version of the definition has another jitter. The action would be started twice.
//   - There is no record. The hand-off covers everything since the creation, including actions of an older version that are still on their
//     way to the invoker.
func isDelicate(d *Decision, first bool) bool {
	e := d.HandOff
	return e != nil && (first || d.Updated || e.Missed+e.Superseded+e.Dropped > 0)
}

// definition reads the definition. If there is no record it asks the leader, since a lagging replica would bring back the record and the
// timer of a deleted schedule. If the messages report only due times, a definition from memory is enough: it may be out of date, but a
// hand-off is confirmed first.
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

// decide gathers the input of the decision, and makes it. It reads the invoker's record only for schedules with limited actions or without
// further times.
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
	// Ask the leader, since the schedule may be closed because of the answer. The invoker has already taken over every backfill that is
	// missing here.
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

// readInvoker fills in what the invoker knows: the remaining actions, the newest action, and whether anything is in progress.
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

// holdUntil returns until when to hold the message if the next due time is near enough, or zero if a timer is needed.
func (p *Pool) holdUntil(decision Decision) time.Time {
	if decision.Reason == wire.ReasonDue && decision.WakeAt.Sub(p.config.Now()) <= p.config.Lead {
		return decision.WakeAt
	}
	return time.Time{}
}
