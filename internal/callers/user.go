package callers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/client"
)

const (
	// dialTimeout bounds the attempt to connect to one server.
	dialTimeout = 5 * time.Second
	// reconnects is how often a lost connection is tried again, reconnectWait apart. After that, the next request opens another.
	reconnects    = 20
	reconnectWait = 500 * time.Millisecond
	// allowedFor and deniedFor are how long an answer counts. unknownFor is the same where there was none.
	allowedFor = 10 * time.Second
	deniedFor  = 2 * time.Second
	unknownFor = time.Second
	// maxRights is how many answers are kept for a user, who chooses the namespaces.
	maxRights = 1000
)

// user is a NATS user whom a client has shown credentials of.
type user struct {
	opened chan struct{} // closed once NATS has let the user in, or not
	// conn, inbox, err and until do not change after that. A failure counts until that time.
	conn  *nats.Conn
	inbox string
	err   error
	until time.Time
	// refusals are for requests on conn.
	refusals client.Refusals
	// used is when the last request came or ended, requests how many are in progress, and owner who stands behind the credentials: see [Client.Owner].
	// Callers.mu guards them.
	used     time.Time
	requests int
	owner    string

	mu     sync.Mutex
	rights map[string]*answer
}

// answer says whether a user may publish on a subject.
type answer struct {
	given chan struct{} // closed once the rest is known
	may   bool
	err   error
	until time.Time
}

func newUser(now time.Time) *user {
	return &user{opened: make(chan struct{}), used: now, rights: map[string]*answer{}}
}

// connect opens the connection of a user.
func (u *user) connect(dial func(...nats.Option) (*nats.Conn, error), q *questions, credentials Credentials) error {
	conn, err := dial(
		nats.Name("carillon-caller"), nats.Timeout(dialTimeout), nats.RetryOnFailedConnect(false),
		nats.MaxReconnects(reconnects), nats.ReconnectWait(reconnectWait), nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(conn *nats.Conn, of *nats.Subscription, err error) {
			q.refused(u, err)
			u.refusals.Handle(conn, of, err)
		}),
		credentials.apply,
	)
	switch {
	case err == nil:
	case isRefusal(err):
		return ErrRefused
	default:
		return fmt.Errorf("connect to NATS for a client: %w", err)
	}
	u.conn, u.inbox = conn, conn.NewRespInbox()
	if !conn.AuthRequired() {
		return ErrUnjudged
	}
	// NATS says here that an account passes nothing on. A user who may not subscribe is refused by a permission to publish.
	if _, err := conn.Subscribe(u.inbox+".*", q.unheard); err != nil {
		return fmt.Errorf("hear of refusals: %w", err)
	}
	return nil
}

// isRefusal reports whether NATS does not know the credentials.
func isRefusal(err error) bool {
	for _, refusal := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

// ready ends the wait of everybody who needs the user.
func (u *user) ready(err error, now time.Time) {
	if u.err = err; err != nil {
		u.until = now.Add(brokenFor)
	}
	if errors.Is(err, ErrRefused) {
		u.until = now.Add(refusedFor)
	}
	close(u.opened)
}

func (u *user) share() Share { return Share{Owner: u.owner, IsBusy: u.requests > 0, Used: u.used} }

// isOver reports whether the user must show the credentials again.
func (u *user) isOver(now time.Time) bool {
	select {
	case <-u.opened:
		return u.err != nil && !now.Before(u.until) || u.err == nil && u.conn != nil && u.conn.IsClosed()
	default:
		return false
	}
}

func (u *user) close() {
	<-u.opened
	if u.conn != nil {
		u.conn.Close()
	}
}

// may reports whether the user may publish on a subject. Many who ask at once send one message.
func (u *user) may(ctx context.Context, q *questions, subject string, now func() time.Time) (bool, error) {
	a, isNew := u.answer(subject, now())
	if isNew {
		a.may, a.err = q.ask(ctx, u, subject)
		a.until = now().Add(lifeOf(a))
		close(a.given)
	}
	select {
	case <-a.given:
		return a.may, a.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func lifeOf(a *answer) time.Duration {
	switch {
	case a.err != nil:
		return unknownFor
	case a.may:
		return allowedFor
	}
	return deniedFor
}

// answer returns the answer to whether the user may publish on a subject. If it is new, the caller must give it.
func (u *user) answer(subject string, now time.Time) (a *answer, isNew bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if a = u.rights[subject]; a != nil && !a.isOver(now) {
		return a, false
	}
	if len(u.rights) >= maxRights {
		clear(u.rights)
	}
	a = &answer{given: make(chan struct{})}
	u.rights[subject] = a
	return a, true
}

func (a *answer) isOver(now time.Time) bool {
	select {
	case <-a.given:
		return !now.Before(a.until)
	default:
		return false
	}
}
