package chaos

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLinkThatIsCut: a cut link lets nothing through, and everything once it is whole again.
func TestLinkThatIsCut(t *testing.T) {
	t.Parallel()
	target, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer target.Close()
	go echo(target)

	l, err := newLink(t.Context(), "a", "b", target.Addr().String())
	require.NoError(t, err)
	defer l.close()
	conn, err := net.Dial("tcp", l.listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.Equal(t, "one", exchange(t, conn, "one", time.Minute))

	l.cut()
	l.cut()
	require.Empty(t, exchange(t, conn, "two", 100*time.Millisecond))
	l.heal()
	l.heal()
	require.Equal(t, "two", exchange(t, conn, "", time.Minute))
}

// TestLinkEndsWhileItIsCut: a cut link can be closed, and closes its connections.
func TestLinkEndsWhileItIsCut(t *testing.T) {
	t.Parallel()
	l, err := newLink(t.Context(), "a", "b", "127.0.0.1:1")
	require.NoError(t, err)
	l.cut()
	conn, err := net.Dial("tcp", l.listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	l.close()
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
}

func echo(listener net.Listener) {
	conn, err := listener.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.Copy(conn, conn)
}

// exchange sends a text and returns the three bytes that come back in time, or nothing.
func exchange(t *testing.T, conn net.Conn, text string, wait time.Duration) string {
	t.Helper()
	_, err := conn.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(wait)))
	answer := make([]byte, 3)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return ""
	}
	return string(answer)
}
