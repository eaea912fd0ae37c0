package generator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/cache"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Config sets up a Pool. Zero fields take the defaults they name.
type Config struct {
	pool.Config
	// Lead is how long before the due time the timer fires; the pool waits the rest itself. 2 s by default. The server's
	// timers are up to 250 ms late, so much less makes actions late. What is due again within the lead needs no timer.
	Lead time.Duration
	// MaxBacklog is how many messages of a shard the invoker may have before it until hand-offs of the shard wait, for 6 s at
	// most: so those of a schedule go together. 4,096 by the number of shards by default, and not less than 256.
	MaxBacklog int
	// IdleTime is how long an exhausted schedule stays open: 7 days by default, forever if negative.
	IdleTime time.Duration
}

// complete returns the configuration with its defaults.
func (c Config) complete() (_ Config, err error) {
	if c.Config, err = c.Config.For(subjects.PoolGenerator); err != nil {
		return Config{}, err
	}
	if c.Lead < 0 || c.Lead > subjects.TaskAckWait {
		return Config{}, fmt.Errorf("generator: Config.Lead is %v, must be 0 to %v", c.Lead, subjects.TaskAckWait)
	}
	if c.MaxBacklog < 0 {
		return Config{}, fmt.Errorf("generator: Config.MaxBacklog is %d, must not be negative", c.MaxBacklog)
	}
	c.Lead = cmp.Or(c.Lead, 2*time.Second)
	c.MaxBacklog = cmp.Or(c.MaxBacklog, max(defaultBacklog/c.Store.Shards(), leastBacklog))
	c.IdleTime = cmp.Or(c.IdleTime, 7*24*time.Hour)
	return c, nil
}

// Pool is one process's share of the generator. Make it with New, run it once.
type Pool struct {
	config Config
	specs  *cache.Specs
	events *events.Publisher
	held   heldWakes
	// backpressure is what it knows of the invoker.
	backpressure backpressure
	// records and definitions are as they were last known here.
	records     *cache.Records[wire.GeneratorState]
	definitions *cache.Records[wire.Definition]
}

// New returns a pool that is not running yet.
func New(config Config) (*Pool, error) {
	config, err := config.complete()
	if err != nil {
		return nil, err
	}
	return &Pool{
		config: config, specs: cache.NewSpecs(cache.DefaultSize),
		events:  events.NewPublisher(config.Bus, config.Names, config.Namespaces),
		records: cache.NewRecords(cache.DefaultSize, kv.Generator), definitions: config.Definitions,
		backpressure: backpressure{limit: config.MaxBacklog},
	}, nil
}

// Run works until ctx ends, then gives back what it holds and returns nil.
func (p *Pool) Run(ctx context.Context) error { return pool.Run(ctx, p.config.Config, p) }

// Decode implements loop.Handler.
func (p *Pool) Decode(_ subjects.Task, msg jetstream.Msg) (wire.Wake, error) {
	return pool.DecodeWake(msg)
}

// Cause implements loop.Causal: the newest message that has not been held.
func (p *Pool) Cause(group []loop.Message[wire.Wake]) int { return newest(group) }

// Describe implements loop.Describer.
func (p *Pool) Describe(span *telemetry.Transition, group []loop.Message[wire.Wake]) {
	if span.IsRecording() {
		span.SetAttributes(telemetry.AttributeWakeReason.String(string(reasonOf(&group[newest(group)]))))
	}
}

// Handle implements loop.Handler: one transition of one schedule.
func (p *Pool) Handle(ctx context.Context, key schedule.Key, group []loop.Message[wire.Wake]) loop.Verdict {
	var holdUntil time.Time
	one := attempt{
		key: key, wakes: wakes(group), due: p.held.take(key, group), routine: isRoutine(group), created: createdBy(group),
		fired:  firedAt(group),
		gone:   slices.ContainsFunc(group, func(m loop.Message[wire.Wake]) bool { return m.Gone }),
		shared: slices.ContainsFunc(group, func(m loop.Message[wire.Wake]) bool { return m.Shared }),
	}
	if until := p.heldBack(ctx, key, one.due); !until.IsZero() {
		return loop.Hold(until)
	}
	err := kv.RetryConflicts(func(again bool) (err error) {
		one.contested = again && !errors.Is(one.failure, kv.ErrUnconfirmed)
		one.again = again
		holdUntil, one.failure = p.transition(ctx, &one)
		return one.failure
	})
	switch {
	case err != nil:
		p.forgetRecent(key)
		return loop.Retry(errors.Join(err, p.lookAgainSoon(ctx, &one)))
	case one.letsGo:
		return loop.GiveBack()
	case holdUntil.IsZero():
		return loop.Done()
	}
	return loop.Hold(holdUntil)
}

// firedAt is when the last timer fired that a group has a message of, by the clock of NATS; zero if it has none.
func firedAt(group []loop.Message[wire.Wake]) (last time.Time) {
	for i := range group {
		if m := &group[i]; m.Task.What == subjects.WhatDue && m.Stored.After(last) {
			last = m.Stored
		}
	}
	return last
}

// isRoutine reports whether all messages of a group are of timers that have fired, or have been dealt with and held since.
func isRoutine(group []loop.Message[wire.Wake]) bool {
	return !slices.ContainsFunc(group, func(m loop.Message[wire.Wake]) bool {
		return !m.Held && m.Body.Reason != wire.ReasonDue
	})
}

// toldBy returns the versions of a definition whose events have been stored, as wakes say.
func toldBy(d *wire.Definition, wakes []wire.Wake) []uint64 {
	var versions []uint64
	for _, wake := range wakes {
		if wake.Told && wake.Incarnation == d.Incarnation {
			versions = append(versions, wake.Version)
		}
	}
	return versions
}

func wakes(group []loop.Message[wire.Wake]) []wire.Wake {
	wakes := make([]wire.Wake, len(group))
	for i := range group {
		wakes[i] = group[i].Body
	}
	return wakes
}

// reasonOf is what a message is handled for: what has been held is due.
func reasonOf(m *loop.Message[wire.Wake]) wire.Reason {
	if m.Held {
		return wire.ReasonDue
	}
	return m.Body.Reason
}

// newest returns the index of the message whose trace the transition continues: the newest of those that have not been held,
// if there is one. So what comes due begins a trace of its own, also where a change has come in just before.
func newest(group []loop.Message[wire.Wake]) int {
	at := 0
	for i := range group {
		if !group[i].Held && (group[at].Held || !group[i].Stored.Before(group[at].Stored)) {
			at = i
		}
	}
	return at
}
