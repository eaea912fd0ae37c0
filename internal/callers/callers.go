package callers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// MaxKnown is how many users are known at the same time, each with a connection to NATS. One more takes the place of another: see [MakesRoom].
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

	mu    sync.Mutex
	known map[[sha256.Size]byte]*user
	// leaving are users who are known no more, but have requests in progress.
	leaving map[*user]struct{}
	closed  bool
	work    sync.WaitGroup // connections that are being opened
}

// New begins to hear the messages of users, and returns once NATS knows that it does. The error is one of NATS. Close it.
func New(config Config) (*Callers, error) {
	c := &Callers{
		config: config, log: flood.Limit(config.Logger), opens: rate.NewLimiter(opensPerSecond, opensAtOnce),
		failures: failures{of: map[string]*address{}}, known: map[[sha256.Size]byte]*user{},
		leaving: map[*user]struct{}{},
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
	all := slices.Concat(slices.Collect(maps.Values(c.known)), slices.Collect(maps.Keys(c.leaving)))
	c.known, c.leaving, c.closed = nil, nil, true
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
	u, err := c.find(ctx, client)
	if err == nil {
		c.leave(u)
	}
	return err
}

// Connection is a connection of a user.
type Connection struct {
	Conn *nats.Conn
	// Refusals tell requests on Conn that NATS refuses them.
	Refusals *client.Refusals
}

// Use returns the connection of a client, for requests in its name. It stays open until done is called, unless NATS closes it, or another user needs
// the place. The errors are those of Known; then done is nil.
func (c *Callers) Use(ctx context.Context, client Client) (connection Connection, done func(), err error) {
	u, err := c.find(ctx, client)
	if err != nil {
		return connection, nil, err
	}
	return Connection{u.conn, &u.refusals}, func() { c.leave(u) }, nil
}

// Forget closes the connection with some credentials, once no request uses it. Another request with them opens another one.
func (c *Callers) Forget(credentials Credentials) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := credentials.Digest(); c.known[key] != nil {
		c.forget(key)
	}
}

// May reports whether a client may publish on a subject. A permission that is taken away counts for a few seconds more. Errors: those of
// Known, and [ErrSilent].
func (c *Callers) May(ctx context.Context, client Client, subject string) (bool, error) {
	u, err := c.find(ctx, client)
	if err != nil {
		return false, err
	}
	defer c.leave(u)
	return u.may(ctx, &c.questions, subject, c.config.Now)
}

// find returns the user with the credentials of a client, who has a request in progress from now on: leave must follow. After an error it must not.
func (c *Callers) find(ctx context.Context, client Client) (*user, error) {
	u, err := c.enter(client)
	if err != nil {
		return nil, err
	}
	select {
	case <-u.opened:
		err = u.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		c.leave(u)
		return nil, err
	}
	return u, nil
}

// enter returns the user with the credentials of a client, who may not have been let in by NATS yet. A request is in progress from now on, under the same
// lock: nobody can close the connection between that and its use.
func (c *Callers) enter(client Client) (*user, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, key := c.config.Now(), client.Credentials.Digest()
	if c.closed {
		return nil, nats.ErrConnectionClosed
	}
	if u := c.known[key]; u != nil && !u.isOver(now) {
		u.used = now
		u.requests++
		return u, nil
	}
	network := Network(client.Address)
	from, allowed := c.failures.begin(network, now) // before the limit of all, which one address must not use up for others
	if !allowed {
		return nil, ErrTooMany
	}
	owner := "network " + network // NATS has not looked at what else the credentials say
	if !c.opens.AllowN(now, 1) || !c.makeRoom(now, owner) {
		from.end(false, now)
		return nil, ErrTooMany
	}
	u := newUser(now)
	u.owner, u.requests = owner, 1
	if c.known[key] != nil {
		c.forget(key)
	}
	c.known[key] = u
	c.work.Go(func() { c.open(u, client, from) })
	return u, nil
}

// leave ends a request of a user.
func (c *Callers) leave(u *user) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u.requests--
	u.used = c.config.Now()
	if _, found := c.leaving[u]; found && u.requests == 0 {
		delete(c.leaving, u)
		c.work.Go(u.close)
	}
}

// forget lets a user be known no more. Requests in progress keep the connection.
func (c *Callers) forget(key [sha256.Size]byte) {
	u := c.known[key]
	delete(c.known, key)
	if u.requests > 0 {
		c.leaving[u] = struct{}{}
		return
	}
	c.work.Go(u.close)
}

// makeRoom lets one more user of an owner in. It reports whether there is room. Requests in progress end if their owner has most users, and somebody else
// comes.
func (c *Callers) makeRoom(now time.Time, owner string) bool {
	if len(c.known) < MaxKnown {
		return true
	}
	for key, u := range c.known {
		if u.isOver(now) {
			c.forget(key)
			return true
		}
	}
	key, found := MakesRoom(c.known, owner, (*user).share)
	u := c.known[key]
	if !found || u.requests > 0 && u.owner == owner {
		return false
	}
	delete(c.known, key)
	c.work.Go(u.close)
	return true
}

// sweep forgets those who have not been here for a while.
func (c *Callers) sweep(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, u := range c.known {
		if u.isOver(now) || u.requests == 0 && now.Sub(u.used) >= idleAfter {
			c.forget(key)
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
	if err == nil {
		u.owner = client.Owner()
	}
	from.end(refused, now)
}
