package builtin

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/carillon-scheduler/carillon/worker"
)

var (
	allowed   = netip.MustParseAddr("127.0.0.1")
	forbidden = netip.MustParseAddr("127.0.0.2")
)

// guarded returns an http action that may reach all but one address, and asks a name server for the addresses of names.
func guarded(t *testing.T, nameServer string) *httpAction {
	t.Helper()
	dialer := newDialer(func(address netip.Addr) bool { return address.Unmap() == forbidden })
	dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, nameServer)
	}}
	action := newHTTPActionBy(dialer, nil)
	t.Cleanup(action.client.CloseIdleConnections)
	return action
}

// at serves on an address and a port of the loopback interface, any if the port is zero, and returns the port.
func at(t *testing.T, address netip.Addr, port uint16, handler http.HandlerFunc) uint16 {
	t.Helper()
	listener, err := net.Listen("tcp", netip.AddrPortFrom(address, port).String())
	if err != nil && address != allowed {
		t.Skipf("this system has no second address of its own: %v", err) // macOS
	}
	require.NoError(t, err)
	server := &http.Server{Handler: handler}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return uint16(listener.Addr().(*net.TCPAddr).Port)
}

func asks(t *testing.T, action *httpAction, url string) error {
	t.Helper()
	_, err := action.handle(t.Context(), sample("http", fmt.Sprintf(`{"url":%q,"timeout":"5s"}`, url)))
	return err
}

func requireForbidden(t *testing.T, err error) {
	t.Helper()
	var typed *worker.Error
	require.ErrorAs(t, err, &typed)
	require.Equal(t, TypeForbiddenTarget, typed.Type, typed.Message)
}

// TestARedirectLeadsToNothingForbidden, whatever leads there.
func TestARedirectLeadsToNothingForbidden(t *testing.T) {
	t.Parallel()
	var port uint16
	reached := func(http.ResponseWriter, *http.Request) { t.Error("was reached") }
	status := map[string]int{"/301": 301, "/302": 302, "/303": 303, "/307": 307, "/308": 308}
	port = at(t, allowed, 0, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", fmt.Sprintf("http://%s:%d/", forbidden, port))
		w.WriteHeader(status[r.URL.Path])
	})
	at(t, forbidden, port, reached)
	action := guarded(t, "")
	for path := range status {
		requireForbidden(t, asks(t, action, fmt.Sprintf("http://%s:%d%s", allowed, port, path)))
	}
}

// TestANameThatChangesItsMindReachesNothingForbidden: the addresses of a name are another one at each look, as those of an attacker
// who counts on being looked up twice; and a name with several addresses reaches those alone that are allowed.
func TestANameThatChangesItsMindReachesNothingForbidden(t *testing.T) {
	t.Parallel()
	var reached, turn atomic.Int32
	port := at(t, allowed, 0, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	at(t, forbidden, port, func(http.ResponseWriter, *http.Request) { t.Error("was reached") })
	names := serveNames(t, func(name string) []netip.Addr {
		switch {
		case name == "both.test.":
			return []netip.Addr{forbidden, allowed}
		case turn.Add(1)%2 == 1:
			return []netip.Addr{allowed}
		}
		return []netip.Addr{forbidden}
	})
	action := guarded(t, names)
	url := fmt.Sprintf("http://rebinds.test:%d/", port)
	require.NoError(t, asks(t, action, url))
	action.client.CloseIdleConnections()
	requireForbidden(t, asks(t, action, url))
	require.NoError(t, asks(t, action, url))
	assert.EqualValues(t, 2, reached.Load())
	_ = asks(t, action, fmt.Sprintf("http://both.test:%d/", port)) // by the first address that is allowed, or by none
}

// serveNames serves the addresses of names, by UDP, and returns where.
func serveNames(t *testing.T, addresses func(name string) []netip.Addr) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			if answer := answerTo(buffer[:n], addresses); answer != nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-served
	})
	return conn.LocalAddr().String()
}

// answerTo answers a question for addresses of IPv4; for those of IPv6 it says that there are none.
func answerTo(question []byte, addresses func(name string) []netip.Addr) []byte {
	var message dnsmessage.Message
	if err := message.Unpack(question); err != nil || len(message.Questions) != 1 {
		return nil
	}
	asked := message.Questions[0]
	message.Response, message.Authoritative, message.Additionals = true, true, nil
	if asked.Type == dnsmessage.TypeA {
		for _, address := range addresses(asked.Name.String()) {
			message.Answers = append(message.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: asked.Name, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: address.As4()},
			})
		}
	}
	answer, err := message.Pack()
	if err != nil {
		return nil
	}
	return answer
}
