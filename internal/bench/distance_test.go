package bench

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDistance: an answer comes whole, and not before its time. Each end is told when the other ends.
func TestDistance(t *testing.T) {
	t.Parallel()
	server, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	ended := make(chan error, 1)
	go func() {
		conn, err := server.Accept()
		if err == nil {
			_, err = io.Copy(conn, conn) // it echoes
			_ = conn.Close()
		}
		ended <- err
	}()
	const oneWay = 20 * time.Millisecond
	d, err := newDistance(t.Context(), server.Addr().String(), oneWay)
	require.NoError(t, err)
	defer d.close()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", d.address())
	require.NoError(t, err)
	asked := time.Now()
	sent := make([]byte, 3*parcelBytes)
	for i := range sent {
		sent[i] = byte(i % 251)
	}
	_, err = conn.Write(sent)
	require.NoError(t, err)
	answer := make([]byte, len(sent))
	_, err = io.ReadFull(conn, answer)
	require.NoError(t, err)
	assert.Equal(t, sent, answer)
	assert.GreaterOrEqual(t, time.Since(asked), 2*oneWay)
	require.NoError(t, conn.Close())
	require.NoError(t, <-ended)
}
