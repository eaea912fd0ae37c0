package client_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

const refusedUsers = `
listen: "127.0.0.1:-1"
authorization { users: [
  { user: frontend, password: f }
  { user: reader, password: r, permissions {
    publish: ["carillon.api.default.schedule.count", "carillon.api.default.schedule.pause"], subscribe: "_INBOX.>" } }
  { user: deaf, password: d, permissions { publish: ">", subscribe { deny: ">" } } }
] }
`

// refusing runs a NATS server with users, and somebody who answers as a frontend does. It returns clients of its users.
func refusing(t *testing.T) func(user, password string) *client.Client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(file, []byte(refusedUsers), 0o600))
	options, err := server.ProcessConfigFile(file)
	require.NoError(t, err)
	options.NoLog, options.NoSigs = true, true
	s, err := server.NewServer(options)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(s.WaitForShutdown)
	t.Cleanup(s.Shutdown)
	require.True(t, s.ReadyForConnections(natstest.Patience))
	frontend, err := nats.Connect(s.ClientURL(), nats.UserInfo("frontend", "f"))
	require.NoError(t, err)
	t.Cleanup(frontend.Close)
	_, err = frontend.Subscribe("carillon.api.>", func(m *nats.Msg) { _ = m.Respond([]byte(`{"count":7}`)) })
	require.NoError(t, err)
	require.NoError(t, frontend.Flush())
	return func(user, password string) *client.Client {
		var refusals client.Refusals
		conn, err := nats.Connect(s.ClientURL(), nats.UserInfo(user, password), nats.ErrorHandler(refusals.Handle))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		api, err := client.New(conn, client.Config{Refusals: &refusals})
		require.NoError(t, err)
		return api
	}
}

// TestRefused: what NATS refuses fails at once, and names the permission that is missing.
func TestRefused(t *testing.T) {
	t.Parallel()
	as := refusing(t)
	reader := as("reader", "r")
	count, err := reader.Count(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, 7, count)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	for range 2 {
		err = reader.Unpause(ctx, "a", "")
		require.ErrorIs(t, err, client.ErrPermissionDenied)
		assert.EqualError(t, err, "NATS does not let this user publish on carillon.api.default.schedule.unpause")
	}
	require.NoError(t, reader.Pause(ctx, "a", ""), "others go on")
	assert.NoError(t, ctx.Err())
	_, err = reader.Watch(ctx, "")
	require.ErrorIs(t, err, client.ErrPermissionDenied)
	assert.EqualError(t, err, "NATS does not let this user subscribe to carillon.event.default.>")
}

// TestDeaf: a user who may hear no answers is told so, and not that nobody answers.
func TestDeaf(t *testing.T) {
	t.Parallel()
	deaf := refusing(t)("deaf", "d")
	for range 2 {
		_, err := deaf.Count(t.Context(), "")
		require.ErrorIs(t, err, client.ErrPermissionDenied)
		assert.ErrorContains(t, err, "hear answers: let the user subscribe to _INBOX.>")
	}
}
