package natsserver_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/systemtest/powerloss"
)

// TestAFullDiskThatIsFreedAgain: NATS gives up on a stream after one failed write. When there is room again, the server is
// restarted in place, on its port and with everything that was acknowledged.
func TestAFullDiskThatIsFreedAgain(t *testing.T) {
	disk := powerloss.New(t)
	server := start(t, natsserver.Options{Dir: filepath.Join(disk.Dir, "data"), Sync: natsserver.SyncInterval})
	url := server.ClientURL()
	keep(t, server)
	js := stream(t, server)
	for range 3 {
		_, err := js.Publish(t.Context(), "s", []byte("before"))
		require.NoError(t, err)
	}

	disk.Fill()
	natstest.Eventually(t, natstest.Patience, "the server knows that it stores nothing", func() bool {
		_ = store(t, js)
		return server.Trouble() != ""
	})
	assert.Contains(t, server.Trouble(), "no space left on device")
	assert.Contains(t, server.Trouble(), "streams S:", "the stream is named")
	disk.Free()
	natstest.Eventually(t, natstest.Patience, "it stores again", func() bool { return store(t, js) == nil })
	natstest.Eventually(t, natstest.Patience, "nothing is wrong", func() bool { return server.Trouble() == "" })
	assert.Equal(t, url, server.ClientURL())
	for sequence := range uint64(3) {
		s, err := js.Stream(t.Context(), "S")
		require.NoError(t, err)
		message, err := s.GetMsg(t.Context(), sequence+1)
		require.NoError(t, err)
		assert.Equal(t, "before", string(message.Data))
	}
}

// TestKeepEnds: Keep ends with its context, even while the disk is full.
func TestKeepEnds(t *testing.T) {
	disk := powerloss.New(t)
	server := start(t, natsserver.Options{Dir: filepath.Join(disk.Dir, "data"), Sync: natsserver.SyncInterval})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Keep(ctx) }()
	js := stream(t, server)
	disk.Fill()
	natstest.Eventually(t, natstest.Patience, "the server knows that it stores nothing", func() bool {
		_ = store(t, js)
		return server.Trouble() != ""
	})
	cancel()
	require.NoError(t, <-ended)
	server.Shutdown()
}

func keep(t *testing.T, server *natsserver.Server) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Keep(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
}

// stream creates the stream S with the subject s.
func stream(t *testing.T, server *natsserver.Server) jetstream.JetStream {
	conn, err := server.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
	require.NoError(t, err)
	return js
}

// store stores one message, and fails if that is not possible at once.
func store(t *testing.T, js jetstream.JetStream) error {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := js.Publish(ctx, "s", []byte("after"))
	return err
}
