package generator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/speccache"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/timer"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Config sets up a Pool. Zero fields take the defaults they name.
type Config struct {
	JS    jetstream.JetStream
	Store *kv.Store
	Names subjects.Names
	// Logger is slog.Default() by default.
	Logger *slog.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time
	// Lead is how long before the due time the timer fires; the pool waits the rest itself. 1 s by default. The server's
	// timers are up to 250 ms late, so much less makes actions late.
	Lead time.Duration
	// IdleTime is how long an exhausted schedule stays open; 7 days by default, negative for ever.
	IdleTime time.Duration
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Lead == 0 {
		c.Lead = time.Second
	}
	if c.IdleTime == 0 {
		c.IdleTime = 7 * 24 * time.Hour
	}
	c.Logger = c.Logger.With("pool", subjects.PoolGenerator)
	return c
}

func (c Config) validate() error {
	if c.JS == nil || c.Store == nil {
		return errors.New("generator: Config.JS and Config.Store are required")
	}
	if c.Lead < 0 || c.Lead > subjects.TaskAckWait {
		return fmt.Errorf("generator: Config.Lead is %v, must be 0 to %v", c.Lead, subjects.TaskAckWait)
	}
	return nil
}

// Pool is one process's share of the generator. Make it with New, run it once.
type Pool struct {
	config Config
	specs  *speccache.Cache
}

// New returns a pool that is not running yet.
func New(config Config) (*Pool, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	return &Pool{config: config, specs: speccache.New(speccache.DefaultSize)}, nil
}

// Run works until ctx ends, then gives back what it holds and returns nil.
func (p *Pool) Run(ctx context.Context) error {
	return loop.New(loop.Config{
		JS: p.config.JS, Names: p.config.Names, Pool: subjects.PoolGenerator, Shards: p.config.Store.Shards(),
		Logger: p.config.Logger, Now: p.config.Now,
	}, p).Run(ctx)
}

// Decode implements loop.Handler.
func (p *Pool) Decode(_ subjects.Task, msg jetstream.Msg) (schedule.Wake, error) {
	var wake schedule.Wake
	err := schedule.Unmarshal(msg.Data(), &wake)
	return wake, err
}

// Handle implements loop.Handler: one transition of one schedule.
func (p *Pool) Handle(ctx context.Context, key schedule.Key, group []loop.Message[schedule.Wake]) loop.Verdict {
	ctx, span := telemetry.StartTransition(ctx, "generate", key, newest(group).Header)
	defer span.End()
	const tries = 5
	for range tries {
		verdict, err := p.transition(ctx, key, group)
		if !errors.Is(err, kv.ErrConflict) {
			return verdict
		}
	}
	return loop.Retry(fmt.Errorf("generator: %d conflicts in a row", tries))
}

// transition makes one attempt; only its error kv.ErrConflict matters, the verdict holds any other.
func (p *Pool) transition(ctx context.Context, key schedule.Key, group []loop.Message[schedule.Wake]) (loop.Verdict, error) {
	definition, err := kv.DefinitionFor(ctx, p.config.Store, key, wakes(group)...)
	if errors.Is(err, kv.ErrNotFound) {
		return p.verdict(p.forget(ctx, key))
	}
	if err != nil {
		return p.verdict(err)
	}
	record, err := kv.Get(ctx, p.config.Store, kv.Generator(key))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return p.verdict(err)
	}
	decision, err := p.decide(ctx, &definition.Value, record.Value)
	if err != nil {
		return p.verdict(err)
	}
	if decision.Close {
		return p.verdict(p.close(ctx, definition))
	}
	if err := p.commit(ctx, key, decision, record.Revision); err != nil {
		return p.verdict(err)
	}
	return p.sleep(ctx, &definition.Value, decision)
}

// verdict turns an error into what the loop should do about it.
func (p *Pool) verdict(err error) (loop.Verdict, error) {
	switch {
	case err == nil:
		return loop.Done(), nil
	case errors.Is(err, kv.ErrConflict):
		return loop.Retry(err), err
	case errors.Is(err, kv.ErrCorrupt) || schedule.CodeOf(err) == schedule.CodeInvalidArgument:
		return loop.Retry(loop.Permanent(err)), nil
	}
	return loop.Retry(err), nil
}

