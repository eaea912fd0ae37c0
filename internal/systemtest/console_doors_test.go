package systemtest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writes sends a request as it is written, and returns the answer without its body.
func (b *browser) writes(lines ...string) *http.Response {
	b.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.base, "http://"))
	require.NoError(b.t, err)
	defer conn.Close()
	require.NoError(b.t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(conn, strings.Join(append(lines, "Connection: close", "", ""), "\r\n"))
	require.NoError(b.t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(b.t, err)
	require.NoError(b.t, response.Body.Close())
	return response
}

// hostIsMadeUp: no answer leads to a host that a request names.
func hostIsMadeUp(t *testing.T, _ *fencedConsole, b *browser) {
	for _, host := range []string{"Host: evil.example", "Host: c\r\nX-Forwarded-Host: evil.example", "Host: c\r\nForwarded: host=evil.example"} {
		answer := b.writes("GET "+pageOfBilling+" HTTP/1.1", host)
		assert.Equal(t, http.StatusSeeOther, answer.StatusCode, host)
		assert.Regexp(t, `^/login\?next=%2Fns`, answer.Header.Get("Location"), host)
	}
	answer := b.writes("GET http://evil.example/ns/billing/schedules HTTP/1.1", "Host: evil.example")
	assert.Regexp(t, `^/login\?next=%2Fns`, answer.Header.Get("Location"))
}

// idBreaksAHeader: an ID with line breaks ends neither the address to which an answer leads, nor any other header.
func idBreaksAHeader(t *testing.T, _ *fencedConsole, b *browser) {
	b.logsIn("billing")
	const planted = "a%0D%0ASet-Cookie:%20carillon=planted%0D%0A"
	for _, path := range []string{"/ns/billing/schedules/" + planted, "/ns/" + planted + "/schedules", "/login?next=/ns/" + planted, "/" + planted} {
		for _, method := range []string{"GET", "POST"} {
			answer := b.writes(method+" "+path+" HTTP/1.1", "Host: c", "Cookie: carillon="+b.session(), "Content-Length: 0")
			assert.NotContains(t, answer.Header.Get("Set-Cookie"), "planted", "%s %s", method, path)
			assert.NotContains(t, answer.Header.Get("Location"), "\n", "%s %s", method, path)
		}
	}
	answer := b.asks("POST", pageOfBilling+"/trigger", "", "Idempotency-Key", "a\tb")
	assert.NotContains(t, answer.header.Get("Location"), "\n")
}

// anotherProtocol: the console speaks HTTP, and becomes nothing else.
func anotherProtocol(t *testing.T, _ *fencedConsole, b *browser) {
	cookie := "Cookie: carillon=" + b.logsIn("billing").session()
	for _, protocol := range []string{"websocket", "h2c"} {
		answer := b.writes("GET "+pageOfBilling+" HTTP/1.1", "Host: c", cookie, "Upgrade: "+protocol, "HTTP2-Settings: AAMAAABkAAQAAP__", "Sec-WebSocket-Key: x")
		assert.NotEqual(t, http.StatusSwitchingProtocols, answer.StatusCode, protocol)
	}
	for _, method := range []string{"TRACE", "CONNECT", "PROPFIND"} {
		answer := b.writes(method+" "+pageOfBilling+" HTTP/1.1", "Host: c", cookie)
		assert.GreaterOrEqual(t, answer.StatusCode, http.StatusBadRequest, method)
		assert.Empty(t, answer.Header.Get("Cookie"), method)
	}
}

// twoLengths: a request whose end two headers say differently is refused, so that no proxy sees another request in it.
func twoLengths(t *testing.T, _ *fencedConsole, b *browser) {
	for _, headers := range []string{
		"Content-Length: 1\r\nContent-Length: 2", "Content-Length: 5\r\nTransfer-Encoding: x, chunked", "Transfer-Encoding: identity",
	} {
		answer := b.writes("POST /login HTTP/1.1", "Host: c", headers)
		assert.GreaterOrEqual(t, answer.StatusCode, http.StatusBadRequest, headers)
	}
}
