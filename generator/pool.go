package generator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/cache"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Config sets up a Pool. Zero fields take the defaults they name.
type Config struct {
	// Bus is how the pool reaches NATS. Run closes it.
	Bus   bus.Bus
	Store *kv.Store
	Names subjects.Names
	// Logger is slog.Default() by default.
	Logger *slog.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time
	// Definitions are the definitions that this process has read last, for all of its pools; the pool has its own by default.
	Definitions *cache.Records[wire.Definition]
	// Namespaces says which freezes there are; nil knows of none.
	Namespaces namespaces.Source
	// Vitals are told how the pool is doing; nil tells nobody.
	Vitals *loop.Vitals
	// Lead is how long before the due time the timer fires; the pool waits the rest itself. 2 s by default. The server's
	// timers are up to 250 ms late, so much less makes actions late. What is due again within the lead needs no timer.
	Lead time.Duration
	// MaxBacklog is how many messages of a shard the invoker may have before it until hand-offs of the shard wait, for 6 s at
	// most: so those of a schedule go together. 4,096 by the number of shards by default, and not less than 256.
	MaxBacklog int
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
		c.Lead = 2 * time.Second
	}
	if c.MaxBacklog == 0 && c.Store != nil {
		c.MaxBacklog = max(defaultBacklog/c.Store.Shards(), leastBacklog)
	}
	if c.IdleTime == 0 {
		c.IdleTime = 7 * 24 * time.Hour
	}
	if c.Definitions == nil {
		c.Definitions = cache.Definitions()
	}
	if c.Namespaces == nil {
		c.Namespaces = namespaces.Fixed(nil)
	}
	c.Logger = c.Logger.With("pool", subjects.PoolGenerator)
	return c
}

func (c Config) validate() error {
	if c.Bus == nil || c.Store == nil {
		return errors.New("generator: Config.Bus and Config.Store are required")
	}
	if c.Lead < 0 || c.Lead > subjects.TaskAckWait {
		return fmt.Errorf("generator: Config.Lead is %v, must be 0 to %v", c.Lead, subjects.TaskAckWait)
	}
	if c.MaxBacklog < 0 {
		return fmt.Errorf("generator: Config.MaxBacklog is %d, must not be negative", c.MaxBacklog)
	}
	return nil
}

// Pool is one process's share of the generator. Make it with New, run it once.
type Pool struct {
	config Config
	specs  *cache.Specs
	events *events.Publisher
	held   held
	// backpressure is what it knows of the invoker.
	backpressure backpressure
	// records and definitions are as they were last known here.
	records     *cache.Records[wire.GeneratorState]
	definitions *cache.Records[wire.Definition]
}

// New returns a pool that is not running yet.
func New(config Config) (*Pool, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
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
func (p *Pool) Run(ctx context.Context) error {
	defer p.config.Bus.Close()
	return loop.New(loop.Config{
		Bus: p.config.Bus, Names: p.config.Names, Pool: subjects.PoolGenerator, Shards: p.config.Store.Shards(),
		Logger: p.config.Logger, Now: p.config.Now, Namespaces: p.config.Namespaces,
		Vitals: p.config.Vitals,
	}, p).Run(ctx)
}

// Decode implements loop.Handler.
func (p *Pool) Decode(_ subjects.Task, msg jetstream.Msg) (wire.Wake, error) {
	var wake wire.Wake
	err := codec.Unmarshal(msg.Data(), &wake)
	return wake, err
}

// Handle implements loop.Handler: one transition of one schedule.
func (p *Pool) Handle(ctx context.Context, key schedule.Key, group []loop.Message[wire.Wake]) loop.Verdict {
	cause := newest(group)
	ctx, span := loop.StartSpanOf(ctx, key, group, cause)
	if span.IsRecording() {
		span.SetAttributes(telemetry.AttributeWakeReason.String(string(reasonOf(&group[cause]))))
	}
	verdict := p.handle(ctx, key, group)
	telemetry.End(span, verdict.Err())
	return verdict
}

func (p *Pool) handle(ctx context.Context, key schedule.Key, group []loop.Message[wire.Wake]) loop.Verdict {
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
	err := kv.Attempt(func(again bool) (err error) {
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
