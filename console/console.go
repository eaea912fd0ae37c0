package console

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"google.golang.org/grpc"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/console/internal/access"
	"github.com/carillon-scheduler/carillon/console/internal/pages"
	"github.com/carillon-scheduler/carillon/console/internal/rest"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/callers"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/webserver"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Config says what a [Console] serves, and where.
type Config struct {
	// Listener is where clients connect. The console closes it.
	Listener net.Listener
	// TLS secures it; nil means plain text.
	TLS *tls.Config
	// Access says who gets in, and in whose name they act.
	Access Access
	// API speaks for the process, by the connection Conn and with the name Identity. The console hears the errors of Conn before its error handler.
	API      *client.Client
	Conn     *nats.Conn
	Identity string
	Names    subjects.Names
	// Services are those of Temporal, for the pages about executions. They act for whom the context says: see [callers.NewContext].
	Services grpc.ClientConnInterface
	// Temporal answers what is under no path of the console, and acts like Services. Nil means that there is nothing else.
	Temporal http.Handler
	// Elsewhere says where the installation is active, if not here: then the console only shows. Nil: it is here.
	Elsewhere *site.Elsewhere
	// TraceURL is the address at which a tracing backend shows a trace, http or https, with [TraceID] where the ID of the trace belongs. Empty: pages
	// show the ID only.
	TraceURL string
	// Version is that of the release.
	Version string
	// Drain bounds how long a stop waits for requests in progress.
	Drain time.Duration
	// Now is the clock; nil means that of the system.
	Now    func() time.Time
	Logger *slog.Logger
}

// TraceID stands for the ID of a trace in [Config.TraceURL].
const TraceID = pages.TraceID

// Access says who gets in. The zero value lets everybody in who reaches the listener, to act as the process.
type Access struct {
	// Users know the users of NATS, as whom people log in and act. Nil: nobody logs in.
	Users *callers.Callers
	// ProxyHeader names the header by which a proxy says who somebody is; empty if there is no such proxy. Everybody acts as the process then. It
	// excludes Users.
	ProxyHeader string
	// Proxies are the addresses from which the header counts, and X-Forwarded-For.
	Proxies []netip.Prefix
	// OnlyProxies refuses whoever comes from another address.
	OnlyProxies bool
	// Hosts are the names of the console, without a port. Those of this machine are always among them. Where people log in, any name will do.
	Hosts []string
}

// Console is the HTTP server. [New] makes it.
type Console struct {
	config Config
	server *http.Server
	mux    *http.ServeMux
	access *access.Access
	pages  *pages.Pages
	// process speaks for the process.
	process *speaker.Speaker
}

// New returns a console that does nothing until Run is called. An error means that the table of verbs contradicts itself; then the listener is closed.
func New(config Config) (*Console, error) {
	if config.Now == nil {
		config.Now = time.Now //permit:time.Now the default of the configuration
	}
	c := &Console{config: config, mux: http.NewServeMux()}
	c.access = access.New(access.Config{
		Users: config.Access.Users, ProxyHeader: config.Access.ProxyHeader, Proxies: config.Access.Proxies, OnlyProxies: config.Access.OnlyProxies,
		IsPage: c.isPage, ShowLogin: c.showLogin, Refuse: c.refuse, Now: config.Now, Logger: config.Logger,
	})
	stop := make(chan struct{})
	api, err := c.api(stop)
	if err != nil {
		return nil, errors.Join(err, config.Listener.Close())
	}
	c.process = c.own()
	c.mux.Handle(rest.Base+"/", api)
	c.pages = pages.New(pages.Config{Speaker: c.speaker, Namespace: config.API.Namespace(), First: c.namespace, Who: who, Elsewhere: config.Elsewhere, TraceURL: config.TraceURL, Now: config.Now, NewID: uuid.NewString})
	for _, path := range pagePaths {
		c.mux.Handle(path, c.pages)
	}
	if config.Temporal != nil {
		c.mux.Handle("/", asking(config.Temporal))
	}
	c.server = webserver.New(c.forOurHosts(http.NewCrossOriginProtection().Handler(c.asWritten(c.access.Around(c.mux)))), config.Logger)
	c.server.TLSConfig = config.TLS
	c.server.RegisterOnShutdown(func() { close(stop) })
	return c, nil
}

// pagePaths are the patterns of what a person opens in a browser.
var pagePaths = []string{"/{$}", pages.Base, "/static/"}

