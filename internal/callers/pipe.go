package callers

import (
	"bytes"
	"io"
	"net"
	"sync"

	"github.com/nats-io/nats.go"
)

// pipes are connections within the process to an embedded NATS server. Plain ones have no buffer: a server that refuses credentials before it has
// read everything waits for its client to read, and the client for the server, until ten seconds are over.
type pipes struct{ of nats.InProcessConnProvider }

// InProcessConn implements nats.InProcessConnProvider.
func (p pipes) InProcessConn() (net.Conn, error) {
	conn, err := p.of.InProcessConn()
	if err != nil {
		return nil, err
	}
	buffered := &pipe{Conn: conn, written: make(chan []byte, 1), closed: make(chan struct{})}
	go buffered.run()
	return buffered, nil
}

// pipe is a connection whose writes do not wait for the reader.
type pipe struct {
	net.Conn
	written chan []byte
	closed  chan struct{}
	once    sync.Once
}

// run passes on what is written until the pipe is closed.
func (p *pipe) run() {
	for {
		select {
		case data := <-p.written:
			if _, err := p.Conn.Write(data); err != nil {
				_ = p.Close()
				return
			}
		case <-p.closed:
			return
		}
	}
}

// Write takes data that is then sent.
func (p *pipe) Write(data []byte) (int, error) {
	select {
	case p.written <- bytes.Clone(data):
		return len(data), nil
	case <-p.closed:
		return 0, io.ErrClosedPipe
	}
}

// Close closes the connection.
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Conn.Close()
}
