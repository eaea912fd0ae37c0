package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/pflag"
	"github.com/synadia-io/orbit.go/natscontext"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/schedule"
)

// connectOptions are the flags that say which NATS to use, and as which user.
type connectOptions struct {
	nats    string
	context string

	creds, nkey, user, password, token string
	tlsCA, tlsCert, tlsKey             string
	inboxPrefix, jsAPIPrefix           string

	// contextAPIPrefix is the JetStream API prefix of the context. It is set once there is a connection.
	contextAPIPrefix atomic.Pointer[string]

	// called has the name of each flag in the words of the source that sets it. unused says which settings do not count.
	called map[string]string
	unused []string
}

// The settings of a connection that exclude each other: which server, and which user.
var (
	serverFlags   = alternatives{"nats", "context"}
	identityFlags = alternatives{"creds", "nkey", "user password", "token"}
)

// settle lets the strongest source of each setting count. It runs before any connection. It leaves contradictions to check, since the
// server command may need no other server.
func (o *connectOptions) settle(flags *pflag.FlagSet) {
	for _, all := range []alternatives{serverFlags, identityFlags} {
		kept, unused := all.settle(flags)
		if text := notUsed(unused, kept); text != "" {
			o.unused = append(o.unused, text)
		}
	}
	o.called = map[string]string{}
	flags.VisitAll(func(flag *pflag.Flag) { _, o.called[flag.Name] = flagconf.SourceOf(flag) })
}

func (o *connectOptions) define(flags *pflag.FlagSet) {
	flags.StringVar(&o.nats, "nats", "", "`URL` of the NATS server, several separated by commas; without it, "+
		defaultNATS+", and for the server command an embedded one")
	flags.StringVar(&o.context, "context", "",
		"connect as the context `NAME` of the nats command says: server, credentials and certificates")
	flags.StringVar(&o.creds, "creds", "", "`FILE` of NATS credentials")
	flags.StringVar(&o.nkey, "nkey", "", "`FILE` with the seed of an nkey")
	flags.StringVar(&o.user, "user", "", "`NAME` of a NATS user")
	flags.StringVar(&o.password, "password", "",
		"`PASSWORD` of that user; better in the environment, since others see the command line")
	flags.StringVar(&o.token, "token", "", "`TOKEN` for NATS; better in the environment")
	flags.StringVar(&o.tlsCA, "tls-ca", "", "`FILE` of the CA certificates that the server's must come from; those of the system if not given")
	flags.StringVar(&o.tlsCert, "tls-cert", "", "`FILE` of a certificate to show the server")
	flags.StringVar(&o.tlsKey, "tls-key", "", "`FILE` of the key of that certificate")
	flags.StringVar(&o.inboxPrefix, "inbox-prefix", "",
		"get answers on subjects that begin with `PREFIX`, as permissions may demand; _INBOX if not given")
	flags.StringVar(&o.jsAPIPrefix, "js-api-prefix", "",
		"as a worker in a NATS account of its own, find the JetStream of the installation under `PREFIX`; $JS.API if not given")
}

// check refuses contradictory settings.
func (o *connectOptions) check() error {
	var identities []string
	for _, flag := range []struct{ name, value string }{
		{"creds", o.creds}, {"nkey", o.nkey}, {"user", o.user}, {"token", o.token},
	} {
		if flag.value != "" {
			identities = append(identities, o.called[flag.name])
		}
	}
	switch {
	case len(identities) > 1:
		return usagef("%s name two identities: give one of them", listed(identities))
	case o.password != "" && o.user == "":
		return usagef("%s needs --user", o.called["password"])
	case o.tlsCert != "" && o.tlsKey == "":
		return usagef("%s needs --tls-key", o.called["tls-cert"])
	case o.tlsCert == "" && o.tlsKey != "":
		return usagef("%s needs --tls-cert", o.called["tls-key"])
	case o.nats != "" && o.context != "":
		return usagef("%s and %s name two servers: give one of them", o.called["nats"], o.called["context"])
	}
	return nil
}

// isExternal reports whether the settings name a NATS server, so that none is embedded.
func (o *connectOptions) isExternal() bool { return o.nats != "" || o.context != "" }

// where says for people which NATS is used if none is embedded.
func (o *connectOptions) where() string {
	switch {
	case o.context != "":
		return "context " + o.context
	case o.nats == "":
		return defaultNATS
	}
	return redact(o.nats)
}

// apiPrefix is the beginning of the subjects of the JetStream API; empty means $JS.API. It is known once there is a connection.
func (o *connectOptions) apiPrefix() string {
	if of := o.contextAPIPrefix.Load(); o.jsAPIPrefix == "" && of != nil {
		return *of
	}
	return o.jsAPIPrefix
}

// dialOwner connects a command that needs all of JetStream. It refuses a connection from another account than the installation's, where no
// user has that. It is a roles.Dial.
func (o *connectOptions) dialOwner(options ...nats.Option) (*nats.Conn, error) {
	conn, err := o.dial(options...)
	if err != nil {
		return nil, err
	}
	if prefix := o.apiPrefix(); prefix != "" {
		conn.Close()
		return nil, withHint(schedule.Errorf(schedule.CodeFailedPrecondition,
			"the JetStream API prefix %s is for workers in another NATS account than that of the installation", prefix),
			"connect as a user of the account of the installation, without --js-api-prefix and jetstream_api_prefix")
	}
	return conn, nil
}

