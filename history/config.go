package history

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Config sets up a [Service]. JS, Shards and Namespaces are required; the other zero fields take the defaults that they name.
type Config struct {
	// JS is the connection to NATS. The service does not close it.
	JS jetstream.JetStream
	// Names are the names of the installation; subjects.Default() by default.
	Names  subjects.Names
	Shards int
	// Namespaces knows the namespaces: no execution begins in one that does not exist.
	Namespaces namespaces.Source
	// Logger is slog.Default() by default.
	Logger *slog.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time
	// Vitals learns the state of the loop that waits for deadlines; may be nil.
	Vitals *loop.Vitals
	// Executions is how many executions are kept in memory while nobody asks for them, and Bytes about how much memory they may take;
	// 16,384 and 256 MiB by default.
	Executions int
	Bytes      int64
	// Drain bounds how long a stop waits for the work in progress; 3 s by default.
	Drain time.Duration

	// noEffects leaves all that entries make due to other processes. To them, the process is like one that dies right after each append.
	noEffects bool
}

func (c Config) withDefaults() (Config, error) {
	if c.JS == nil || c.Shards < 1 || c.Namespaces == nil {
		return c, errors.New("history: Config.JS, Config.Shards and Config.Namespaces are required")
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
	c.Executions, c.Bytes = cmp.Or(c.Executions, 16384), cmp.Or(c.Bytes, 256<<20)
	c.Drain = cmp.Or(c.Drain, 3*time.Second)
	return c, nil
}
