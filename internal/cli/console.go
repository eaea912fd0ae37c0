package cli

import (
	"context"
	"net/netip"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/console"
	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
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
type consoleOptions struct {
	address, cert, key string
	insecure           bool
	auth               string
	header             string
	proxies, hosts     []string
	traceURL           string
	connections        connections
}

func (o *consoleOptions) define(cmd *cobra.Command) {
	addFlags(cmd, "Console", func(flags *pflag.FlagSet) {
		flags.StringVar(&o.address, "console", defaultConsole, "serve the console and the HTTP API on `ADDRESS`; off for nowhere")
		flags.StringVar(&o.cert, "console-cert", "", "serve it over TLS only, with the certificate of `FILE`")
		flags.StringVar(&o.key, "console-key", "", "`FILE` of the key of that certificate")
		flags.BoolVar(&o.insecure, "console-insecure", false, "serve it on another address than loopback also without a certificate")
		o.auth = authAuto
		flags.Var(flagconf.NewEnum(&o.auth, authAuto, authNATS, authNone), "console-auth", "let people in by `MODE`: nats lets them log in as users "+
			"of NATS, whose permissions count; none lets everybody act as this process; auto is none if only this machine (no "+
			"--console-proxy-from, no --console-host) or a proxy that names people (--console-proxy-header) gets in, and nats otherwise")
		flags.StringVar(&o.header, "console-proxy-header", "", "let a proxy say by the header `NAME` who somebody is, to act as this process")
		flags.StringArrayVar(&o.proxies, "console-proxy-from", nil, "trust proxies with an address in `CIDR`: that header and X-Forwarded-For "+
			"count only from there; repeatable; with a header, loopback if not given")
		flags.StringArrayVar(&o.hosts, "console-host", nil, "answer to the name `HOST` besides those of this machine; repeatable; where people log in, "+
			"to any")
		flags.StringVar(&o.traceURL, "console-trace-url", "", "link traces to `URL`, where a tracing backend shows them: {trace} in it stands for "+
			"the ID of a trace, as in http://jaeger.example:16686/trace/{trace}")
		o.connections.define(flags, "console", consoleConnections, "; proxies of --console-proxy-from may have them all")
	})
}

func (o *consoleOptions) isOff() bool { return o.address == off }

// listen opens the listener of a console, and says who gets in.
func (o *consoleOptions) listen(ctx context.Context) (config roles.ConsoleConfig, err error) {
	host, err := hostOf("console", o.address, defaultConsole)
	if err != nil {
		return config, err
	}
	if config, err = o.access(loopback.IsHost(host)); err != nil {
		return config, err
	}
	if config.TraceURL, err = traceURL(o.traceURL); err != nil {
		return config, err
	}
	if config.TLS, err = serverTLS("console", o.cert, o.key); err != nil {
		return config, err
	}
	config.OnlyProxies = config.TLS == nil && !o.insecure && !loopback.IsHost(host)
	if config.OnlyProxies && len(o.proxies) == 0 {
		return config, usagef("--console: %s can be reached from other machines: give --console-cert and --console-key for that, the addresses of a "+
			"proxy with a certificate by --console-proxy-from, or --console-insecure to do without encryption", o.address)
	}
	config.Listener, err = listen(ctx, "console", o.address, "name another address by --console, or do without by --console off")
	if err == nil {
		config.Listener = o.connections.bound(config.Listener, config.Proxies)
	}
	return config, err
}

// access says who gets in.
func (o *consoleOptions) access(isLoopback bool) (config roles.ConsoleConfig, err error) {
	config = roles.ConsoleConfig{ProxyHeader: o.header, Hosts: o.hosts}
	isReached := !isLoopback || len(o.proxies)+len(o.hosts) > 0 // by others, if through a proxy on this machine
	config.LogIn = o.auth == authNATS || o.auth == authAuto && isReached && o.header == ""
	if o.header != "" && config.LogIn {
		return config, usagef("--console-proxy-header lets a proxy say who somebody is, and --console-auth %s lets people log in: give one of them", authNATS)
	}
	proxies := o.proxies
	if o.header != "" && len(proxies) == 0 {
		proxies = []string{"127.0.0.0/8", "::1/128"}
	}
	for _, text := range proxies {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return config, usagef("--console-proxy-from: %q is no range of addresses: use ADDRESS/BITS, such as 10.1.2.3/32", text)
		}
		config.Proxies = append(config.Proxies, prefix)
	}
	return config, nil
}

// traceURL checks where traces are shown. Whoever opens a page sees the address, so it must have no password.
func traceURL(text string) (string, error) {
	const sample = "0af7651916cd43dd8448eb211c80319c"
	if text == "" {
		return "", nil
	}
	to, err := url.Parse(strings.ReplaceAll(text, console.TraceID, sample))
	isShown := err == nil && (to.Scheme == "http" || to.Scheme == "https") && to.Host != "" && to.User == nil
	if !isShown || !strings.Contains(text, console.TraceID) || strings.Contains(to.Host, sample) {
		return "", usagef("--console-trace-url: it is not where a trace is shown: use an address with http or https, without a user, that has {trace} behind the " +
			"host for the ID of the trace, such as http://jaeger.example:16686/trace/{trace}") // it may have a password, so it is not repeated
	}
	return text, nil
}

// consoleCommand runs the console on its own.
func (a *app) consoleCommand() *cobra.Command {
	var o consoleOptions
	var cmd *cobra.Command
	cmd = a.poolCommand(consoleRole, "Run the role that serves the console and the HTTP API", func(c *roles.Cluster) (roles.Role, error) {
		if o.isOff() {
			return roles.Role{}, usagef("--console: a console needs an address")
		}
		config, err := o.listen(cmd.Context())
		if err != nil {
			return roles.Role{}, err
		}
		config.Identity, config.Drain = a.global.identity, roleDrain
		return c.Console(config)
	})
	o.define(cmd)
	return cmd
}
