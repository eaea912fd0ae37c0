package roles

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/natsstats"
)

const (
	reconnectWait   = 250 * time.Millisecond
	reconnectJitter = 750 * time.Millisecond
	// pingInterval and pingsOutstanding bound how long a server that died silently is waited for.
	pingInterval     = 5 * time.Second
	pingsOutstanding = 2
)

// WaitForNATS is what a role waits for that has no connection.
const WaitForNATS = "a connection to NATS"

// Connection is a connection to NATS for as long as the process lives.
type Connection struct {
	*nats.Conn
	closed    chan struct{}
	unobserve func() // ends the metrics
}

// Dial opens a connection with the given options; it is nats.Connect or the like.
type Dial func(...nats.Option) (*nats.Conn, error)

// Connect returns a connection under a name that tells the process apart, once NATS has answered. It waits until ctx ends
// for a server that is not there yet, and reconnects for ever; both are logged. It fails when a server refuses the
// connection for good, for lack of permission for example. The caller closes it.
func Connect(ctx context.Context, log *slog.Logger, name string, dial Dial, options ...nats.Option) (*Connection, error) {
	connected := make(chan struct{}, 1)
	c := &Connection{closed: make(chan struct{})}
	all := append([]nats.Option{
		nats.Name(name),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		// What cannot be sent fails at once and is decided anew. Kept, a start could go out long after it was given up.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(pingsOutstanding),
		nats.ConnectHandler(func(*nats.Conn) { connected <- struct{}{} }),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
	}, logHandlers(log)...)
	conn, err := dial(append(all, options...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	c.Conn = conn
	c.unobserve = natsstats.ObserveConn(conn)
	if !conn.IsConnected() {
		log.Warn("waiting for NATS", "servers", conn.Servers())
	}
	select {
	case <-connected:
		log.Debug("connected to NATS", "server", conn.ConnectedUrlRedacted(), "version", conn.ConnectedServerVersion())
		return c, nil
	case <-c.closed:
		c.unobserve()
		return nil, fmt.Errorf("connect to NATS: %w", conn.LastError())
	case <-ctx.Done():
		c.unobserve()
		conn.Close()
		return nil, fmt.Errorf("connect to NATS: %w", context.Cause(ctx))
	}
}

func logHandlers(log *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(conn *nats.Conn, err error) {
			if !conn.IsClosed() && err != nil {
				log.Warn("lost the connection to NATS", "error", err)
			}
		}),
		nats.ReconnectHandler(func(conn *nats.Conn) {
			log.Info("connected to NATS again", "server", conn.ConnectedUrlRedacted())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, subscription *nats.Subscription, err error) {
			subject := ""
			if subscription != nil {
				subject = subscription.Subject
			}
			log.Warn("NATS reports an error", "error", err, "subject", subject)
		}),
	}
}

// Role returns the role that ends when NATS has closed the connection for good, which is the end of the process.
func (c *Connection) Role() Role {
	return Role{Name: "connection to NATS", Run: func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-c.closed:
			return fmt.Errorf("closed by the server: %w", c.LastError())
		}
	}}
}

// Waits says that there is no connection at present; empty if there is. It is an observe check of all roles.
func (c *Connection) Waits() string {
	if c.IsConnected() {
		return ""
	}
	return WaitForNATS
}

// Close sends what is buffered, closes the connection and waits until nothing of it is left.
func (c *Connection) Close() {
	const flushTimeout = time.Second
	if c.IsConnected() {
		_ = c.FlushTimeout(flushTimeout) // a server that does not take it is beyond help
	}
	c.unobserve()
	c.Conn.Close()
	<-c.closed
}
