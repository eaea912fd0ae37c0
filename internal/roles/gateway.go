package roles

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/gateway"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/probe"
	"github.com/carillon-scheduler/carillon/kv"
)

// GatewayConfig says where Temporal's clients find the gateway.
type GatewayConfig struct {
	// GRPC is where clients connect, HTTP where the same is served as JSON. Nil means nowhere. The role closes both.
	GRPC, HTTP net.Listener
	// TLS secures both; nil means plain text.
	TLS *tls.Config
	// Anonymous lets in clients without credentials, and lets them do everything.
	Anonymous bool
	// Drain bounds how long a stop waits for requests in progress.
	Drain time.Duration
}

// Gateway returns the role that serves Temporal's clients, and the gateway itself, for a console in the same process. If it fails, the listeners are
// closed.
func (c *Cluster) Gateway(config GatewayConfig) (Role, *gateway.Gateway, error) {
	api, conn, err := c.api("gateway")
	if err != nil {
		closeAll(config)
		return Role{}, nil, err
	}
	table, records := c.table(), kv.NewCluster(c.JS, c.Names)
	g, err := gateway.New(gateway.Config{
		Conn: c.Conn.Conn, Owners: c.owners, JS: c.JS, Names: c.Names, Shards: c.Facts.Shards, Created: c.Facts.Created, API: api, Known: table,
		Records: namespaces.NewRecords(records), Cluster: records, GRPC: config.GRPC, HTTP: config.HTTP, TLS: config.TLS,
		Elsewhere: c.options.Elsewhere, Anonymous: config.Anonymous, Dial: c.Conn.dial, Drain: config.Drain, Version: c.options.Version, Logger: c.options.Logger,
	})
	if err != nil {
		conn.Close()
		return Role{}, nil, err
	}
	run := informed(table, g.Run)
	return c.watched(Role{
		Name: "gateway", Checks: probe.Checks{Waits: until(table.Ready(), "the records of the namespaces")},
		Run: func(ctx context.Context) error {
			defer conn.Close()
			return run(ctx)
		},
	}), g, nil
}

// api returns a client of the frontends with a connection of its own, since a frontend does not answer on the inboxes of a pool. The caller closes the
// connection.
func (c *Cluster) api(identity string) (*client.Client, *nats.Conn, error) {
	conn, err := c.Conn.Client()
	if err != nil {
		return nil, nil, err
	}
	api, err := client.New(conn, client.Config{Prefix: c.Names.Prefix(), Identity: identity})
	if err != nil {
		conn.Close()
	}
	return api, conn, err
}

// closeAll closes the listeners of a gateway that does not come to be.
func closeAll(config GatewayConfig) {
	for _, listener := range []net.Listener{config.GRPC, config.HTTP} {
		if listener != nil {
			_ = listener.Close()
		}
	}
}
