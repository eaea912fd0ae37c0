package access

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/carillon-scheduler/carillon/internal/callers"
	"github.com/carillon-scheduler/carillon/schedule"
)

// strictTransport keeps a browser from coming back without TLS, for a year.
const strictTransport = "max-age=31536000"

// Config says how [New] lets people in.
type Config struct {
	// Users know the users of NATS, as whom people log in. Nil: nobody logs in, and everybody acts as the process.
	Users *callers.Callers
	// ProxyHeader names the header by which a proxy says who somebody is; empty if there is no such proxy. It excludes Users.
	ProxyHeader string
	// Proxies are the addresses from which the header counts. From there, X-Forwarded-For counts as well.
	Proxies []netip.Prefix
	// OnlyProxies says that nobody else may come: there is no encryption but theirs.
	OnlyProxies bool
	// IsPage reports whether a request is for a page, and not for a program.
	IsPage func(*http.Request) bool
	// ShowLogin shows the page on which people log in.
	ShowLogin func(w http.ResponseWriter, r *http.Request, status int, form Form)
	// Refuse answers a request that is not let in, with a status of HTTP.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, err *schedule.Error)
	Now    func() time.Time
	Logger *slog.Logger
}

// Access finds out who sends a request. [New] makes it. It is safe for concurrent use.
type Access struct {
	config   Config
	sessions *sessions
	requests *limiter
	logins   *limiter
	streams  streams
}

// New returns an access that lets nobody in yet who has logged in before.
func New(config Config) *Access {
	forget := func(callers.Credentials) {}
	if config.Users != nil {
		forget = config.Users.Forget
	}
	return &Access{
		config: config, sessions: newSessions(forget), requests: newLimiter(requestsPerSecond, requestsAtOnce),
		logins: newLimiter(rate.Every(loginPause), loginsAtOnce),
	}
}

// Visitor is whoever has sent a request.
type Visitor struct {
	// Asker is in whose name to act.
	Asker callers.Asker
	// Connection is that of the user; empty for the process.
	Connection callers.Connection
	// Name is who it is, for the event history; empty if nobody has found that out.
	Name string
	// Namespace is what they want to see first; empty for the usual one.
	Namespace string
	// HasSession says that they have logged in, and can log out.
	HasSession bool

	// sender tells them apart from others, for the limits: a digest of their credentials, or the name by a proxy; nil if it is not known who they are.
	sender any
	// over ends when they are let in no more; nil if that does not happen.
	over context.Context
}

type contextKey struct{}

// Of returns who has sent the request of a context that [Access.Around] has passed on; nil for any other.
func Of(ctx context.Context) *Visitor {
	visitor, _ := ctx.Value(contextKey{}).(*Visitor)
	return visitor
}

// denied is why somebody is not let in.
type denied struct {
	status int
	*schedule.Error
}

func deny(status int, code schedule.Code, format string, args ...any) *denied {
	return &denied{status, schedule.Errorf(code, format, args...)}
}

// Run ends sessions that are over, until ctx ends, and then all.
func (a *Access) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			a.sessions.clear()
			return
		case <-tick.C:
			a.sessions.sweep(a.config.Now())
		}
	}
}

// Around returns a handler that passes requests on to another one, if it knows who has sent them. Requests for the paths under /static/ are for all.
// /login and /logout are its own, where people log in.
func (a *Access) Around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil {
			w.Header().Set("Strict-Transport-Security", strictTransport)
		}
		switch {
		case a.config.OnlyProxies && !a.isProxy(peerOf(r)):
			a.refuse(w, r, notProxy(r))
		case isStatic(r):
			a.passFile(w, r, next)
		case a.config.Users != nil && r.URL.Path == loginPath:
			a.login(w, r)
		case a.config.Users != nil && r.URL.Path == logoutPath:
			a.logout(w, r)
		default:
			a.pass(w, r, next)
		}
	})
}

// passFile passes a request for a file on, whoever asks for it.
func (a *Access) passFile(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if wait, allowed := a.allow(a.sessionOf(r), r); !allowed {
		a.refuse(w, r, tooFast(wait))
		return
	}
	next.ServeHTTP(w, r)
}

// pass passes a request on, or refuses it.
func (a *Access) pass(w http.ResponseWriter, r *http.Request, next http.Handler) {
	visitor, done, refused := a.identify(r)
	defer done()
	if wait, allowed := a.allow(visitor, r); !allowed {
		a.refuse(w, r, tooFast(wait))
		return
	}
	if refused != nil {
		a.refuse(w, r, refused)
		return
	}
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), contextKey{}, visitor))
	defer cancel()
	if visitor.over != nil {
		defer context.AfterFunc(visitor.over, cancel)()
	}
	next.ServeHTTP(w, r.WithContext(ctx))
}

// isStatic reports whether a request is for a file that all may have. The path counts as it was sent, as in the choice of the handler: %2F separates
// nothing.
func isStatic(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.HasPrefix(r.URL.EscapedPath(), "/static/")
}

// allow reports whether a sender is slow enough, and otherwise how long to wait.
func (a *Access) allow(visitor *Visitor, r *http.Request) (wait time.Duration, allowed bool) {
	if visitor.sender == nil && !a.config.demands() && isFromHere(r) {
		return 0, true // who uses this machine as the process does could do so without the console
	}
	sender := visitor.sender
	if sender == nil {
		sender = a.networkOf(r)
	}
	wait, _, allowed = a.requests.allow(sender, a.config.Now())
	return wait, allowed
}

// demands reports whether somebody must say who they are.
func (c *Config) demands() bool { return c.Users != nil || c.ProxyHeader != "" }

