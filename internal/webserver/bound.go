package webserver

import (
	"maps"
	"net"
	"slices"
	"sync"

	"golang.org/x/net/netutil"
)

// shareOfOne is which part of all connections one place may have: one of so many.
const shareOfOne = 4

// Bound returns a listener with at most so many open connections, at least 1. Others wait until one of them is closed. A quarter of them, at least one, may come
// from one place; further ones from there are closed at once, so that one place cannot keep all others waiting. placeOf says from which place an address
// without its port is, and "" for one that may have them all. When the listener is closed, connections are closed that have not sent anything yet: a stop
// need not wait for them.
func Bound(listener net.Listener, atOnce int, placeOf func(address string) string) net.Listener {
	shared := &sharedListener{
		Listener: listener, most: max(1, atOnce/shareOfOne), placeOf: placeOf, open: map[string]int{}, silent: map[*sharedConn]struct{}{},
	}
	return netutil.LimitListener(shared, atOnce)
}

// sharedListener bounds the connections of each place.
type sharedListener struct {
	net.Listener
	most    int
	placeOf func(string) string

	mu sync.Mutex
	// open are how many connections each place has, and silent those that have not sent anything yet.
	open   map[string]int
	silent map[*sharedConn]struct{}
}

// Accept implements net.Listener.
func (l *sharedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if one := l.enter(conn); one != nil {
			return one, nil
		}
		_ = conn.Close()
	}
}

// Close implements net.Listener.
func (l *sharedListener) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	silent := slices.Collect(maps.Keys(l.silent))
	l.mu.Unlock()
	for _, one := range silent {
		_ = one.Close()
	}
	return err
}

// enter counts a connection; nil means that its place has enough. What comes from no address has no place.
func (l *sharedListener) enter(conn net.Conn) *sharedConn {
	one := &sharedConn{Conn: conn, listener: l}
	if host, _, err := net.SplitHostPort(conn.RemoteAddr().String()); err == nil {
		one.place = l.placeOf(host)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.place != "" && l.open[one.place] >= l.most {
		return nil
	}
	l.open[one.place]++
	l.silent[one] = struct{}{}
	return one
}

func (l *sharedListener) leave(one *sharedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.silent, one)
	if l.open[one.place]--; l.open[one.place] == 0 {
		delete(l.open, one.place)
	}
}

func (l *sharedListener) speaks(one *sharedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.silent, one)
}

// sharedConn is a connection that counts until it is closed.
type sharedConn struct {
	net.Conn
	listener *sharedListener
	place    string
	spoken   sync.Once
	closed   sync.Once
}

// Read implements net.Conn.
func (c *sharedConn) Read(into []byte) (n int, err error) {
	if n, err = c.Conn.Read(into); n > 0 {
		c.spoken.Do(func() { c.listener.speaks(c) })
	}
	return n, err
}

// Close implements net.Conn.
func (c *sharedConn) Close() error {
	err := c.Conn.Close()
	c.closed.Do(func() { c.listener.leave(c) })
	return err
}