// decide gathers what the decision needs. The invoker's record is read only for schedules whose actions are limited or
// that have none left.
func (p *Pool) decide(ctx context.Context, d *schedule.Definition, state schedule.GeneratorState) (Decision, error) {
	spec, err := p.specs.Get(d)
	if err != nil {
		return Decision{}, err
	}
	in := Input{Definition: d, Spec: spec, State: state, IdleTime: max(p.config.IdleTime, 0), Now: p.config.Now()}
	if d.Schedule.State.LimitedActions {
		if err := p.readActivity(ctx, &in); err != nil {
			return Decision{}, err
		}
	}
	decision := Decide(in)
	if decision.Reason != schedule.ReasonIdle {
		return decision, nil
	}
	if err := p.readActivity(ctx, &in); err != nil {
		return Decision{}, err
	}
	return Decide(in), nil
}

// readActivity fills in what the other pools know: remaining actions, the newest one, whether anything is going on.
func (p *Pool) readActivity(ctx context.Context, in *Input) error {
	key := in.Definition.Key()
	invoker, err := kv.Get(ctx, p.config.Store, kv.Invoker(key))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	backfills, err := kv.Backfills(ctx, p.config.Store, key)
	if err != nil {
		return err
	}
	in.Remaining = invoker.Value.RemainingActions(in.Definition)
	in.Busy = len(backfills) > 0
	if invoker.Value.Incarnation != in.Definition.Incarnation {
		return nil
	}
	for i := range invoker.Value.Starts {
		start := &invoker.Value.Starts[i]
		in.LastAction = latest(in.LastAction, start.Actual)
		in.Busy = in.Busy || start.Phase != schedule.PhaseCompleted
	}
	return nil
}

// commit hands over what is due and writes the record, in this order: a repeated hand-off is harmless, a lost one is an
// action missed.
func (p *Pool) commit(ctx context.Context, key schedule.Key, decision Decision, revision uint64) error {
	if decision.HandOff != nil {
		if err := p.handOff(ctx, key, decision.HandOff); err != nil {
			return err
		}
	}
	if !decision.Changed {
		return nil
	}
	_, err := kv.Put(ctx, p.config.Store, kv.Generator(key), &decision.State, revision)
	return err
}

func (p *Pool) handOff(ctx context.Context, key schedule.Key, e *schedule.Enqueue) error {
	data, err := schedule.Marshal(e)
	if err != nil {
		return err
	}
	subject := p.config.Names.InvokeEnqueue(p.config.Store.ShardOf(key), key, e.Source, e.Span)
	msg := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: data}
	telemetry.Inject(ctx, msg.Header)
	if _, err := p.config.JS.PublishMsg(ctx, msg); err != nil {
		return fmt.Errorf("generator: hand over to the invoker: %w", err)
	}
	return nil
}

// sleep sees that the schedule is looked at again: by holding the message when that is soon, else by its timer.
func (p *Pool) sleep(ctx context.Context, d *schedule.Definition, decision Decision) (loop.Verdict, error) {
	if decision.WakeAt.IsZero() {
		return loop.Done(), nil
	}
	at := decision.WakeAt
	if decision.Reason == schedule.ReasonDue {
		if at.Sub(p.config.Now()) <= p.config.Lead {
			return loop.Hold(at), nil
		}
		at = at.Add(-p.config.Lead)
	}
	return p.verdict(p.arm(ctx, d, at, decision.Reason))
}

func (p *Pool) arm(ctx context.Context, d *schedule.Definition, at time.Time, reason schedule.Reason) error {
	body, err := schedule.Marshal(&schedule.Wake{Incarnation: d.Incarnation, Version: d.Version, Reason: reason})
	if err != nil {
		return err
	}
	shard := p.config.Store.ShardOf(d.Key())
	names := p.config.Names
	return timer.Arm(ctx, p.config.JS, names.DueTimer(shard, d.Key()), names.Generate(shard, d.Key(), subjects.WhatDue),
		at, nil, body)
}

func wakes(group []loop.Message[schedule.Wake]) []schedule.Wake {
	wakes := make([]schedule.Wake, len(group))
	for i := range group {
		wakes[i] = group[i].Body
	}
	return wakes
}

// newest is the message whose trace the transition continues.
func newest(group []loop.Message[schedule.Wake]) *loop.Message[schedule.Wake] {
	last := &group[0]
	for i := range group {
		if group[i].Stored.After(last.Stored) {
			last = &group[i]
		}
	}
	return last
}
