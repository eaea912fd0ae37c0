package callers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// MaxKnown is how many users are known at the same time, each with a connection to NATS. One more takes the place of the user who was
	// here longest ago and has no request in progress.
	MaxKnown = 1000
	// idleAfter is how long a connection is kept without a request. sweepEvery is how often idle ones are looked for.
	idleAfter  = 5 * time.Minute
	sweepEvery = 30 * time.Second
	// refusedFor is how long credentials that NATS has refused are not shown to NATS again. brokenFor is the same after an error that says
	// nothing about the credentials.
	refusedFor = 5 * time.Second
	brokenFor  = time.Second
	// opensPerSecond and opensAtOnce bound how fast connections are opened, for all clients together.
	opensPerSecond = 50
	opensAtOnce    = 200
)

var (
	// ErrRefused says that NATS does not know the credentials.
	ErrRefused = errors.New("NATS does not know these credentials")
	// ErrTooMany says that connections are opened too fast, or that an address has sent too many credentials that NATS does not know. They
	// have not been looked at.
	ErrTooMany = errors.New("too many credentials have been tried: try again in a few seconds")
	// ErrUnjudged says that NATS lets everybody in, so that credentials prove nothing.
	ErrUnjudged = errors.New("the NATS server has no users: it takes any credentials, so they prove nothing")
)

// Config is what [New] needs. All fields are required.
type Config struct {
	// Conn hears the messages of users. It may subscribe to all rights.
	Conn  *nats.Conn
	Names subjects.Names
	// Dial opens a connection to the same NATS servers. Options that are given to it count more than its own.
	Dial   func(...nats.Option) (*nats.Conn, error)
	Logger *slog.Logger
	Now    func() time.Time
}

// Client is somebody who sends a request. It can be compared.
type Client struct {
	Credentials Credentials
	// Address is the network address without the port. Wrong credentials count against it.
	Address string
}

// Callers knows the users who have sent requests lately. [New] makes one. It is safe for concurrent use.
type Callers struct {
	config    Config
	log       *slog.Logger
	questions questions
	rights    *nats.Subscription
	opens     *rate.Limiter
	failures  failures
	judging   sync.Mutex
	judged    judgement

	mu     sync.Mutex
	known  map[[sha256.Size]byte]*user
	closed bool
	work   sync.WaitGroup // connections that are being opened
}

// New begins to hear the messages of users, and returns once NATS knows that it does. The error is one of NATS. Close it.
func New(config Config) (*Callers, error) {
	c := &Callers{
		config: config, log: flood.Limit(config.Logger), opens: rate.NewLimiter(opensPerSecond, opensAtOnce),
		failures: failures{of: map[string]*address{}}, known: map[[sha256.Size]byte]*user{},
	}
	var err error
	if c.rights, err = config.Conn.Subscribe(config.Names.API("*", subjects.ThingWorkflow, "*"), c.questions.heard); err != nil {
		return nil, fmt.Errorf("hear what users may do: %w", err)
	}
	// Otherwise, a user who asks at once could be faster than the subscription, and would wait for an answer that nobody gives.
	if err = config.Conn.Flush(); err != nil {
		return nil, fmt.Errorf("hear what users may do: %w", err)
	}
	return c, nil
}

// Run closes the connections of users who have not been here for a while, until ctx ends.
func (c *Callers) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.sweep(c.config.Now())
		}
	}
}

// Close closes all connections. After that, every client is refused.
func (c *Callers) Close() {
	c.mu.Lock()
	all := c.known
	c.known, c.closed = nil, true
	c.mu.Unlock()
	c.work.Wait()
	for _, u := range all {
		u.close()
	}
	_ = c.rights.Unsubscribe() // it fails if the connection is closed
}

// Known reports whether NATS knows the credentials of a client: nil means yes. Other errors: ErrRefused, ErrTooMany, ErrUnjudged, that of ctx,
// and those of NATS.
func (c *Callers) Known(ctx context.Context, client Client) error {
	_, err := c.find(ctx, client)
	return err
}

