package roles

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/carillon-scheduler/carillon/console"
)

// ConsoleConfig says where the console is.
type ConsoleConfig struct {
	// Listener is where clients connect. The role closes it.
	Listener net.Listener
	// Temporal answers what is under no path of the console; nil if nothing does.
	Temporal http.Handler
	// Identity names whoever does not say who they are, for the event history.
	Identity string
	// Drain bounds how long a stop waits for requests in progress.
	Drain time.Duration
}

// Console returns the role that serves the pages and the HTTP API. If it fails, the listener is closed.
func (c *Cluster) Console(config ConsoleConfig) (Role, error) {
	api, conn, err := c.api(config.Identity)
	if err != nil {
		_ = config.Listener.Close()
		return Role{}, err
	}
	served, err := console.New(console.Config{
		Listener: config.Listener, API: api, Temporal: config.Temporal, Version: c.options.Version, Drain: config.Drain, Logger: c.options.Logger,
	})
	if err != nil {
		conn.Close()
		return Role{}, err
	}
	return c.watched(Role{Name: "console", Run: func(ctx context.Context) error {
		defer conn.Close()
		return served.Run(ctx)
	}}), nil
}
