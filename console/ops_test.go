package console_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// until opens a page until it shows a text.
func (v *visitor) until(path, text string) (body string) {
	v.t.Helper()
	natstest.Eventually(v.t, patience, path+" shows "+text, func() bool {
		body = v.open(path).body
		return strings.Contains(body, text)
	})
	return body
}

// TestNow: the first page shows how the installation is, what has run and what comes.
func TestNow(t *testing.T) {
	t.Parallel()
	v := visitAll(t)
	v.make(t, "each-minute", schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Minute)}}})
	_, err := v.api.Trigger(t.Context(), schedule.TriggerRequest{ID: "each-minute"})
	require.NoError(t, err)
	assert.Contains(t, v.open("/").body, "<title>Now · Carillon</title>")
	body := v.until("/ns/default/now", `<span class="state good">completed</span>`)
	assert.Contains(t, body, `<span class="state good">all is well</span>`)
	assert.Contains(t, body, `<rect class="good"`)
	v.until("/ns/default/now", `<a href="/ns/default/executions">0</a> <small>open</small>`)
	body = v.until("/ns/default/now", `<a href="/ns/default/schedules/each-minute">each-minute</a>`)
	assert.Contains(t, body, `<rect class="due"`)
	assert.Less(t, len(body), 150_000)
}

// TestNowWithoutTheRest: parts that nobody answers for say so, and the others are there.
func TestNowWithoutTheRest(t *testing.T) {
	t.Parallel()
	v := visit(t)
	v.make(t, "report", daily)
	got := v.open("/ns/default/now")
	assert.Equal(t, 200, got.status)
	assert.Contains(t, got.body, "there is no gateway")
	assert.Contains(t, got.body, "no process of the pool is there")
	assert.Contains(t, got.body, "Nothing is due in the next hour.")
}

// users of a server: all but one may do everything, and that one may ask frontends.
const users = `
jetstream {}
accounts {
  HOME { jetstream: enabled, users: [ { user: service, password: s }, { user: clerk, password: c, permissions { publish: ["*.api.>"], subscribe: ["_INBOX.>"] } } ] }
  OTHER { users: [ { user: stranger, password: x } ] }
}
`

// TestNowWithFewRights: what a user may not look at says so, and the others are there.
func TestNowWithFewRights(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "users.conf")
	require.NoError(t, os.WriteFile(file, []byte(users), 0o600))
	server := natstest.Server(t, func(o *natsserver.Options) { o.ConfigFile = file })
	names := natstest.Names(t)
	as := func(user, password string) *nats.Conn {
		conn, err := nats.Connect(server.ClientURL(), nats.UserInfo(user, password), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		return conn
	}
	serve(t, names, as("service", "s"))
	clerk := showTo(t, names, as("clerk", "c"))
	clerk.make(t, "report", daily)
	got := clerk.open("/ns/default/now")
	assert.Equal(t, 200, got.status)
	assert.Contains(t, got.body, "NATS does not let this user publish on $JS.API.INFO")
	assert.Contains(t, got.body, "none failed, 0 running")
	assert.Contains(t, got.body, "Nothing is due in the next hour.")
	assert.Equal(t, 403, clerk.open("/ns/default/cluster").status)
	assert.Equal(t, 403, clerk.open("/ns/default/dead-letters").status)
	stranger := showTo(t, names, as("stranger", "x")).open("/ns/default/cluster")
	assert.Equal(t, 403, stranger.status)
	assert.Contains(t, stranger.body, "your account has no JetStream")
}

// TestNowWithoutNATS: the page says at once that NATS is away.
func TestNowWithoutNATS(t *testing.T) {
	t.Parallel()
	server := natstest.Server(t)
	conn, _ := natstest.Connect(t, server.ClientURL())
	v := showTo(t, natstest.Names(t), conn)
	server.Shutdown()
	natstest.Eventually(t, patience, "the connection is gone", func() bool { return !conn.IsConnected() })
	got := v.open("/ns/default/now")
	assert.Equal(t, 200, got.status)
	assert.Contains(t, got.body, "NATS is away: there is no connection")
	assert.Contains(t, got.body, "Not known.")
	assert.Equal(t, 503, v.open("/ns/default/cluster").status)
}
