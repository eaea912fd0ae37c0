package frontend

import (
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The defaults of [Config].
const (
	DefaultConcurrency    = 64
	DefaultBacklog        = 1024
	DefaultRequestTimeout = 5 * time.Second
	DefaultDrainTimeout   = 10 * time.Second
	DefaultGuardDelay     = 10 * time.Second
)

// Config is what a [Frontend] needs. Conn and Store are required; the zero value of every other field means its default.
type Config struct {
	// Conn is where requests come from and replies go to. Set its handlers for errors and for closing before Run, which adds its
	// own.
	Conn *nats.Conn
	// JS stores guards, wakes and events. Default: JetStream on Conn.
	JS jetstream.JetStream
	// Lanes read the event histories by shard. Default: JS.
	Lanes *bus.Lanes
	// Store holds the records of an installation that has been set up.
	Store *kv.Store
	// Bus stores what the frontend publishes. Default: a bus on JS. Run closes it.
	Bus bus.Bus
	// Index answers queries, as long as somebody runs it. Default: none, and queries are refused.
	Index *search.Index
	// Workflows asks history, for batch operations. Default: a client that asks any process.
	Workflows *workflows.Client
	// Names are the names of the installation. Default: subjects.Default().
	Names subjects.Names
	// Elsewhere says where the installation is active, if not here: requests that write are refused, and no jobs are worked on. Default: it is here.
	Elsewhere *site.Elsewhere
	// Version is the version of the micro service, a semantic version. Default: 0.0.0.
	Version string
	// Logger gets what callers are not told. Default: slog.Default().
	Logger *slog.Logger

	// Concurrency is how many requests are worked on at once. Default: 64.
	Concurrency int
	// Backlog is how many more may wait for a turn. Further requests are refused with resource_exhausted. Default: 1,024.
	Backlog int
	// RequestTimeout bounds one request, including its wait in the backlog. Default: 5 s.
	RequestTimeout time.Duration
	// DrainTimeout bounds how long Run, once told to stop, waits for the requests that have arrived. Default: 10 s.
	DrainTimeout time.Duration
	// GuardDelay is how long after a crash at the worst moment a change takes effect. It must be greater than RequestTimeout, or
	// a guard could fire before the write it guards. Default: 10 s.
	GuardDelay time.Duration

	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// NewID makes unique IDs of one subject token. Default: random UUIDs.
	NewID func() string
}

func (c Config) withDefaults() (Config, error) {
	setDefault(&c.Version, "0.0.0")
	setDefault(&c.Logger, slog.Default())
	setDefault(&c.Concurrency, DefaultConcurrency)
	setDefault(&c.Backlog, DefaultBacklog)
	setDefault(&c.RequestTimeout, DefaultRequestTimeout)
	setDefault(&c.DrainTimeout, DefaultDrainTimeout)
	setDefault(&c.GuardDelay, DefaultGuardDelay)
	setDefault(&c.Names, subjects.Default())
	if c.Now == nil {
		c.Now = time.Now //permit:time.Now the default
	}
	if c.NewID == nil {
		c.NewID = uuid.NewString
	}
	if err := c.validate(); err != nil {
		return Config{}, err
	}
	if c.JS == nil {
		js, err := jetstream.New(c.Conn)
		if err != nil {
			return Config{}, err
		}
		c.JS = js
	}
	c.Bus = bus.Or(c.Bus, c.JS)
	if c.Elsewhere != nil {
		c.Bus = mirrors{c.Bus, c.Names.ActionStream()}
	}
	if c.Workflows == nil {
		c.Workflows = workflows.NewClient(owners.Anybody(c.Conn), c.Names, c.Store.Shards())
	}
	return c, nil
}

func (c Config) validate() error {
	switch {
	case c.Conn == nil:
		return schedule.Invalid("conn", "is missing: a frontend needs a connection to NATS")
	case c.Store == nil:
		return schedule.Invalid("store", "is missing: open one with kv.Open")
	case c.Concurrency < 0:
		return schedule.Invalid("concurrency", "%d is negative: use 1 or more, or 0 for the default", c.Concurrency)
	case c.Backlog < 0:
		return schedule.Invalid("backlog", "%d is negative: use 1 or more, or 0 for the default", c.Backlog)
	case c.RequestTimeout < 0:
		return schedule.Invalid("requestTimeout", "%s is negative", c.RequestTimeout)
	case c.DrainTimeout < 0:
		return schedule.Invalid("drainTimeout", "%s is negative", c.DrainTimeout)
	case c.GuardDelay <= c.RequestTimeout:
		return schedule.Invalid("guardDelay", "%s must be greater than requestTimeout, which is %s",
			c.GuardDelay, c.RequestTimeout)
	}
	return nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
