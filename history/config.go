package history

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/archive/progress"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Archive knows how far the runs of a namespace in one shard have been archived: see [progress.Records].
type Archive interface {
	Progress(ctx context.Context, namespace string, shard int) (progress.Progress, error)
}

// Config sets up a [Service]. Shards and Namespaces are required, and JS, unless Bus and Conn are set; the other zero fields take the defaults
// that they name.
type Config struct {
	// JS is the connection to NATS. The service does not close it.
	JS jetstream.JetStream
	// Bus and Conn are the access to NATS; that of JS by default. The service closes neither.
	Bus  bus.Streams
	Conn bus.Conn
	// Owners send requests to the pool, from here and from the roles in the same process that have the same Owners: they reach this process
	// by a call. By default the service has Owners of its own.
	Owners *owners.Owners
	// Names are the names of the installation; subjects.Default() by default.
	Names  subjects.Names
	Shards int
	// Namespaces knows the namespaces: no execution begins in one that does not exist.
	Namespaces namespaces.Source
	// Elsewhere says where the installation is active, if not here: then the service only answers requests that read. By default it is here.
	Elsewhere *site.Elsewhere
	// Logger is slog.Default() by default.
	Logger *slog.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time
	// Archive knows which runs have been archived; by default, the records in the cluster bucket that JS reaches. A namespace that asks for an archive
	// keeps its runs until they are in it.
	Archive Archive
	// NewID returns an ID that no other process has; a random UUID by default.
	NewID func() string
	// Vitals learns the state of the loop that waits for deadlines; may be nil.
	Vitals *loop.Vitals
	// Executions is how many executions are kept in memory while nobody asks for them, and Bytes about how much memory they may take;
	// 16,384 and 256 MiB by default.
	Executions int
	Bytes      int64
	// OffersAtOnce is how many tasks of one entry are offered at once; 64 by default.
	OffersAtOnce int
	// Drain bounds how long a stop waits for the work in progress; 3 s by default.
	Drain time.Duration
	// SweepEvery is how often expired runs are looked for, at least; a minute by default.
	SweepEvery time.Duration

	// maxDeliveries is after how many deliveries a message is given up whose journal cannot be read; 10 by default, about 43 s after the first.
	maxDeliveries uint64
	// noEffects leaves all that entries make due to other processes. To them, the process is like one that dies right after each append.
	noEffects bool
}

func (c Config) withDefaults() (Config, error) {
	if c.Shards < 1 || c.Namespaces == nil || c.JS == nil && (c.Bus == nil || c.Conn == nil) {
		return c, errors.New("history: Config.Shards and Config.Namespaces are required, and Config.JS or both of Config.Bus and Config.Conn")
	}
	if c.Names == (subjects.Names{}) {
		c.Names = subjects.Default()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Logger = c.Logger.With("pool", subjects.PoolHistory)
	if c.Now == nil {
		c.Now = time.Now //permit:time.Now the default
	}
	if c.NewID == nil {
		c.NewID = uuid.NewString
	}
	if c.Archive == nil && c.JS != nil {
		c.Archive = progress.NewRecords(kv.NewCluster(c.JS, c.Names))
	}
	if c.Conn == nil {
		c.Conn = bus.Plain{Conn: c.JS.Conn()}
	}
	c.Executions, c.Bytes = cmp.Or(c.Executions, 16384), cmp.Or(c.Bytes, 256<<20)
	c.OffersAtOnce, c.maxDeliveries = cmp.Or(c.OffersAtOnce, 64), cmp.Or(c.maxDeliveries, 10)
	c.SweepEvery = cmp.Or(c.SweepEvery, time.Minute)
	c.Drain = cmp.Or(c.Drain, 3*time.Second)
	return c, nil
}
