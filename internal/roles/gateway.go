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
	// GRPC is where clients connect, HTTP where the same is served as JSON. HTTP may be nil. The role closes both.
	GRPC, HTTP net.Listener
	// TLS secures both; nil means plain text.
	TLS *tls.Config
	// Drain bounds how long a stop waits for requests in progress.
	Drain time.Duration
}

// Gateway returns the role that serves Temporal's clients. If it fails, the listeners are closed.
func (c *Cluster) Gateway(config GatewayConfig) (Role, error) {
	conn, hangUp := c.apiConn()
	api, err := client.New(conn, client.Config{Prefix: c.Names.Prefix(), Identity: "gateway"})
	if err != nil {
		hangUp()
		return Role{}, err
	}
	table, records := c.table(), kv.NewCluster(c.JS, c.Names)
	g, err := gateway.New(gateway.Config{
		Conn: c.Conn.Conn, JS: c.JS, Names: c.Names, Shards: c.Facts.Shards, Created: c.Facts.Created, API: api, Known: table,
		Records: namespaces.NewRecords(records), Cluster: records, GRPC: config.GRPC, HTTP: config.HTTP, TLS: config.TLS,
		Drain: config.Drain, Version: c.options.Version, Logger: c.options.Logger,
	})
	if err != nil {
		hangUp()
		return Role{}, err
	}
	run := informed(table, g.Run)
	return c.watched(Role{
		Name: "gateway", Checks: probe.Checks{Waits: until(table.Ready(), "the records of the namespaces")},
		Run: func(ctx context.Context) error {
			defer hangUp()
			return run(ctx)
		},
	}), nil
}

// apiConn returns a connection for requests to the frontend, and a function that closes it. A frontend does not answer on the inboxes of its
// own process, so the gateway has a connection of its own. If the user has chosen where answers go, there is only one such place: then the
// frontend must be in another process.
func (c *Cluster) apiConn() (conn *nats.Conn, hangUp func()) {
	own, err := c.Conn.Client()
	if err != nil {
		return c.Conn.Conn, func() {}
	}
	return own, own.Close
}
