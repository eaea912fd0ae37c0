package roles

import (
	"context"
	"net"
	"time"

	"github.com/carillon-scheduler/carillon/console"
	"github.com/carillon-scheduler/carillon/gateway"
)

// ConsoleConfig says where the console is.
type ConsoleConfig struct {
	// Listener is where clients connect. The role closes it.
	Listener net.Listener
	// Gateway answers Temporal's methods, and runs as a role of this process. Nil lets the console have one of its own, which nobody else reaches.
	Gateway *gateway.Gateway
	// Identity names whoever does not say who they are, for the event history.
	Identity string
	// Drain bounds how long a stop waits for requests in progress.
	Drain time.Duration
}

// Console returns the role that serves the pages and the HTTP API. If it fails, the listener is closed.
func (c *Cluster) Console(config ConsoleConfig) (Role, error) {
	role := Role{Run: func(context.Context) error { return nil }}
	var err error
	if config.Gateway == nil {
		role, config.Gateway, err = c.Gateway(GatewayConfig{Anonymous: true, Drain: config.Drain})
	}
	if err != nil {
		_ = config.Listener.Close()
		return Role{}, err
	}
	api, conn, err := c.api(config.Identity)
	if err != nil {
		_ = config.Listener.Close()
		return Role{}, err
	}
	served, err := console.New(console.Config{
		Listener: config.Listener, API: api, Conn: conn, Names: c.Names, Identity: config.Identity, Services: config.Gateway.Conn(),
		Temporal: config.Gateway.Handler(), Version: c.options.Version, Drain: config.Drain, Logger: c.options.Logger,
	})
	if err != nil {
		conn.Close()
		return Role{}, err
	}
	return c.watched(Role{Name: "console", Checks: role.Checks, Run: together(role.Run, func(ctx context.Context) error {
		defer conn.Close()
		return served.Run(ctx)
	})}), nil
}
