package console_test

import (
	"context"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/subjects"
)

// guardedUsers are those of the tests: ann may do everything, and bob may only look. The seed of the nkey is that of nobody else.
const guardedUsers = `
listen: "127.0.0.1:-1"
authorization { users: [
  { user: service, password: s }
  { user: ann, password: a }
  { user: bob, password: b, permissions {
    publish: [
      "carillon.api.default.schedule.list", "carillon.api.default.schedule.count", "carillon.api.default.schedule.describe",
      "carillon.api.default.schedule.history", "carillon.api.default.schedule.runs", "carillon.api.default.schedule.run",
      "carillon.api.default.schedule.preview", "carillon.api.default.schedule.matchingTimes", "carillon.api.default.namespace.describe",
      "carillon.api.default.workflow.read"
    ]
    subscribe: "_INBOX.>" } }
] }
`

// guarded is a console on which people log in, and the NATS server whose users they are.
type guarded struct {
	*visitor
	server *server.Server
	file   string
}

// visitGuarded runs a NATS server with users, a frontend and a console on which people log in, until the end of the test.
func visitGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{file: filepath.Join(t.TempDir(), "nats.conf")}
	g.configure(t, guardedUsers)
	options, err := server.ProcessConfigFile(g.file)
	require.NoError(t, err)
	options.NoLog, options.NoSigs, options.JetStream, options.StoreDir = true, true, true, t.TempDir()
	g.server, err = server.NewServer(options)
	require.NoError(t, err)
	g.server.Start()
	t.Cleanup(g.server.WaitForShutdown)
	t.Cleanup(g.server.Shutdown)
	require.True(t, g.server.ReadyForConnections(patience))

	dial := func(options ...nats.Option) (*nats.Conn, error) {
		return nats.Connect(g.server.ClientURL(), append([]nats.Option{nats.UserInfo("service", "s")}, options...)...)
	}
	log := natstest.Logger(t)
	conn, err := roles.Connect(t.Context(), log, "test", dial)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	cluster, err := roles.Open(t.Context(), conn, subjects.Default(), topology.Settings{Shards: 1}, roles.Options{Logger: log})
	require.NoError(t, err)
	front, ready, err := cluster.Frontend(roles.SearchOptions{Dir: t.TempDir()})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	shown, err := cluster.Console(roles.ConsoleConfig{Listener: listener, LogIn: true, Identity: "console", Drain: time.Second})
	require.NoError(t, err)
	run(t, func(ctx context.Context) error {
		return roles.Supervise(ctx, log, patience, roles.Stage{shown, front}, roles.Stage{conn.Role()})
	})
	<-ready
	own, err := dial()
	require.NoError(t, err)
	t.Cleanup(own.Close)
	api, err := client.New(own, client.Config{Identity: "test"})
	require.NoError(t, err)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	g.visitor = &visitor{t: t, url: "http://" + listener.Addr().String(), api: api, http: &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience, Jar: jar,
	}}
	return g
}

// configure writes the configuration of the NATS server.
func (g *guarded) configure(t *testing.T, config string) {
	t.Helper()
	require.NoError(t, os.WriteFile(g.file, []byte(config), 0o600))
}
