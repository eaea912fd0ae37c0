package gateway

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// defaultDrain is how long a stop waits for requests in progress.
const defaultDrain = 5 * time.Second

// Config is what a gateway needs. All fields are required unless they say otherwise.
type Config struct {
	// Conn carries requests about executions.
	Conn *nats.Conn
	// Owners send the requests that one execution gets to a process of the pool history. Default: to any process.
	Owners owners.Router
	// JS reads the backlogs of task queues.
	JS    jetstream.JetStream
	Names subjects.Names
	// Shards is how many shards the installation has, and Created when it was set up.
	Shards  int
	Created time.Time
	// Cluster holds the search attributes of namespaces.
	Cluster *kv.Cluster
	// API asks the frontend about schedules, and to change namespaces.
	API *client.Client
	// Known are the namespaces as this process knows them. Records are those that are stored.
	Known   namespaces.Source
	Records Records
	// Elsewhere says where the installation is active, if not here: then only requests that read are answered, and polls get nothing. Default: it is here.
	Elsewhere *site.Elsewhere
	// GRPC is where clients connect; nil means nowhere. The gateway closes it.
	GRPC net.Listener
	// HTTP is where the same methods are served as JSON; nil means nowhere. The gateway closes it.
	HTTP net.Listener
	// TLS secures both listeners; nil means plain text.
	TLS *tls.Config
	// Anonymous lets in clients without credentials: they may do everything. Clients with credentials may do what NATS allows them, either
	// way.
	Anonymous bool
	// Dial opens a connection to NATS with the credentials of a client. Its options must count less than those that it gets.
	Dial func(...nats.Option) (*nats.Conn, error)
	// Drain bounds how long a stop waits for requests in progress. Default: five seconds.
	Drain time.Duration
	// Version is the version of this program.
	Version string
	Logger  *slog.Logger
	// Now is the clock of the measurements. Default: the clock of the system.
	Now func() time.Time
}

// Records reads the stored records of namespaces: see [namespaces.Records].
type Records interface {
	Get(ctx context.Context, name string) (namespaces.Record, error)
	Names(ctx context.Context) ([]string, error)
	Read(ctx context.Context, names []string) ([]schedule.Namespace, error)
}

// check fills in the defaults, and reports what is missing.
func (c Config) check() (Config, error) {
	switch {
	case c.Conn == nil, c.JS == nil, c.Cluster == nil, c.API == nil, c.Known == nil, c.Records == nil, c.Logger == nil, c.Dial == nil, c.Shards <= 0:
		return c, schedule.Invalid("config", "of a gateway is incomplete")
	}
	if c.Drain == 0 {
		c.Drain = defaultDrain
	}
	if c.Owners == nil {
		c.Owners = owners.Anybody(c.Conn)
	}
	if c.Now == nil {
		c.Now = time.Now //permit:time.Now the clock of a program
	}
	return c, nil
}
