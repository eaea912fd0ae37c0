package streamwatch_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/streamwatch"
	"github.com/carillon-scheduler/carillon/internal/systemtest/powerloss"
	"github.com/carillon-scheduler/carillon/internal/topology"
)

// TestAFullDisk: NATS does not answer a client that stores, and refuses all writes to the stream even when there is room again.
// The watch names the stream and the reason until NATS has been restarted.
func TestAFullDisk(t *testing.T) {
	disk := powerloss.New(t)
	server := natstest.Server(t, func(o *natsserver.Options) { o.Dir = filepath.Join(disk.Dir, "data") })
	conn, err := server.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	var unanswered atomic.Uint64
	in := install(t, js, topology.Settings{Shards: 1}, unanswered.Load)
	in.await(t, "all is well", isEmpty)

	disk.Fill()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = js.Publish(ctx, in.names.DeadLetter("generator"), []byte("{}"))
	require.ErrorIs(t, err, context.DeadlineExceeded, "NATS says nothing")
	disk.Free()
	result := streamwatch.Probe(t.Context(), js, in.names.DeadLetterStream())
	assert.Contains(t, result.Refused, "no space left on device")
	unanswered.Add(1)
	waits := in.await(t, "the stream is named", notEmpty)
	assert.Contains(t, waits, "stream "+in.names.DeadLetterStream()+", to which NATS refuses all writes since one has failed")
	assert.Contains(t, waits, streamwatch.WhenRefused)

	keeping, stop := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- server.Keep(keeping) }()
	in.await(t, "all is well again", isEmpty)
	stop()
	require.NoError(t, <-kept)
}
