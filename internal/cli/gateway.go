package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/internal/loopback"
	"github.com/carillon-scheduler/carillon/internal/roles"
)

const (
	// gatewayRole is the name of the role that serves Temporal's clients.
	gatewayRole = "gateway"
	// off is the address of something that is not served.
	off = "off"
)

// defaultGateway is where a gateway serves, and where its clients look for it.
const defaultGateway = "127.0.0.1:7233"

// gatewayOptions are the flags of the commands that run a gateway.
type gatewayOptions struct {
	grpc, http    string
	cert, key, ca string
	insecure      bool
	auth          string
	connections   connections
}

// The ways in which a gateway lets clients in: see the flag grpc-auth.
const (
	authAuto = "auto"
	authNATS = "nats"
	authNone = "none"
)

// define defines the flags. http is where the same is served over HTTP unless the flag says otherwise.
func (o *gatewayOptions) define(cmd *cobra.Command, http string) {
	addFlags(cmd, "Temporal's clients", func(flags *pflag.FlagSet) {
		flags.StringVar(&o.grpc, "grpc", defaultGateway, "serve Temporal's clients, over gRPC, on `ADDRESS`; off for nowhere")
		flags.StringVar(&o.http, "http-api", http, "serve the same as JSON over HTTP on `ADDRESS`; off for nowhere")
		flags.StringVar(&o.cert, "grpc-cert", "", "serve Temporal's clients over TLS only, with the certificate of `FILE`")
		flags.StringVar(&o.key, "grpc-key", "", "`FILE` of the key of that certificate")
		flags.StringVar(&o.ca, "grpc-client-ca", "", "serve only clients with a certificate of the authorities of `FILE`")
		flags.BoolVar(&o.insecure, "grpc-insecure", false, "serve on another address than loopback also without a certificate")
		o.auth = authAuto
		flags.Var(flagconf.NewEnum(&o.auth, authAuto, authNATS, authNone), "grpc-auth", "let clients in by `MODE`: nats demands the credentials "+
			"of a NATS user, whose permissions count; none lets everybody do everything; auto is none if only this machine or clients with a "+
			"certificate (--grpc-client-ca) get in, and nats otherwise")
		o.connections.define(flags, "grpc", grpcConnections, "")
	})
}

// isOff reports whether there is no gateway.
func (o *gatewayOptions) isOff() bool { return o.grpc == off }

// listen opens the listeners of a gateway.
func (o *gatewayOptions) listen(ctx context.Context) (config roles.GatewayConfig, err error) {
	if config.TLS, err = o.tls(); err != nil {
		return config, err
	}
	config.Anonymous = o.letsEverybodyIn()
	if config.GRPC, err = o.open(ctx, "grpc", o.grpc); err != nil {
		return config, err
	}
	if o.http == off {
		return config, nil
	}
	if config.HTTP, err = o.open(ctx, "http-api", o.http); err != nil {
		_ = config.GRPC.Close()
	}
	return config, err
}

// open listens on the address of a flag. Without a certificate it must be one that only this machine reaches.
func (o *gatewayOptions) open(ctx context.Context, flag, address string) (net.Listener, error) {
	host, err := hostOf(flag, address, defaultGateway)
	if err != nil {
		return nil, err
	}
	if o.cert == "" && !o.insecure && !loopback.IsHost(host) {
		return nil, usagef("--%s: %s can be reached from other machines: give --grpc-cert and --grpc-key for that, or --grpc-insecure to "+
			"do without encryption", flag, address)
	}
	listener, err := listen(ctx, flag, address, "name another address by --"+flag+", or do without by --"+flag+" off")
	if err != nil {
		return nil, err
	}
	return o.connections.bound(listener, nil), nil
}

// hostOf returns the host of the address of a flag, which is such as another one.
func hostOf(flag, address, such string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", usagef("--%s: %q is not an address: use HOST:PORT, such as %s, or off", flag, address, such)
	}
	return host, nil
}

// serverTLS reads the certificate of a server from the files of the flags FLAG-cert and FLAG-key. Without one it returns nil.
func serverTLS(flag, cert, key string) (*tls.Config, error) {
	if cert == "" && key == "" {
		return nil, nil
	}
	if cert == "" || key == "" {
		return nil, usagef("--%[1]s-cert and --%[1]s-key belong together", flag)
	}
	certificate, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, usagef("--%[1]s-cert, --%[1]s-key: %[2]w", flag, err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}, nil
}

// listen listens on the address of a flag. The hint says what to do if its port is in use.
func listen(ctx context.Context, flag, address, hint string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, withHint(fmt.Errorf("--%s: the port of %s is in use", flag, address), "%s", hint)
	}
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return listener, nil
}

// letsEverybodyIn reports whether clients need no credentials.
func (o *gatewayOptions) letsEverybodyIn() bool {
	switch o.auth {
	case authNone:
		return true
	case authNATS:
		return false
	}
	for _, address := range []string{o.grpc, o.http} {
		host, _, err := net.SplitHostPort(address)
		if address != off && (err != nil || !loopback.IsHost(host)) {
			return o.ca != ""
		}
	}
	return true
}

// tls reads the certificates of the flags. Without any it returns nil.
func (o *gatewayOptions) tls() (*tls.Config, error) {
	config, err := serverTLS("grpc", o.cert, o.key)
	if err == nil && config == nil && o.ca != "" {
		err = usagef("--grpc-client-ca needs --grpc-cert and --grpc-key: without TLS no client shows a certificate")
	}
	if err != nil || o.ca == "" {
		return config, err
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	config.ClientCAs, err = readAuthorities("grpc-client-ca", o.ca)
	return config, err
}

// readAuthorities reads the certificates of authorities from the file of a flag.
func readAuthorities(flag, file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef("--%s: %w", flag, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, usagef("--%s: %s has no certificate", flag, file)
	}
	return pool, nil
}

// gatewayCommand runs the gateway on its own.
func (a *app) gatewayCommand() *cobra.Command {
	var o gatewayOptions
	var cmd *cobra.Command
	cmd = a.poolCommand(gatewayRole, "Run the role that serves Temporal's clients", func(c *roles.Cluster) (roles.Role, error) {
		if o.isOff() {
			return roles.Role{}, usagef("--grpc: a gateway needs an address")
		}
		config, err := o.listen(cmd.Context())
		if err != nil {
			return roles.Role{}, err
		}
		config.Drain = roleDrain
		role, _, err := c.Gateway(config)
		return role, err
	})
	o.define(cmd, "127.0.0.1:8233")
	return cmd
}
