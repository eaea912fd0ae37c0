package cli

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dialFrom connects from an address of this machine.
func dialFrom(ctx context.Context, from, to string) (net.Conn, error) {
	return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(ctx, "tcp", to)
}

// TestConnectionsAreBounded: whoever opens connections and says nothing keeps out nobody else.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"CARILLON_GRPC": "127.0.0.1:0", "CARILLON_GRPC_MAX_CONNECTIONS": "8", "CARILLON_CONSOLE": "127.0.0.1:0", "CARILLON_CONSOLE_MAX_CONNECTIONS": "8",
	}
	d := startDaemonIn(t, env, "server", "--port", "-1", "--data", t.TempDir(), "--log-level", "error")
	console := strings.TrimPrefix(d.output(t, `console +(\S+)`), "http://")
	for name, address := range map[string]string{"console": console, "gateway": d.output(t, `Temporal +(\S+)`)} {
		closed := make(chan struct{}, 20)
		for range 20 {
			conn, err := dialFrom(t.Context(), "127.0.0.1", address)
			require.NoError(t, err)
			defer conn.Close()
			go func() {
				if n, err := io.Copy(io.Discard, conn); n == 0 && err == nil {
					closed <- struct{}{} // by the server, without a word
				}
			}()
		}
		for range 18 {
			select {
			case <-closed:
			case <-time.After(patience):
				t.Fatal(name + " takes as many connections as somebody opens")
			}
		}
	}
	elsewhere := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, to string) (net.Conn, error) {
		return dialFrom(ctx, "127.0.0.2", to)
	}}}
	response, err := elsewhere.Get("http://" + console + "/ns/default/schedules")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusOK, response.StatusCode)
	d.stopped(t)
}

func TestIsIn(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fe80::/10")}
	for _, address := range []string{"10.1.2.3", "::ffff:10.1.2.3", "fe80::1%eth0"} {
		assert.True(t, isIn(address, proxies), address)
	}
	for _, address := range []string{"11.1.2.3", "2001:db8::1", "", "x"} {
		assert.False(t, isIn(address, proxies), address)
	}
}
