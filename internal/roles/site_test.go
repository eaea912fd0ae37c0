package roles_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/probe"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/site"
)

// TestASiteThatChangesDuringAStart: what a start says that is broken off does not end the process.
func TestASiteThatChangesDuringAStart(t *testing.T) {
	t.Parallel()
	server, names, log := natstest.Shared(t), natstest.Names(t), natstest.Logger(t)
	_, js := natstest.Connect(t, server)
	store := site.NewStore(js, names)
	record := site.Linked("east", "west", time.Now())
	require.NoError(t, store.Save(t.Context(), record, 0, 1))
	conn, err := roles.Connect(t.Context(), log, "test", func(options ...nats.Option) (*nats.Conn, error) { return server.Connect(options...) })
	require.NoError(t, err)
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun, ended := make(chan *site.Elsewhere), make(chan error, 1)
	role := roles.AtSite(log, probe.NewHealth(ctx), conn, names, func(ctx context.Context, elsewhere *site.Elsewhere) error {
		begun <- elsewhere
		<-ctx.Done()
		return errors.New("gave up waiting for something")
	})
	go func() { ended <- role.Run(ctx) }()
	assert.Nil(t, <-begun)
	_, revision, err := store.Load(t.Context())
	require.NoError(t, err)
	record.State = site.Standby
	require.NoError(t, store.Save(t.Context(), record, revision, 1))
	assert.NotNil(t, <-begun, "it runs as a standby then")
	cancel()
	assert.ErrorContains(t, <-ended, "gave up waiting")
}
