package chaos

import (
	"context"
	"io"
	"net"
	"sync"
)

// link is the way from one node to another: a proxy that the first node connects to instead of the second. While it is cut
// nothing comes through, and nothing is closed: neither side is told, as in a network that drops packets. Data on its way
// arrives when the link is whole again, as TCP would send it again.
type link struct {
	from, to string
	listener net.Listener
	target   string

	mu    sync.Mutex
	whole chan struct{} // closed while the link is whole
	conns map[net.Conn]bool
	done  bool
	group sync.WaitGroup
}

func newLink(ctx context.Context, from, to, target string) (*link, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{
		from: from, to: to, listener: listener, target: target,
		whole: make(chan struct{}), conns: map[net.Conn]bool{},
	}
	close(l.whole)
	l.group.Go(l.accept)
	return l, nil
}

func (l *link) url() string { return "nats://" + l.listener.Addr().String() }

// cut and heal say whether anything comes through. Each may be called repeatedly.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if isClosed(l.whole) {
		l.whole = make(chan struct{})
	}
}

func (l *link) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !isClosed(l.whole) {
		close(l.whole)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// passable returns a channel that is closed when something may come through.
func (l *link) passable() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.whole
}

// close ends the link with all its connections.
func (l *link) close() {
	l.heal()
	_ = l.listener.Close()
	l.mu.Lock()
	l.done = true
	for conn := range l.conns {
		_ = conn.Close()
	}
	l.mu.Unlock()
	l.group.Wait()
}

func (l *link) accept() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.group.Go(func() { l.connect(conn) })
	}
}

// connect passes on one connection until either side closes it.
func (l *link) connect(from net.Conn) {
	if !l.keep(from) {
		return
	}
	defer l.drop(from)
	<-l.passable()
	to, err := net.Dial("tcp", l.target)
	if err != nil {
		return // the node is down: the other side sees its connection closed, and tries again
	}
	if !l.keep(to) {
		return
	}
	defer l.drop(to)
	var group sync.WaitGroup
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		group.Go(func() {
			l.pass(pair[0], pair[1])
			_ = from.Close()
			_ = to.Close()
		})
	}
	group.Wait()
}

// keep notes a connection, to be closed with the link. It reports whether the link is still open.
func (l *link) keep(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		_ = conn.Close()
		return false
	}
	l.conns[conn] = true
	return true
}

func (l *link) drop(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
	_ = conn.Close()
}

func (l *link) pass(from io.Reader, to io.Writer) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			<-l.passable()
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			<-l.passable() // the end does not come through either
			return
		}
	}
}
