package speaker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestMain(m *testing.M) { natstest.Main(m) }

// clerks may ask JetStream about one stream, and for nothing else.
const clerks = `
authorization { users: [
  { user: service, password: s }
  { user: clerk, password: c, permissions { publish: ["$JS.API.STREAM.INFO.SEEN"], subscribe: "_INBOX.>" } }
] }
`

// newClerk returns a speaker for a clerk.
func newClerk(t *testing.T) *speaker.Speaker {
	t.Helper()
	file := filepath.Join(t.TempDir(), "users.conf")
	require.NoError(t, os.WriteFile(file, []byte(clerks), 0o600))
	server := natstest.Server(t, func(o *natsserver.Options) { o.ConfigFile = file })
	own, err := nats.Connect(server.ClientURL(), nats.UserInfo("service", "s"))
	require.NoError(t, err)
	t.Cleanup(own.Close)
	js, err := jetstream.New(own)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "SEEN", Subjects: []string{"seen"}})
	require.NoError(t, err)
	var refusals client.Refusals
	conn, err := nats.Connect(server.ClientURL(), nats.UserInfo("clerk", "c"), nats.ErrorHandler(refusals.Handle))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	api, err := client.New(conn, client.Config{Refusals: &refusals})
	require.NoError(t, err)
	return speaker.New(speaker.Config{API: api, Conn: conn, Names: subjects.Default(), Identity: "clerk", Refusals: &refusals})
}

// TestARefusalEndsOneRequest: others of the same user go on, and so do those that come later.
func TestARefusalEndsOneRequest(t *testing.T) {
	t.Parallel()
	clerk := newClerk(t)
	look := func(ctx context.Context, js jetstream.JetStream) error {
		_, err := js.Stream(ctx, "SEEN")
		return err
	}
	refused := map[string]func(context.Context, jetstream.JetStream) error{
		"$JS.API.INFO": func(ctx context.Context, js jetstream.JetStream) error {
			_, err := js.AccountInfo(ctx)
			return err
		},
		"$JS.API.STREAM.INFO.OTHER": func(ctx context.Context, js jetstream.JetStream) error {
			_, err := js.Stream(ctx, "OTHER")
			return errors.Join(look(ctx, js), err)
		},
		"$JS.API.STREAM.PURGE.SEEN": func(ctx context.Context, js jetstream.JetStream) error {
			_, err := bus.Ask(ctx, js, "STREAM.PURGE.SEEN", struct{}{})
			return err
		},
	}
	err := clerk.AskJetStream(t.Context(), func(ctx context.Context, js jetstream.JetStream) error {
		for subject, ask := range refused {
			err := clerk.AskJetStream(t.Context(), ask)
			require.ErrorIs(t, err, client.ErrPermissionDenied)
			assert.EqualError(t, err, "NATS does not let this user publish on "+subject)
		}
		return errors.Join(ctx.Err(), look(ctx, js))
	})
	require.NoError(t, err, "this one has been refused nothing")
	require.NoError(t, clerk.AskJetStream(t.Context(), look))
}
