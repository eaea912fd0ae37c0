package console_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestViewersThatHang: they ask for files and for live events, and read nothing of the answers. Others do not notice.
func TestViewersThatHang(t *testing.T) {
	t.Parallel()
	v := visit(t)
	address := strings.TrimPrefix(v.url, "http://")
	for n := range 200 {
		hung, err := net.Dial("tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = hung.Close() })
		require.NoError(t, hung.(*net.TCPConn).SetReadBuffer(1024))
		path := []string{"/static/htmx.min.js", "/api/carillon/v1/namespaces/default/events:watch"}[n%2]
		for range 100 { // five megabytes: no buffer takes that
			_, err = fmt.Fprintf(hung, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, address)
			require.NoError(t, err)
		}
	}
	for n := range 20 {
		id := fmt.Sprint("seen-", n)
		v.make(t, id, daily)
		assert.Contains(t, v.open("/ns/default/schedules/"+id).body, "at 09:00 every day")
	}
}
