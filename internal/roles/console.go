package roles

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"time"

	"github.com/carillon-scheduler/carillon/console"
	"github.com/carillon-scheduler/carillon/gateway"
)

// ConsoleConfig says where the console is.
type ConsoleConfig struct {
	// Listener is where clients connect. The role closes it.
	Listener net.Listener
	// TLS secures it; nil means plain text.
	TLS *tls.Config
	// LogIn lets in only people and programs with the credentials of a NATS user, to act as that user.
	LogIn bool
	// ProxyHeader, Proxies, OnlyProxies and Hosts are as in [console.Access].
	ProxyHeader string
	Proxies     []netip.Prefix
	OnlyProxies bool
	Hosts       []string
	// TraceURL is as in [console.Config].
	TraceURL string
	// Gateway answers Temporal's methods, and runs as a role of this process. Nil lets the console have one of its own, which nobody else reaches.
	Gateway *gateway.Gateway
	// Identity names whoever does not say who they are, for the event history.
	Identity string
	// Drain bounds how long a stop waits for requests in progress.
	Drain time.Duration
}

// Console returns the role that serves the pages and the HTTP API. If it fails, the listener is closed.
func (c *Cluster) Console(config ConsoleConfig) (Role, error) {
	if config.Gateway == nil {
		return c.consoleWithGateway(config)
	}
	api, conn, err := c.api(config.Identity)
	if err != nil {
		_ = config.Listener.Close()
		return Role{}, err
	}
	access := console.Access{ProxyHeader: config.ProxyHeader, Proxies: config.Proxies, OnlyProxies: config.OnlyProxies, Hosts: config.Hosts}
	if config.LogIn {
		access.Users = config.Gateway.Callers()
	}
	served, err := console.New(console.Config{
		Listener: config.Listener, TLS: config.TLS, Access: access, API: api, Conn: conn, Names: c.Names, Identity: config.Identity, Services: config.Gateway.Conn(),
		Temporal: config.Gateway.Handler(), Elsewhere: c.options.Elsewhere, TraceURL: config.TraceURL, Version: c.options.Version, Drain: config.Drain, Logger: c.options.Logger,
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

// consoleWithGateway returns a console with a gateway of its own, as one role.
func (c *Cluster) consoleWithGateway(config ConsoleConfig) (Role, error) {
	own, gateway, err := c.Gateway(GatewayConfig{Anonymous: !config.LogIn, Drain: config.Drain})
	if err != nil {
		_ = config.Listener.Close()
		return Role{}, err
	}
	config.Gateway = gateway
	role, err := c.Console(config)
	role.Checks, role.Run = own.Checks, together(own.Run, role.Run)
	return role, err
}
