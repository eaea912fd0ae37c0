// Package pool is the shell that generator, invoker and backfiller share: what a pool needs of its process, the defaults, how it runs,
// and how it reads a wake.
//
//   - [Config] is the common part of the pools' configurations. Each pool embeds it in its own.
//   - [Run] runs a pool: a [loop.Loop] over the streams of the pool's role (subjects.Roles), with the pool as its handler.
//
// A pool adds what its messages are, the transition that they lead to, and what it knows of schedules. The loop (internal/loop) adds
// grouping, retries, dead letters and spans. The package must never hold a decision about schedules, nor a rule of one pool. Only the
// pools and the code that composes them import it.
//
// The package may import kv, subjects, internal/bus, internal/cache, internal/codec, internal/loop,
// internal/namespaces and internal/wire.
package pool

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/cache"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Config sets up a pool. Bus and Store are required; the other zero fields take the defaults that they name.
type Config struct {
	// Bus is how the pool reaches NATS. [Run] closes it.
	Bus   bus.Bus
	Store *kv.Store
	Names subjects.Names
	// Logger is slog.Default() by default.
	Logger *slog.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time
	// Definitions caches the definitions that the process has read last, for all its pools. By default the pool has its own
	// cache. The backfiller needs none.
	Definitions *cache.Records[wire.Definition]
	// Namespaces has the limits and freezes of the namespaces, and how long events are kept. By default there are no limits and
	// freezes, and events are kept as long as the stream keeps them.
	Namespaces namespaces.Source
	// Vitals learns the state of the pool; nil means that nobody asks for it.
	Vitals *loop.Vitals
	// Concurrency is how many schedules the pool works on at once; the default is the loop's.
	Concurrency int

	role string
}

// For returns the configuration with its defaults for the pool of a role, such as subjects.PoolGenerator. The error names the field that
// is missing.
func (c Config) For(role string) (Config, error) {
	if c.Bus == nil || c.Store == nil {
		return Config{}, fmt.Errorf("%s: Config.Bus and Config.Store are required", role)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now //permit:time.Now the default
	}
	if c.Definitions == nil {
		c.Definitions = cache.Definitions()
	}
	if c.Namespaces == nil {
		c.Namespaces = namespaces.Fixed(nil)
	}
	c.role, c.Logger = role, c.Logger.With("pool", role)
	return c, nil
}

// Run handles the messages of a pool, which has been configured by [Config.For], until ctx ends. It then gives back the messages that the
// pool holds, closes the bus, and returns nil. It returns an error if the messages cannot be pulled for good.
func Run[M any](ctx context.Context, c Config, handler loop.Handler[M]) error {
	defer c.Bus.Close()
	return loop.New(loop.Config{
		Bus: c.Bus, Names: c.Names, Pool: c.role, Shards: c.Store.Shards(), Logger: c.Logger, Now: c.Now,
		Namespaces: c.Namespaces, Vitals: c.Vitals, Concurrency: c.Concurrency,
	}, handler).Run(ctx)
}

// DecodeWake reads a message that is a wake. Its error sends the message to the dead letter stream.
func DecodeWake(msg jetstream.Msg) (wire.Wake, error) {
	var wake wire.Wake
	err := codec.Unmarshal(msg.Data(), &wake)
	return wake, err
}
