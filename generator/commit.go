package generator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// commit carries out a decision, and returns the revision of the record. The order matters:
//
//  1. It hands over what is due. A repeated hand-off does no harm; a lost one would be a missed action.
//  2. It arms the timer. A process that has replaced the timer of another process fails at step 3, and arms the timer again.
//  3. It writes the record.
func (p *Pool) commit(
	ctx context.Context, a *attempt, d *wire.Definition, decision Decision, revision uint64, sleep bool,
) (uint64, error) {
	if err := p.publish(ctx, a, d, decision); err != nil {
		return 0, err
	}
	sleep = sleep && !decision.WakeAt.IsZero()
	if sleep {
		if err := p.arm(ctx, a, d, decision); err != nil {
			return 0, err
		}
	}
	if !decision.Changed && !sleep {
		return revision, nil
	}
	next, err := p.put(ctx, d, &decision.State, revision)
	if err == nil && decision.HandOff != nil {
		countHandOff(ctx, d.Namespace, decision.HandOff, p.config.Now())
	}
	return next, err
}

// put writes the record over a revision; revision 0 means that there was no record. If the schedule was forgotten meanwhile, the error is
// kv.ErrConflict.
func (p *Pool) put(ctx context.Context, d *wire.Definition, state *wire.GeneratorState, revision uint64) (uint64, error) {
	if revision != 0 {
		return kv.Put(ctx, p.config.Store, kv.Generator(d.Key()), state, revision)
	}
	return kv.PutFirst(ctx, p.config.Store, kv.Generator(d.Key()), state, kv.TraceAge, func(ctx context.Context) error {
		return kv.StillThere(ctx, p.config.Store, d.Key(), d.Incarnation)
	})
}

// publish hands over what is due, and the requests that came with the definition.
func (p *Pool) publish(ctx context.Context, a *attempt, d *wire.Definition, decision Decision) error {
	if err := p.events.Ensure(ctx, p.config.Now(), decision.Events...); err != nil {
		return err
	}
	for i := range decision.Requests {
		if err := p.request(ctx, a, d, &decision.Requests[i]); err != nil {
			return err
		}
	}
	// If the guard of a request fired long before the request was stored, nothing else wakes the backfiller, and the schedule would stay
	// open forever.
	if err := p.wakeBackfiller(ctx, d.Key(), a.pending, &wire.Wake{
		Incarnation: d.Incarnation, Version: d.Version, Reason: wire.ReasonIdle,
	}); err != nil {
		return err
	}
	if decision.Updated {
		// Other policies may let a waiting start begin. Frontends leave this wake to the generator, which sees every version.
		if err := p.wakeInvoker(ctx, d); err != nil {
			return err
		}
	}
	if decision.HandOff == nil {
		return nil
	}
	return p.handOff(ctx, d.Key(), decision.HandOff)
}

// requestGuard is how long after a crash at the worst moment the backfiller hears of a request.
const requestGuard = 10 * time.Second

// errStoodStill asks for another attempt. This process stood still for so long that the guard may have fired before the guarded record was
// written. Since the generator's record was read, the request may also have been carried out and forgotten.
var errStoodStill = fmt.Errorf("%w: generator: stood still before it could make the record of a request", kv.ErrConflict)

// request makes a record of a trigger or backfill that came with a definition, and wakes the backfiller. If the record exists or existed,
// an earlier attempt has made it. The guard comes first: if the schedule is deleted and created again meanwhile, the new schedule does not
// know the requests of the old one, and only the guard leads to the removal of the record.
func (p *Pool) request(ctx context.Context, a *attempt, d *wire.Definition, request *wire.BackfillState) error {
	shard, names := p.config.Store.ShardOf(d.Key()), p.config.Names
	subject, guard := names.Backfill(shard, d.Key(), request.ID), names.BackfillTimer(shard, d.Key(), request.ID)
	wake := &wire.Wake{Incarnation: d.Incarnation, Version: d.Version, Reason: wire.ReasonTriggered}
	armed := p.config.Now()
	guarding := &wire.Wake{
		Incarnation: d.Incarnation, Version: d.Version, Reason: wire.ReasonGuard, GuardAgain: schedule.Duration(requestGuard),
	}
	if err := task.Arm(ctx, p.config.Bus, guard, subject, armed.Add(requestGuard), guarding); err != nil {
		return err
	}
	if now := p.config.Now(); now.Sub(armed) > requestGuard/2 || now.Sub(a.begun) > kv.TraceAge {
		return errStoodStill
	}
	_, err := kv.Insert(ctx, p.config.Store, kv.Backfill(d.Key(), request.ID), request)
	if err != nil && !errors.Is(err, kv.ErrConflict) {
		return err
	}
	return task.PublishAndPurge(telemetry.WithTraceparent(ctx, request.Trace), p.config.Bus, subject, guard, wake)
}

func (p *Pool) wakeInvoker(ctx context.Context, d *wire.Definition) error {
	wake := &wire.Wake{Incarnation: d.Incarnation, Version: d.Version, Reason: wire.ReasonUpdated}
	return task.Publish(ctx, p.config.Bus, p.config.Names.InvokeWake(p.config.Store.ShardOf(d.Key()), d.Key()), wake)
}

func (p *Pool) handOff(ctx context.Context, key schedule.Key, e *wire.Enqueue) error {
	return task.Publish(ctx, p.config.Bus, p.config.Names.InvokeEnqueue(p.config.Store.ShardOf(key), key, e.Source, e.Span), e)
}

// arm arms the timer of a schedule.
func (p *Pool) arm(ctx context.Context, a *attempt, d *wire.Definition, decision Decision) error {
	at := decision.WakeAt
	if decision.Reason == wire.ReasonDue {
		at = at.Add(-p.config.Lead)
	}
	at = task.NotAtOnce(at, a.fired, p.config.Now(), p.config.Lead/8, p.config.Lead/2)
	a.armed = &wire.Wake{Incarnation: d.Incarnation, Version: d.Version, Reason: decision.Reason}
	return p.armAt(ctx, a, at)
}

func (p *Pool) armAt(ctx context.Context, a *attempt, at time.Time) error {
	shard, names := p.config.Store.ShardOf(a.key), p.config.Names
	return task.Arm(ctx, p.config.Bus, names.DueTimer(shard, a.key), names.Generate(shard, a.key, subjects.WhatDue), at, a.armed)
}

// soon is when a schedule is looked at again whose timer may be armed for a wrong time. It also bounds how long storing that timer may
// take.
const soon = time.Second

// lookAgainSoon arms the timer again after a failed transition that had armed it. Another process may have done the work meanwhile and
// acknowledged the message that both processes had, so the message does not come again. It arms the timer even while this process stops.
func (p *Pool) lookAgainSoon(ctx context.Context, a *attempt) error {
	if a.armed == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), soon)
	defer cancel()
	return p.armAt(ctx, a, p.config.Now().Add(soon))
}
