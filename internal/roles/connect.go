package roles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/internal/natsstats"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	reconnectWait   = 250 * time.Millisecond
	reconnectJitter = 750 * time.Millisecond
	// pingInterval and pingsOutstanding bound how long a silent server counts as alive.
	pingInterval     = 5 * time.Second
	pingsOutstanding = 2
)

// clientInboxes is what the prefix of the inboxes of a client of the frontend has more than that of its process.
const clientInboxes = "_client"

// WaitForNATS is what a role without a connection waits for.
const WaitForNATS = "a connection to NATS"

// Connection is a connection to NATS for the life of the process. It owns further connections, its lanes, which read large shards.
type Connection struct {
	*nats.Conn
	log       *slog.Logger
	connected chan struct{} // has an element once NATS has answered
	closed    chan struct{}
	// dialLane begins to open a lane. lost receives the reason why the first lane was closed for good.
	dialLane  func(lane int) (*Connection, error)
	lost      chan error
	client    func() (*nats.Conn, error)
	dial      Dial
	watching  sync.WaitGroup // the goroutines that watch the lanes
	unobserve func()         // ends the metrics

	mu    sync.Mutex
	lanes []*Connection // the open ones
	ended bool
	// readers and senders are what the roles share that were begun on this connection. They last as long as it: roles may begin again and again.
	readers map[laneSet]*bus.Lanes
	senders map[subjects.Names]*owners.Owners
}

// Dial opens a connection with the given options, as nats.Connect does. They count more than those of the dialer.
type Dial func(...nats.Option) (*nats.Conn, error)

// Connect connects to NATS under a name that identifies the process, and returns once NATS has answered.
//
//   - It waits for a server that is not there yet, until ctx ends. It logs that it waits.
//   - It reconnects forever, and logs that too.
//   - It fails if a server refuses the connection for good, for example for lack of permission.
//
// The caller closes the connection.
func Connect(ctx context.Context, log *slog.Logger, name string, dial Dial, options ...nats.Option) (*Connection, error) {
	made := nats.NewInbox()
	options = append(options, ownInboxes(made))
	c, err := open(log, slog.LevelWarn, name, dial, options...)
	if err != nil {
		return nil, err
	}
	c.dialLane = func(lane int) (*Connection, error) {
		return open(log, slog.LevelDebug, fmt.Sprintf("%s-lane-%d", name, lane), dial, options...)
	}
	c.dial = dial
	c.client = func() (*nats.Conn, error) {
		if chosen := c.Opts.InboxPrefix; chosen != made {
			return dialWith(dial, name+"-client", chosen+clientInboxes)
		}
		return dial(nats.Name(name + "-client"))
	}
	c.unobserve = natsstats.ObserveConns(c.conns)
	if err := c.await(ctx); err != nil {
		c.unobserve()
		return nil, err
	}
	return c, nil
}

// open begins to connect. It logs a lost connection at the given level.
func open(log *slog.Logger, lost slog.Level, name string, dial Dial, options ...nats.Option) (*Connection, error) {
	c := &Connection{log: log, connected: make(chan struct{}, 1), closed: make(chan struct{}), lost: make(chan error, 1)}
	all := append([]nats.Option{
		nats.Name(name),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		// A message that cannot be sent fails at once, so that its sender decides again. If it were buffered, a start could go out long
		// after it was given up.
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

// sender returns what sends requests about executions of an installation.
func (c *Connection) sender(names subjects.Names) (*owners.Owners, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.senders[names]; known != nil {
		return known, nil
	}
	made, err := owners.New(bus.Plain{Conn: c.Conn}, names, nil)
	if err != nil {
		return nil, fmt.Errorf("listen for processes of history: %w", err)
	}
	if c.senders == nil {
		c.senders = map[subjects.Names]*owners.Owners{}
	}
	c.senders[names] = made
	return made, nil
}

// await waits until NATS has answered. It closes the connection if that fails.
func (c *Connection) await(ctx context.Context) error {
	if !c.IsConnected() {
		c.log.WarnContext(ctx, "waiting for NATS", "servers", c.Servers())
	}
	select {
	case <-c.connected:
		c.log.DebugContext(ctx, "connected to NATS",
			"name", c.Opts.Name, "server", c.ConnectedUrlRedacted(), "version", c.ConnectedServerVersion())
		return nil
	case <-c.closed:
		return fmt.Errorf("connect to NATS: %w", c.LastError())
	case <-ctx.Done():
		c.Conn.Close()
		return fmt.Errorf("connect to NATS: %w", context.Cause(ctx))
	}
}

// Client opens another connection, for a process that makes requests to a frontend. A frontend does not answer on the inboxes of its own
// process, nor on those of other processes with the same prefix. If the dialer sets a prefix, the answers come under another that begins
// like it: _INBOX_service_client for _INBOX_service. It fails if NATS does not allow that. The caller closes the connection.
func (c *Connection) Client() (*nats.Conn, error) { return c.client() }

// dialWith opens a connection that gets its answers under a prefix, and makes sure that it may.
func dialWith(dial Dial, name, prefix string) (*nats.Conn, error) {
	conn, err := dial(nats.Name(name), nats.CustomInboxPrefix(prefix))
	if err != nil {
		return nil, err
	}
	trial, err := conn.SubscribeSync(conn.NewInbox())
	if err == nil {
		err = cmp.Or(conn.Flush(), trial.Unsubscribe(), conn.LastError())
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("requests to a frontend need answers under another prefix than its own: let the user subscribe to %s.>: %w", prefix, err)
	}
	return conn, nil
}

// ownInboxes gives a connection a prefix of inboxes that no other process has, so that a frontend recognizes its own answers. Every user
// may subscribe below that prefix. If the dialer sets a prefix, that one counts.
func ownInboxes(prefix string) nats.Option {
	return func(o *nats.Options) error {
		if o.InboxPrefix == "" {
			o.InboxPrefix = prefix
		}
		return nil
	}
}

// logHandlers log that a connection is lost, at the given level, and that it is back, at that level or below. Errors that NATS reports are
// logged at a limited rate, since other processes can cause thousands in a second.
func logHandlers(log *slog.Logger, lost slog.Level) []nats.Option {
	ctx, limited := context.Background(), flood.Limit(log) //permit:context.Background NATS calls back without one
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

// Role returns a role that ends when NATS has closed a connection for good. That ends the process.
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

// Waits returns WaitForNATS while a connection is missing, and otherwise an empty text. It is a probe of all roles.
func (c *Connection) Waits() string {
	for _, conn := range c.all() {
		if !conn.IsConnected() {
			return WaitForNATS
		}
	}
	return ""
}

// Close sends what is buffered, closes the connections, and waits until they are closed and no goroutine watches them.
func (c *Connection) Close() {
	const flushTimeout = time.Second
	if c.IsConnected() {
		_ = c.FlushTimeout(flushTimeout) // nothing helps if the server does not take it
	}
	c.unobserve()
	for _, conn := range c.end() {
		conn.Conn.Close()
		<-conn.closed
	}
	c.watching.Wait()
}
