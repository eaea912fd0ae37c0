package cli

import (
	"context"
	"net"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/loopback"
	"github.com/carillon-scheduler/carillon/internal/roles"
)

const (
	// consoleRole is the name of the role that serves a browser and programs over HTTP.
	consoleRole = "console"
	// defaultConsole is where it serves.
	defaultConsole = "127.0.0.1:8233"
)

// consoleOptions are the flags of the commands that run a console.
type consoleOptions struct{ address string }

func (o *consoleOptions) define(cmd *cobra.Command) {
	addFlags(cmd, "Console", func(flags *pflag.FlagSet) {
		flags.StringVar(&o.address, "console", defaultConsole, "serve the console and the HTTP API on `ADDRESS` of this machine; off for nowhere")
	})
}

func (o *consoleOptions) isOff() bool { return o.address == off }

// listen opens the listener of a console. Whoever reaches it may do what this process may, so no other machine must.
func (o *consoleOptions) listen(ctx context.Context) (net.Listener, error) {
	host, _, err := net.SplitHostPort(o.address)
	if err != nil {
		return nil, usagef("--console: %q is not an address: use HOST:PORT, such as %s, or off", o.address, defaultConsole)
	}
	if !loopback.IsHost(host) {
		return nil, usagef("--console: %s can be reached from other machines, and the console asks nobody who they are: use an address of this "+
			"machine, such as %s", o.address, defaultConsole)
	}
	return listen(ctx, "console", o.address, "name another address by --console, or do without by --console off")
}

// consoleCommand runs the console on its own.
func (a *app) consoleCommand() *cobra.Command {
	var o consoleOptions
	var cmd *cobra.Command
	cmd = a.poolCommand(consoleRole, "Run the role that serves the console and the HTTP API", func(c *roles.Cluster) (roles.Role, error) {
		if o.isOff() {
			return roles.Role{}, usagef("--console: a console needs an address")
		}
		listener, err := o.listen(cmd.Context())
		if err != nil {
			return roles.Role{}, err
		}
		return c.Console(roles.ConsoleConfig{Listener: listener, Identity: a.global.identity, Drain: roleDrain})
	})
	o.define(cmd)
	return cmd
}