func tooFast(wait time.Duration) *denied {
	d := deny(http.StatusTooManyRequests, schedule.CodeResourceExhausted, "too many requests: at most %d a second, and %d at once", requestsPerSecond, requestsAtOnce)
	d.RetryAfter = schedule.Duration(wait)
	return d
}

// identify finds out who has sent a request. done must be called when the request has ended.
func (a *Access) identify(r *http.Request) (visitor *Visitor, done func(), refused *denied) {
	done = func() {}
	switch {
	case a.config.Users != nil:
		return a.identifyUser(r)
	case a.config.ProxyHeader != "":
		visitor, refused = a.identifyByProxy(r)
		return visitor, done, refused
	}
	// Whoever sends credentials nevertheless is judged by them where the gateway is asked.
	return &Visitor{Asker: callers.Asker{IsProcess: r.Header.Get("Authorization") == ""}}, done, nil
}

// identifyUser finds out who has sent a request by its header Authorization or its session.
func (a *Access) identifyUser(r *http.Request) (visitor *Visitor, done func(), refused *denied) {
	visitor, done = &Visitor{}, func() {}
	if sent := r.Header.Values("Authorization"); len(sent) > 0 {
		credentials, err := callers.Parse(sent[0])
		if err != nil || len(sent) > 1 {
			return visitor, done, deny(http.StatusUnauthorized, schedule.CodePermissionDenied, "%s", callers.ErrUnreadable)
		}
		return a.connect(r, visitor, credentials)
	}
	number := numberOf(r)
	found := a.sessions.find(number, isUse(r), a.config.Now())
	if found == nil {
		return visitor, done, deny(http.StatusUnauthorized, schedule.CodePermissionDenied, "%s", noCredentials)
	}
	visitor.Namespace, visitor.HasSession, visitor.over = found.namespace, true, found.over
	visitor, done, refused = a.connect(r, visitor, found.credentials)
	if refused != nil && refused.status == http.StatusUnauthorized {
		a.sessions.remove(number) // NATS knows the user no more
	}
	return visitor, done, refused
}

const noCredentials = `who are you? Log in, or send the header Authorization with "Bearer NATS-USER:PASSWORD", "Basic …", or "Bearer" and the token or JWT of a NATS user`

// isUse reports whether a person has caused a request. Pages ask again by themselves, and say so.
func isUse(r *http.Request) bool {
	return r.Method != http.MethodGet || r.Header.Get("HX-Request") == ""
}

// sessionOf returns who sends a request by its session, without asking NATS. It is nobody in particular without one.
func (a *Access) sessionOf(r *http.Request) *Visitor {
	if found := a.sessions.find(numberOf(r), false, a.config.Now()); found != nil {
		return &Visitor{sender: found.credentials.Digest()}
	}
	return &Visitor{}
}

// connect gives a visitor the connection of a user of NATS. If NATS lets the user in, the limits are those of the user: all its sessions and programs count
// together.
func (a *Access) connect(r *http.Request, visitor *Visitor, credentials callers.Credentials) (*Visitor, func(), *denied) {
	visitor.Asker = callers.Asker{Client: callers.Client{Credentials: credentials, Address: a.addressOf(r)}}
	connection, done, err := a.config.Users.Use(r.Context(), visitor.Asker.Client)
	if err != nil {
		return visitor, func() {}, a.explain(r.Context(), err)
	}
	visitor.Connection, visitor.Name, visitor.sender = connection, credentials.Name(), credentials.Digest()
	return visitor, done, nil
}

// explain says why the credentials of a user do not help.
func (a *Access) explain(ctx context.Context, err error) *denied {
	switch {
	case errors.Is(err, callers.ErrRefused), errors.Is(err, callers.ErrUnjudged):
		return deny(http.StatusUnauthorized, schedule.CodePermissionDenied, "%s", err)
	case errors.Is(err, callers.ErrTooMany):
		d := deny(http.StatusTooManyRequests, schedule.CodeResourceExhausted, "%s", err)
		d.RetryAfter = schedule.Duration(loginPause)
		return d
	}
	a.config.Logger.WarnContext(ctx, "user of the console not connected", "error", err)
	return deny(http.StatusServiceUnavailable, schedule.CodeUnavailable, "NATS cannot be reached; the log of the console says why")
}

// refuse tells somebody why they are not let in. A person whom nobody knows gets the page of the login instead.
func (a *Access) refuse(w http.ResponseWriter, r *http.Request, d *denied) {
	if d.status != http.StatusUnauthorized {
		a.config.Refuse(w, r, d.status, d.Error)
		return
	}
	if !a.config.IsPage(r) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="carillon"`)
		a.config.Refuse(w, r, d.status, d.Error)
		return
	}
	to := loginAddress(r)
	if r.Header.Get("HX-Request") != "" {
		w.Header().Set("HX-Redirect", to) // the script loads it as a whole page
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// Stream counts a live stream of events. The error says that its user has too many. leave must be called when it has ended.
func (a *Access) Stream(r *http.Request) (leave func(), err error) {
	visitor := Of(r.Context())
	if visitor == nil || visitor.sender == nil && isFromHere(r) {
		return func() {}, nil
	}
	user := visitor.sender
	if user == nil {
		user = a.networkOf(r)
	}
	client := visitor.Asker.Client
	client.Address = a.addressOf(r)
	leave, allowed := a.streams.enter(user, owner(client.Owner()))
	if !allowed {
		return nil, schedule.Errorf(schedule.CodeResourceExhausted,
			"this user has %d live streams of events already, or all of its account or network %d: end one", maxStreams, maxStreamsOfOwner)
	}
	return leave, nil
}
