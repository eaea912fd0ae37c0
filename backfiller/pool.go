package backfiller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/cache"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Pool is one process's share of the backfiller. Make it with New, run it once.
type Pool struct {
	config pool.Config
	specs  *cache.Specs
	events *events.Publisher
}

// New returns a pool that is not running yet.
func New(config pool.Config) (*Pool, error) {
	config, err := config.For(subjects.PoolBackfiller)
	if err != nil {
		return nil, err
	}
	return &Pool{
		config: config, specs: cache.NewSpecs(cache.DefaultSize),
		events: events.NewPublisher(config.Bus, config.Names, config.Namespaces),
	}, nil
}

// Run works until ctx ends, then gives its messages back and returns nil.
func (p *Pool) Run(ctx context.Context) error { return pool.Run(ctx, p.config, p) }

// Decode implements loop.Handler.
func (p *Pool) Decode(_ subjects.Task, msg jetstream.Msg) (wire.Wake, error) {
	return pool.DecodeWake(msg)
}

// Handle implements loop.Handler: it makes one step of each request that the messages name.
func (p *Pool) Handle(ctx context.Context, key schedule.Key, group []loop.Message[wire.Wake]) loop.Verdict {
	var ids []string
	again := false
	wakes := make([]wire.Wake, len(group))
	for i := range group {
		again = again || group[i].Deliveries > 1
		ids = append(ids, group[i].Task.What)
		wakes[i] = group[i].Body
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		guard := guardOf(id, group)
		err := kv.RetryConflicts(func(bool) error { return p.step(ctx, key, id, wakes, guard, again) })
		if err != nil {
			return loop.Retry(err)
		}
	}
	return loop.Done()
}

// guardOf returns the message of a group that is the guard of a request and must be armed again if the request has no record; else zero.
func guardOf(id string, group []loop.Message[wire.Wake]) wire.Wake {
	for i := range group {
		if group[i].Task.What == id && group[i].Body.GuardAgain > 0 {
			return group[i].Body
		}
	}
	return wire.Wake{}
}

// step makes one attempt at the next step of one request. again says that another process may have died in the middle of it.
func (p *Pool) step(
	ctx context.Context, key schedule.Key, id string, wakes []wire.Wake, guard wire.Wake, again bool,
) error {
	r := p.read(ctx, key, id, wakes)
	record, err := r.record, r.recordErr
	if errors.Is(err, kv.ErrNotFound) {
		if guard.GuardAgain > 0 {
			// Then look again: a record that was written meanwhile has a timer of its own.
			if err := p.armGuardAgain(ctx, key, id, guard); err != nil {
				return err
			}
			return p.step(ctx, key, id, wakes, wire.Wake{}, again)
		}
		// Leave timers alone: one may be the guard of a record that is about to be written. The timer of a request that is over fires once.
		return p.tellFinished(ctx, key, "", again)
	}
	if err != nil {
		return err
	}
	definition, err := r.definition, r.definitionErr
	if errors.Is(err, kv.ErrNotFound) || err == nil && definition.Value.Incarnation != record.Value.Incarnation {
		// The schedule of the request is gone.
		err := p.finish(ctx, key, id, record.Revision, true)
		if err == nil {
			countGone(ctx, key.Namespace, &record.Value)
		}
		return err
	}
	if err != nil {
		return err
	}
	if r.invokerErr != nil {
		return r.invokerErr
	}
	in, err := p.input(&definition.Value, record.Value, &r.invoker.Value)
	if err != nil {
		return err
	}
	if in.Noted, err = p.noted(ctx, &definition.Value, &record.Value); err != nil {
		return err
	}
	return p.carryOut(ctx, &definition.Value, Decide(in), record.Revision)
}

// reading holds the records that a step depends on. Not every step needs all of them, so each has an error of its own.
type reading struct {
	record        kv.Record[wire.BackfillState]
	recordErr     error
	definition    kv.Record[wire.Definition]
	definitionErr error
	invoker       kv.Record[wire.InvokerState]
	invokerErr    error
}

// read reads all that a step may depend on, in parallel, because somebody waits for a trigger.
func (p *Pool) read(ctx context.Context, key schedule.Key, id string, wakes []wire.Wake) *reading {
	var (
		r    reading
		side sync.WaitGroup
	)
	side.Go(func() {
		r.definition, r.definitionErr = kv.DefinitionFor(ctx, p.config.Store, key, wakes...)
	})
	side.Go(func() {
		r.invoker, r.invokerErr = kv.OrZero(kv.Get(ctx, p.config.Store, kv.Invoker(key)))
	})
	// The leader, because the frontend has written the record a moment ago and a replica may not have it yet.
	r.record, r.recordErr = kv.GetLeader(ctx, p.config.Store, kv.Backfill(key, id))
	side.Wait()
	return &r
}

