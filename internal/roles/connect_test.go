package roles_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/topology"
)

func dialer(url string) roles.Dial {
	return func(options ...nats.Option) (*nats.Conn, error) { return nats.Connect(url, options...) }
}

func TestConnect(t *testing.T) {
	t.Parallel()
	server := natstest.Server(t)
	conn, err := roles.Connect(t.Context(), natstest.Logger(t), "carillon-test", dialer(server.ClientURL()))
	require.NoError(t, err)
	assert.True(t, conn.IsConnected())
	assert.Equal(t, "carillon-test", conn.Opts.Name)
	conn.Close()
	assert.True(t, conn.IsClosed())
}

// TestConnectBeforeTheServer starts a role first and NATS after it.
func TestConnectBeforeTheServer(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	type result struct {
		conn *roles.Connection
		err  error
	}
	connected := make(chan result, 1)
	tried := make(chan struct{})
	go func() {
		dial := func(options ...nats.Option) (*nats.Conn, error) {
			defer close(tried)
			return nats.Connect(natsURL(port), options...)
		}
		conn, err := roles.Connect(t.Context(), natstest.Logger(t), "early", dial)
		connected <- result{conn, err}
	}()
	<-tried
	natstest.Server(t, func(o *natsserver.Options) { o.Port = port })
	r := <-connected
	require.NoError(t, r.err)
	r.conn.Close()
}

func TestConnectGivesUpWhenToldTo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := roles.Connect(ctx, natstest.Logger(t), "early", dialer(natsURL(freePort(t))))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestConnectionRole(t *testing.T) {
	t.Parallel()
	server := natstest.Server(t)
	conn, err := roles.Connect(t.Context(), natstest.Logger(t), "test", dialer(server.ClientURL()))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.NoError(t, conn.Role().Run(ctx), "told to stop")
	conn.Conn.Close()
	assert.ErrorContains(t, conn.Role().Run(t.Context()), "closed")
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func natsURL(port int) string {
	return "nats://" + (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String()
}

// TestFloodOfRefusals: refusals by NATS are logged at a limited rate, with the number of lines left out. Other processes can cause them, by
// requesting answers to subjects where this process may not publish.
func TestFloodOfRefusals(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(file, []byte(`
		jetstream: { store_dir: "`+filepath.ToSlash(t.TempDir())+`" }
		authorization: { users: [ { user: fenced, password: secret, permissions: { publish: ["may.>"] } } ] }
	`), 0o600))
	var served natstest.Lines
	server := natstest.Server(t, func(o *natsserver.Options) { o.ConfigFile, o.Logger = file, served.Logger() })
	var lines natstest.Lines
	refused := make(chan struct{}, 10_000)
	dial := func(options ...nats.Option) (*nats.Conn, error) {
		options = append(options, nats.UserInfo("fenced", "secret"), func(o *nats.Options) error {
			logged := o.AsyncErrorCB
			o.AsyncErrorCB = func(conn *nats.Conn, sub *nats.Subscription, err error) {
				logged(conn, sub, err)
				refused <- struct{}{}
			}
			return nil
		})
		return nats.Connect(server.ClientURL(), options...)
	}
	conn, err := roles.Connect(t.Context(), lines.Logger(), "fenced", dial)
	require.NoError(t, err)
	defer conn.Close()
	const flood = 3000
	for n := range flood {
		require.NoError(t, conn.Publish("not."+strconv.Itoa(n), nil))
	}
	for range flood {
		<-refused
	}
	for what, logged := range map[string]int{
		"the process": lines.Count("NATS refuses a permission"), "the server": served.Count("Publish Violation"),
	} {
		assert.GreaterOrEqual(t, logged, 20, what)
		assert.Less(t, logged, 100, what)
	}
	assert.NotZero(t, conn.LastError())
}

// TestInboxesOfItsOwn: no other process gets answers under the inbox prefix of a connection. Its lanes share the prefix. A prefix that the
// dialer has chosen stays. What asks a frontend gets its answers elsewhere.
func TestInboxesOfItsOwn(t *testing.T) {
	t.Parallel()
	server := natstest.Server(t)
	prefix := func(options ...nats.Option) string {
		dial := func(given ...nats.Option) (*nats.Conn, error) {
			return nats.Connect(server.ClientURL(), append(options, given...)...)
		}
		conn, err := roles.Connect(t.Context(), natstest.Logger(t), "prefix", dial)
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Request("nobody.listens", nil, natstest.Patience)
		require.ErrorIs(t, err, nats.ErrNoResponders, "answers come there")
		asks, err := conn.Client()
		require.NoError(t, err)
		defer asks.Close()
		want := ""
		if len(options) > 0 {
			want = conn.Opts.InboxPrefix + "_client"
		}
		assert.Equal(t, want, asks.Opts.InboxPrefix)
		return conn.Opts.InboxPrefix
	}
	first, second := prefix(), prefix()
	assert.True(t, strings.HasPrefix(first, "_INBOX."))
	assert.NotEqual(t, first, second)
	assert.Equal(t, "_INBOX_service", prefix(nats.CustomInboxPrefix("_INBOX_service")))
}

// TestNoInboxesForAClient: without the permission, it says which one is missing.
func TestNoInboxesForAClient(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(file, []byte(`authorization { users: [
		{ user: service, password: s, permissions { subscribe: "_INBOX_service.>" } }
	] }`), 0o600))
	server := natstest.Server(t, func(o *natsserver.Options) { o.ConfigFile = file })
	conn, err := roles.Connect(t.Context(), natstest.Logger(t), "client", func(given ...nats.Option) (*nats.Conn, error) {
		own := []nats.Option{nats.UserInfo("service", "s"), nats.CustomInboxPrefix("_INBOX_service")}
		return nats.Connect(server.ClientURL(), append(own, given...)...)
	})
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Client()
	assert.ErrorContains(t, err, "let the user subscribe to _INBOX_service_client.>")
}

// TestOpenAgain: what the roles of a process leave behind when they begin again does not grow.
func TestOpenAgain(t *testing.T) {
	t.Parallel()
	server, names := natstest.Shared(t), natstest.Names(t)
	conn, err := roles.Connect(t.Context(), natstest.Logger(t), "again", func(options ...nats.Option) (*nats.Conn, error) { return server.Connect(options...) })
	require.NoError(t, err)
	defer conn.Close()
	open := func() (subscriptions int, lanes *bus.Lanes) {
		cluster, err := roles.Open(t.Context(), conn, names, topology.Settings{Shards: 2}, roles.Options{Logger: natstest.Logger(t)})
		require.NoError(t, err)
		return conn.NumSubscriptions(), cluster.Lanes()
	}
	subscriptions, lanes := open()
	again, same := open()
	require.Equal(t, subscriptions, again)
	require.Same(t, lanes, same)
}
