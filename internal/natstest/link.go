package natstest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// link passes TCP connections on to an address, until it is cut.
type link struct {
	listener net.Listener
	to       string
	running  sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]struct{}
}

// newLink returns a link that lasts until the test ends.
func newLink(t testing.TB, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("natstest: %v", err)
	}
	l := &link{listener: listener, to: to, conns: map[net.Conn]struct{}{}}
	l.running.Go(l.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		l.set(true)
		l.running.Wait()
	})
	return l
}

func (l *link) address() string { return l.listener.Addr().String() }

// set cuts the link, with all connections, or lets new ones through again.
func (l *link) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	if !cut {
		return
	}
	for conn := range l.conns {
		_ = conn.Close()
	}
}

func (l *link) accept() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", l.to)
		if err != nil || !l.add(from, to) {
			_ = from.Close()
			if err == nil {
				_ = to.Close()
			}
			continue
		}
		l.running.Go(func() { l.pass(from, to) })
		l.running.Go(func() { l.pass(to, from) })
	}
}

// add takes note of a pair of connections, unless the link is cut.
func (l *link) add(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return false
	}
	for _, conn := range conns {
		l.conns[conn] = struct{}{}
	}
	return true
}

// pass copies from one connection to the other, and closes both when one ends.
func (l *link) pass(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_, _ = from.Close(), to.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, from)
	delete(l.conns, to)
}