// carryOut executes a decision: first the messages to others, then the record, then the timer.
func (p *Pool) carryOut(ctx context.Context, d *wire.Definition, decision Decision, revision uint64) error {
	key, id := d.Key(), decision.State.ID
	if decision.HandOff != nil {
		if err := p.handOff(ctx, key, decision.HandOff, decision.State.Trace); err != nil {
			return err
		}
	}
	// A process may have published the end of the request and died then.
	if err := p.events.EnsureSince(ctx, p.config.Now(), decision.State.RequestTime, decision.Events...); err != nil {
		return err
	}
	if decision.Finished {
		err := p.finish(ctx, key, id, revision, decision.WakeGenerator)
		if err == nil {
			countFinished(ctx, key.Namespace, &decision)
		}
		return err
	}
	if decision.Changed {
		if _, err := kv.Put(ctx, p.config.Store, kv.Backfill(key, id), &decision.State, revision); err != nil {
			return err
		}
		countHandOff(ctx, key.Namespace, &decision)
	}
	if decision.WakeInvoker {
		wake := &wire.Wake{Incarnation: d.Incarnation, Version: d.Version, Reason: wire.ReasonCanceled}
		if err := task.Publish(ctx, p.config.Bus, p.config.Names.InvokeWake(p.config.Store.ShardOf(key), key), wake); err != nil {
			return err
		}
	}
	return p.arm(ctx, d, id, decision.WakeAt)
}

func (p *Pool) input(d *wire.Definition, state wire.BackfillState, invoker *wire.InvokerState) (Input, error) {
	spec, err := p.specs.Get(d)
	if err != nil {
		return Input{}, err
	}
	in := Input{Definition: d, Spec: spec, State: state, Now: p.config.Now()}
	if invoker.Incarnation == d.Incarnation {
		in.Invoker = *invoker
	}
	return in, nil
}

// noted returns the version of the definition up to which the generator has noted that it made the records of the requests in it. It reads
// nothing for a request that did not come with a definition. A replica that lags behind returns an older version; then the request is
// looked at again.
func (p *Pool) noted(ctx context.Context, d *wire.Definition, request *wire.BackfillState) (uint64, error) {
	if request.Version == 0 {
		return 0, nil
	}
	generator, err := kv.OrZero(kv.Get(ctx, p.config.Store, kv.Generator(d.Key())))
	if err != nil || generator.Value.Incarnation != d.Incarnation {
		return 0, err
	}
	return generator.Value.Version, nil
}

// handOff sends starts to the invoker, in the trace of the request that asked for them.
func (p *Pool) handOff(ctx context.Context, key schedule.Key, e *wire.Enqueue, trace string) error {
	subject := p.config.Names.InvokeEnqueue(p.config.Store.ShardOf(key), key, e.Source, e.Span)
	return task.Publish(telemetry.WithTraceparent(ctx, trace), p.config.Bus, subject, e)
}

// finish removes a request that is over, and tells the invoker and, if asked to, the generator.
func (p *Pool) finish(ctx context.Context, key schedule.Key, id string, revision uint64, wakeGenerator bool) error {
	if err := kv.Delete(ctx, p.config.Store, kv.Backfill(key, id), revision); err != nil {
		return err
	}
	return p.tellFinished(ctx, key, p.config.Names.BackfillTimer(p.config.Store.ShardOf(key), key, id), wakeGenerator)
}

// tellFinished sends these messages. It also removes a timer, unless the name is empty, in the step that stores the first message.
func (p *Pool) tellFinished(ctx context.Context, key schedule.Key, timer string, wakeGenerator bool) error {
	wake := &wire.Wake{Reason: wire.ReasonFinished}
	shard, names := p.config.Store.ShardOf(key), p.config.Names
	err := task.PublishAndPurge(ctx, p.config.Bus, names.InvokeWake(shard, key), timer, wake)
	if err != nil || !wakeGenerator {
		return err
	}
	return task.Publish(ctx, p.config.Bus, names.Generate(shard, key, subjects.WhatFinished), wake)
}

func (p *Pool) arm(ctx context.Context, d *wire.Definition, id string, at time.Time) error {
	wake := &wire.Wake{Incarnation: d.Incarnation, Version: d.Version, Reason: wire.ReasonRetry}
	shard, names := p.config.Store.ShardOf(d.Key()), p.config.Names
	return task.Arm(ctx, p.config.Bus, names.BackfillTimer(shard, d.Key(), id), names.Backfill(shard, d.Key(), id), at, wake)
}

func (p *Pool) armGuardAgain(ctx context.Context, key schedule.Key, id string, guard wire.Wake) error {
	shard, names := p.config.Store.ShardOf(key), p.config.Names
	return task.ArmAgain(ctx, p.config.Bus, names.BackfillTimer(shard, key, id), names.Backfill(shard, key, id), p.config.Now(), guard)
}
