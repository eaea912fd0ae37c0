package webserver_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/webserver"
)

// patience bounds every wait.
const patience = 30 * time.Second

// bounded is a listener with at most eight connections, two of them from one address. Those from 127.0.0.9 may have them all.
type bounded struct {
	net.Listener
	t        *testing.T
	accepted chan net.Conn
}

func newBounded(t *testing.T) *bounded {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &bounded{webserver.Bound(inner, 8, func(address string) string {
		if address == "127.0.0.9" {
			return ""
		}
		return address
	}), t, make(chan net.Conn, 100)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := b.Accept()
			if err != nil {
				return
			}
			b.accepted <- conn
			_, _ = conn.Write([]byte("x"))
		}
	}()
	t.Cleanup(func() {
		_ = b.Close()
		<-ended
		close(b.accepted)
		for conn := range b.accepted {
			_ = conn.Close()
		}
	})
	return b
}

// comes connects from an address.
func (b *bounded) comes(from string) net.Conn {
	b.t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(b.t.Context(), "tcp", b.Addr().String())
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(b.t, conn.SetDeadline(time.Now().Add(patience)))
	return conn
}

// isIn waits until a connection is accepted or closed.
func isIn(conn net.Conn) bool {
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err == nil
}

// TestOnePlaceHasAQuarter: whoever comes from one address cannot take the connections of all others.
func TestOnePlaceHasAQuarter(t *testing.T) {
	t.Parallel()
	b := newBounded(t)
	for range 2 {
		assert.True(t, isIn(b.comes("127.0.0.1")))
	}
	for range 5 {
		assert.False(t, isIn(b.comes("127.0.0.1")), "it is closed at once")
	}
	assert.True(t, isIn(b.comes("127.0.0.2")))
	first := <-b.accepted
	require.NoError(t, first.Close())
	_ = first.Close() // which counts once
	assert.True(t, isIn(b.comes("127.0.0.1")), "there is room again")
	assert.False(t, isIn(b.comes("127.0.0.1")))
	for range 4 {
		assert.True(t, isIn(b.comes("127.0.0.9")))
	}
}

// TestOthersWait: when all connections are open, another one waits until one of them is closed.
func TestOthersWait(t *testing.T) {
	t.Parallel()
	b := newBounded(t)
	for range 8 {
		require.True(t, isIn(b.comes("127.0.0.9")))
	}
	late := b.comes("127.0.0.2")
	assert.Len(t, b.accepted, 8)
	require.NoError(t, (<-b.accepted).Close())
	assert.True(t, isIn(late))
	assert.Len(t, b.accepted, 8)
}

// TestAClosedListenerEnds, also while all connections are open. Those that have not sent anything are closed with it.
func TestAClosedListenerEnds(t *testing.T) {
	t.Parallel()
	b := newBounded(t)
	var conns []net.Conn
	for range 8 {
		conn := b.comes("127.0.0.9")
		require.True(t, isIn(conn))
		conns = append(conns, conn)
	}
	_, err := conns[0].Write([]byte("x"))
	require.NoError(t, err)
	accepted := <-b.accepted
	_, err = io.ReadFull(accepted, make([]byte, 1))
	require.NoError(t, err)
	require.NoError(t, b.Close())
	for _, conn := range conns[1:] {
		assert.False(t, isIn(conn))
	}
	_, err = accepted.Write([]byte("x"))
	require.NoError(t, err)
	assert.True(t, isIn(conns[0]))
	require.NoError(t, accepted.Close())
}