// Connection is a connection of a user.
type Connection struct {
	Conn *nats.Conn
	// Refusals tell requests on Conn that NATS refuses them.
	Refusals *client.Refusals
}

// Use returns the connection of a client, for requests in its name. It stays open until done is called, unless NATS or Forget closes it. The
// errors are those of Known; then done is nil.
func (c *Callers) Use(ctx context.Context, client Client) (connection Connection, done func(), err error) {
	u, err := c.find(ctx, client)
	if err != nil {
		return connection, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	u.requests++
	return Connection{u.conn, &u.refusals}, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		u.requests--
		u.used = c.config.Now()
	}, nil
}

// Forget closes the connection with some credentials. Another request with them opens another one.
func (c *Callers) Forget(credentials Credentials) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := credentials.digest()
	if u := c.known[key]; u != nil {
		delete(c.known, key)
		c.work.Go(u.close)
	}
}

// May reports whether a client may publish on a subject. A permission that is taken away counts for a few seconds more. Errors: those of
// Known, and [ErrSilent].
func (c *Callers) May(ctx context.Context, client Client, subject string) (bool, error) {
	u, err := c.find(ctx, client)
	if err != nil {
		return false, err
	}
	return u.may(ctx, &c.questions, subject, c.config.Now)
}

// find returns the user with the credentials of a client.
func (c *Callers) find(ctx context.Context, client Client) (*user, error) {
	u, err := c.enter(client)
	if err != nil {
		return nil, err
	}
	select {
	case <-u.opened:
		return u, u.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// enter returns the user with the credentials of a client, who may not have been let in by NATS yet.
func (c *Callers) enter(client Client) (*user, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, key := c.config.Now(), client.Credentials.digest()
	if c.closed {
		return nil, nats.ErrConnectionClosed
	}
	if u := c.known[key]; u != nil && !u.isOver(now) {
		u.used = now
		return u, nil
	}
	from, allowed := c.failures.begin(client.Address, now) // before the limit of all, which one address must not use up for others
	if !allowed {
		return nil, ErrTooMany
	}
	if !c.opens.AllowN(now, 1) || !c.makeRoom(now) {
		from.end(false, now)
		return nil, ErrTooMany
	}
	u := newUser(now)
	c.known[key] = u
	c.work.Go(func() { c.open(u, client, from) })
	return u, nil
}

// makeRoom lets one more user in. It reports whether there is room: whoever has a request in progress stays.
func (c *Callers) makeRoom(now time.Time) bool {
	if len(c.known) < MaxKnown {
		return true
	}
	var oldest *user
	var at [sha256.Size]byte
	for key, u := range c.known {
		if u.isOver(now) {
			oldest, at = u, key
			break
		}
		if u.requests == 0 && (oldest == nil || u.used.Before(oldest.used)) {
			oldest, at = u, key
		}
	}
	if oldest == nil {
		return false
	}
	delete(c.known, at)
	c.work.Go(oldest.close)
	return true
}

// sweep forgets those who have not been here for a while.
func (c *Callers) sweep(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, u := range c.known {
		if u.isOver(now) || u.requests == 0 && now.Sub(u.used) >= idleAfter {
			delete(c.known, key)
			c.work.Go(u.close)
		}
	}
}

// open shows NATS the credentials of a client.
func (c *Callers) open(u *user, client Client, from *address) {
	err := c.judges()
	if err == nil {
		err = u.connect(c.config.Dial, &c.questions, client.Credentials)
	}
	now, refused := c.config.Now(), errors.Is(err, ErrRefused)
	switch {
	case refused:
		c.log.Warn("NATS does not know the credentials of a client", "address", client.Address, "kind", client.Credentials.String())
	case err != nil && !errors.Is(err, ErrUnjudged):
		c.log.Warn("no connection to NATS for a client", "address", client.Address, "error", err)
	}
	u.ready(err, now)
	c.mu.Lock()
	defer c.mu.Unlock()
	from.end(refused, now)
}
