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

// commit hands over what is due, sees that the schedule is looked at again, and writes the record, in this order: a
// repeated hand-off is harmless, a lost one is an action missed. The timer comes before the record, and not without it: a process
// that has replaced the timer of another one is refused the record, and arms anew. It returns the revision of the record.
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

// put writes the record over the one of a revision; 0 means that there was none. A schedule that has been forgotten meanwhile is
// a conflict.
func (p *Pool) put(ctx context.Context, d *wire.Definition, state *wire.GeneratorState, revision uint64) (uint64, error) {
	if revision != 0 {
		return kv.Put(ctx, p.config.Store, kv.Generator(d.Key()), state, revision)
	}
	return kv.PutFirst(ctx, p.config.Store, kv.Generator(d.Key()), state, kv.TraceAge, func(ctx context.Context) error {
		return kv.StillThere(ctx, p.config.Store, d.Key(), d.Incarnation)
	})
}

// publish hands over what is due, and what the definition has brought.
func (p *Pool) publish(ctx context.Context, a *attempt, d *wire.Definition, decision Decision) error {
	if err := p.events.Ensure(ctx, p.config.Now(), decision.Events...); err != nil {
		return err
	}
	for i := range decision.Requests {
		if err := p.request(ctx, a, d, &decision.Requests[i]); err != nil {
			return err
		}
	}
	// One whose guard had fired long before it was stored nobody would look at again, and the schedule would stay open for ever.
	if err := p.wakeBackfiller(ctx, d.Key(), a.pending, &wire.Wake{
		Incarnation: d.Incarnation, Version: d.Version, Reason: wire.ReasonIdle,
	}); err != nil {
		return err
	}
	if decision.Updated {
		// By other policies a start that waits may go. Frontends leave that to this pool, which sees every version.
		if err := p.wakeInvoker(ctx, d); err != nil {
			return err
		}
	}
	if decision.HandOff == nil {
		return nil
	}
	return p.handOff(ctx, d.Key(), decision.HandOff)
}

// requestGuard is how long after a crash at the worst moment the backfiller learns of a request.
const requestGuard = 10 * time.Second

// errStoodStill asks for another attempt: a guard may have fired before what it is to guard was written, and the request may have
// been carried out and forgotten since the generator's record was read.
var errStoodStill = fmt.Errorf("%w: generator: stood still before it could make the record of a request", kv.ErrConflict)

// request makes a record of a trigger or backfill that came with a definition, and wakes the backfiller. A record that is
// there, or was, is that of an earlier attempt. The guard comes first: a schedule that is deleted and created again
// meanwhile does not know of the requests of the one before, and nobody would ever remove the record.
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

// soon is when a schedule is looked at again whose timer was armed for a time that may be wrong, and how long that may take to store.
const soon = time.Second

// lookAgainSoon arms the timer anew after a transition has failed that had armed it: another process may have done what this one was
// woken for, and acknowledged the message that both had, so that it does not come again. It does so too when the process is to stop.
func (p *Pool) lookAgainSoon(ctx context.Context, a *attempt) error {
	if a.armed == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), soon)
	defer cancel()
	return p.armAt(ctx, a, p.config.Now().Add(soon))
}