// isPage reports whether a request is for a page.
func (c *Console) isPage(r *http.Request) bool {
	_, pattern := c.mux.Handler(r)
	return slices.Contains(pagePaths, pattern) || r.URL.Path == "/login" || r.URL.Path == "/logout"
}

func (c *Console) showLogin(w http.ResponseWriter, r *http.Request, status int, form access.Form) {
	c.pages.ShowLogin(w, r, status, pages.Login(form))
}

// refuse answers a request that is not let in, in the form that its sender reads.
func (c *Console) refuse(w http.ResponseWriter, r *http.Request, status int, err *schedule.Error) {
	if c.isPage(r) {
		c.pages.Refuse(w, r, status, err)
		return
	}
	rest.Refuse(w, status, err)
}

// asking lets Temporal's methods over HTTP act for whoever has sent a request. Credentials that a request of the process has beside that are left to them.
func asking(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visitor := access.Of(r.Context())
		if visitor == nil {
			rest.Refuse(w, http.StatusUnauthorized, errNobody)
			return
		}
		if visitor.Asker != (callers.Asker{}) {
			r = r.WithContext(callers.NewContext(r.Context(), visitor.Asker))
		}
		next.ServeHTTP(w, r)
	})
}

// own returns a speaker for the process. It hears what NATS refuses the process, before the error handler that the connection has.
func (c *Console) own() *speaker.Speaker {
	refusals, next := &client.Refusals{}, c.config.Conn.ErrorHandler()
	c.config.Conn.SetErrorHandler(func(conn *nats.Conn, of *nats.Subscription, err error) {
		refusals.Handle(conn, of, err)
		if next != nil {
			next(conn, of, err)
		}
	})
	return speaker.New(speaker.Config{
		API: c.config.API, Conn: c.config.Conn, Temporal: c.config.Services, Asker: callers.Asker{IsProcess: true}, Names: c.config.Names,
		Identity: c.config.Identity, Refusals: refusals,
	})
}

func (c *Console) api(stop <-chan struct{}) (*rest.API, error) {
	verbs, err := frontend.Verbs()
	if err != nil {
		return nil, err
	}
	return rest.New(rest.Config{Verbs: verbs, Version: c.config.Version, Stop: stop, Stream: c.access.Stream, Client: func(r *http.Request) (*client.Client, error) {
		asks, err := c.speaker(r)
		if err != nil {
			return nil, err
		}
		return asks.Client, nil
	}})
}

// speaker returns a speaker for whoever has sent a request.
//
//   - For a user of NATS, it has the connection of that user, and the name that NATS knows.
//   - For somebody whom a proxy names, it is the process with that name.
//   - For anybody else it is the process. They may say who they are, for the event history; that proves nothing.
func (c *Console) speaker(request *http.Request) (*speaker.Speaker, error) {
	visitor := access.Of(request.Context())
	if visitor == nil || visitor.Connection.Conn == nil && c.config.Access.Users != nil {
		return nil, errNobody
	}
	if visitor.Connection.Conn != nil {
		return c.speakerOf(visitor)
	}
	name := visitor.Name
	if name == "" {
		name = request.Header.Get(schedule.HeaderIdentity)
	}
	if name == "" {
		return c.process, nil
	}
	return c.process.As(name)
}

// errNobody is for the pages that somebody sees before it is known who they are.
var errNobody = schedule.Errorf(schedule.CodePermissionDenied, "nobody has logged in")

// speakerOf returns a speaker for a user of NATS.
func (c *Console) speakerOf(visitor *access.Visitor) (*speaker.Speaker, error) {
	api, err := client.New(visitor.Connection.Conn, client.Config{
		Namespace: c.config.API.Namespace(), Prefix: c.config.Names.Prefix(), Identity: visitor.Name, Refusals: visitor.Connection.Refusals,
	})
	if err != nil {
		return nil, err
	}
	return speaker.New(speaker.Config{
		API: api, Conn: visitor.Connection.Conn, Temporal: c.config.Services, Asker: visitor.Asker, Names: c.config.Names, Identity: visitor.Name,
		Refusals: visitor.Connection.Refusals,
	}), nil
}

// namespace returns the one that whoever has sent a request sees first.
func (c *Console) namespace(r *http.Request) string {
	if visitor := access.Of(r.Context()); visitor != nil && visitor.Namespace != "" {
		return visitor.Namespace
	}
	return c.config.API.Namespace()
}

// who returns who has sent a request, and whether they can log out.
func who(r *http.Request) (name string, canLogOut bool) {
	if visitor := access.Of(r.Context()); visitor != nil {
		return visitor.Name, visitor.HasSession
	}
	return "", false
}
