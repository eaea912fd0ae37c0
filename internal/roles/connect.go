package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/flood"
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

// Connection is a connection to NATS for as long as the process lives, and those that it reads by, if it has been asked for them.
type Connection struct {
	*nats.Conn
	log       *slog.Logger
	connected chan struct{} // has an element when it is for the first time
	closed    chan struct{}
	// dialLane begins to open one to read by; lost says of the first that is closed for good why.
	dialLane  func(lane int) (*Connection, error)
	lost      chan error
	client    func() (*nats.Conn, error)
	watching  sync.WaitGroup // of those to read by
	unobserve func()         // ends the metrics

	mu    sync.Mutex
	lanes []*Connection // those to read by that there are
	ended bool
}

// Dial opens a connection with the given options; it is nats.Connect or the like.
type Dial func(...nats.Option) (*nats.Conn, error)

// Connect returns a connection under a name that tells the process apart, once NATS has answered. It waits until ctx ends
// for a server that is not there yet, and reconnects for ever; both are logged. It fails when a server refuses the
// connection for good, for lack of permission for example. The caller closes it.
func Connect(ctx context.Context, log *slog.Logger, name string, dial Dial, options ...nats.Option) (*Connection, error) {
	client := func() (*nats.Conn, error) { return dial(nats.Name(name + "-client")) }
	options = append(options, ownInboxes(nats.NewInbox()))
	c, err := open(log, slog.LevelWarn, name, dial, options...)
	if err != nil {
		return nil, err
	}
	c.dialLane = func(lane int) (*Connection, error) {
		return open(log, slog.LevelDebug, fmt.Sprintf("%s-lane-%d", name, lane), dial, options...)
	}
	c.client = client
	c.unobserve = natsstats.ObserveConns(c.conns)
	if err := c.await(ctx); err != nil {
		c.unobserve()
		return nil, err
	}
	return c, nil
}

// open begins to connect. That the connection is lost is logged at the given level.
func open(log *slog.Logger, lost slog.Level, name string, dial Dial, options ...nats.Option) (*Connection, error) {
	c := &Connection{log: log, connected: make(chan struct{}, 1), closed: make(chan struct{}), lost: make(chan error, 1)}
	all := append([]nats.Option{
		nats.Name(name),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		// What cannot be sent fails at once and is decided anew. Kept, a start could go out long after it was given up.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(pingsOutstanding),
		nats.ConnectHandler(func(*nats.Conn) { c.connected <- struct{}{} }),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
	}, logHandlers(log, lost)...)
	var err error
	if c.Conn, err = dial(append(all, options...)...); err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	return c, nil
}

// await waits until NATS has answered. The connection is closed if that fails.
func (c *Connection) await(ctx context.Context) error {
	if !c.IsConnected() {
		c.log.Warn("waiting for NATS", "servers", c.Servers())
	}
	select {
	case <-c.connected:
		c.log.Debug("connected to NATS",
			"name", c.Opts.Name, "server", c.ConnectedUrlRedacted(), "version", c.ConnectedServerVersion())
		return nil
	case <-c.closed:
		return fmt.Errorf("connect to NATS: %w", c.LastError())
	case <-ctx.Done():
		c.Conn.Close()
		return fmt.Errorf("connect to NATS: %w", context.Cause(ctx))
	}
}

// Client opens another connection, for a process that asks its own frontend: that does not answer on the inboxes of this one. The caller
// closes it. It fails where whoever dials has chosen where all answers come.
func (c *Connection) Client() (*nats.Conn, error) {
	conn, err := c.client()
	if err == nil && conn.Opts.InboxPrefix != "" {
		conn.Close()
		return nil, fmt.Errorf("the API does not answer those who get their answers where its own process does: under %s",
			conn.Opts.InboxPrefix)
	}
	return conn, err
}

// ownInboxes gives a connection that has no prefix for answers one that no other process has, within what everybody may use: so a frontend
// knows which answers are for itself. A prefix that whoever dials sets takes its place.
func ownInboxes(prefix string) nats.Option {
	return func(o *nats.Options) error {
		if o.InboxPrefix == "" {
			o.InboxPrefix = prefix
		}
		return nil
	}
}

// logHandlers log what becomes of a connection; that it is lost at a level, and that it is there again below that.
// What NATS refuses, and what it sends that cannot be taken, may come thousands of times in a second: others may cause it.
func logHandlers(log *slog.Logger, lost slog.Level) []nats.Option {
	ctx, limited := context.Background(), flood.Limit(log)
	return []nats.Option{
		nats.DisconnectErrHandler(func(conn *nats.Conn, err error) {
			if !conn.IsClosed() && err != nil {
				log.Log(ctx, lost, "lost the connection to NATS", "name", conn.Opts.Name, "error", err)
			}
		}),
		nats.ReconnectHandler(func(conn *nats.Conn) {
			log.Log(ctx, min(lost, slog.LevelInfo), "connected to NATS again",
				"name", conn.Opts.Name, "server", conn.ConnectedUrlRedacted())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, subscription *nats.Subscription, err error) {
			subject := ""
			if subscription != nil {
				subject = subscription.Subject
			}
			what := "NATS reports an error"
			if errors.Is(err, nats.ErrPermissionViolation) {
				what = "NATS refuses a permission"
			}
			limited.Warn(what, "error", err, "subject", subject)
		}),
	}
}

// Role returns the role that ends when NATS has closed a connection for good, which is the end of the process.
func (c *Connection) Role() Role {
	return Role{Name: "connection to NATS", Run: func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-c.closed:
			return c.closedByServer()
		case err := <-c.lost:
			return err
		}
	}}
}

func (c *Connection) closedByServer() error {
	return fmt.Errorf("closed by the server: %w", c.LastError())
}

// Waits says that there is no connection at present; empty if there is. It is an observe check of all roles.
func (c *Connection) Waits() string {
	for _, conn := range c.all() {
		if !conn.IsConnected() {
			return WaitForNATS
		}
	}
	return ""
}

// Close sends what is buffered, closes the connections and waits until nothing of them is left.
func (c *Connection) Close() {
	const flushTimeout = time.Second
	if c.IsConnected() {
		_ = c.FlushTimeout(flushTimeout) // a server that does not take it is beyond help
	}
	c.unobserve()
	for _, conn := range c.end() {
		conn.Conn.Close()
		<-conn.closed
	}
	c.watching.Wait()
}