// dial connects. It is a roles.Dial.
func (o *connectOptions) dial(options ...nats.Option) (*nats.Conn, error) {
	own, err := o.options()
	if err != nil {
		return nil, err
	}
	options = append(own, options...)
	if o.context == "" {
		server := o.nats
		if server == "" {
			server = defaultNATS
		}
		return nats.Connect(server, options...)
	}
	conn, settings, err := natscontext.Connect(o.context, options...)
	if err == nil && settings.JSDomain != "" {
		conn.Close()
		return nil, fmt.Errorf("context %s is for the JetStream domain %s, and Carillon uses none: "+
			"connect to a server of that domain", o.context, settings.JSDomain)
	}
	o.contextAPIPrefix.Store(&settings.JSAPIPrefix)
	return conn, err
}

// options returns the options of the connection, without the server.
func (o *connectOptions) options() ([]nats.Option, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	var all []nats.Option
	for _, file := range []string{o.creds, o.nkey, o.tlsCA, o.tlsCert, o.tlsKey} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil { // nats.go would report it only on connecting, and then every time
			return nil, err
		}
	}
	switch {
	case o.creds != "":
		all = append(all, nats.UserCredentials(o.creds))
	case o.nkey != "":
		key, err := nats.NkeyOptionFromSeed(o.nkey)
		if err != nil {
			return nil, fmt.Errorf("--nkey %s: %w", o.nkey, err)
		}
		all = append(all, key)
	case o.user != "":
		all = append(all, nats.UserInfo(o.user, o.password))
	case o.token != "":
		all = append(all, nats.Token(o.token))
	}
	if o.tlsCA != "" {
		all = append(all, nats.RootCAs(o.tlsCA))
	}
	if o.inboxPrefix != "" {
		all = append(all, nats.CustomInboxPrefix(o.inboxPrefix))
	}
	if o.tlsCert != "" {
		all = append(all, nats.ClientCert(o.tlsCert, o.tlsKey))
	}
	return all, nil
}

// warnUnused prints which settings of the connection do not count.
func (a *app) warnUnused() {
	for _, text := range a.global.unused {
		_, _ = fmt.Fprintln(a.env.Stderr, "warning: "+text)
	}
}

// connectClient connects a command that makes a request to the API and then ends.
func (a *app) connectClient() (*nats.Conn, error) { return a.connectCommand(a.global.dial) }

// connectOwner connects a command that reads or changes streams and then ends.
func (a *app) connectOwner() (*nats.Conn, jetstream.JetStream, error) {
	conn, err := a.connectCommand(a.global.dialOwner)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, js, nil
}

// connectToChange is connectOwner for a command that changes streams by itself. It refuses that at a standby, whose mirrors would no longer be what the active
// site has. What the site is may be unknown to a user who may do little else; then NATS decides.
func (a *app) connectToChange(ctx context.Context) (*nats.Conn, jetstream.JetStream, error) {
	conn, js, err := a.connectOwner()
	if err != nil {
		return nil, nil, err
	}
	record, _, err := site.NewStore(js, a.global.names).Load(ctx)
	if elsewhere := record.Elsewhere(); err == nil && elsewhere != nil {
		conn.Close()
		return nil, nil, elsewhere.Refusal()
	}
	return conn, js, nil
}

func (a *app) connectCommand(dial roles.Dial) (*nats.Conn, error) {
	a.warnUnused()
	conn, err := dial(nats.Name("carillon-cli"), nats.Timeout(clientTimeout), nats.ErrorHandler(a.refusals.Handle))
	if err != nil {
		return nil, a.global.explain(err)
	}
	return conn, nil
}

// explain adds to the error of a failed connection a hint at what to do.
func (o *connectOptions) explain(err error) error {
	where := o.where()
	switch usage := (*usageError)(nil); {
	case errors.As(err, &usage):
		return err
	case errors.Is(err, nats.ErrNoServers):
		return withHint(schedule.Errorf(schedule.CodeUnavailable, "no NATS server answers at %s", where),
			"start one with: carillon server; or name yours with --nats URL")
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return withHint(schedule.Errorf(schedule.CodePermissionDenied, "NATS at %s does not let you in: %v", where, err),
			"say who you are with --creds, --nkey, --user and --password, --token, or --context")
	}
	return fmt.Errorf("connect to NATS at %s: %w", where, err)
}

// redact hides the secrets in URLs: a password after a user name, or a token on its own.
func redact(urls string) string {
	list := strings.Split(urls, ",")
	for i, text := range list {
		parsed, err := url.Parse(strings.TrimSpace(text))
		if err != nil {
			continue
		}
		if _, named := parsed.User.Password(); parsed.User != nil && !named {
			parsed.User = url.User("xxxxx")
		}
		list[i] = parsed.Redacted()
	}
	return strings.Join(list, ",")
}
