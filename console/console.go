package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"google.golang.org/grpc"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/console/internal/pages"
	"github.com/carillon-scheduler/carillon/console/internal/rest"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/loopback"
	"github.com/carillon-scheduler/carillon/internal/webserver"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Config says what a [Console] serves, and where.
type Config struct {
	// Listener is where clients connect: an address of this machine that no other one reaches. The console closes it.
	Listener net.Listener
	// API speaks for everybody who gets through, by the connection Conn and with the name Identity.
	API      *client.Client
	Conn     *nats.Conn
	Identity string
	Names    subjects.Names
	// Services are those of Temporal, for the pages about executions.
	Services grpc.ClientConnInterface
	// Temporal answers what is under no path of the console. Nil means that there is nothing else.
	Temporal http.Handler
	// Version is that of the release.
	Version string
	// Drain bounds how long a stop waits for requests in progress.
	Drain time.Duration
	// Now is the clock; nil means that of the system.
	Now    func() time.Time
	Logger *slog.Logger
}

// Console is the HTTP server. [New] makes it.
type Console struct {
	config Config
	server *http.Server
	// own speaks for the process.
	own   *speaker.Speaker
	pages *pages.Pages
}

// New returns a console that does nothing until Run is called. An error means that the connection has no JetStream, or that the table of verbs
// contradicts itself; then the listener is closed.
func New(config Config) (*Console, error) {
	if config.Now == nil {
		config.Now = time.Now //permit:time.Now the default of the configuration
	}
	c := &Console{config: config}
	stop := make(chan struct{})
	own, err1 := speaker.New(speaker.Config{
		API: config.API, Conn: config.Conn, Temporal: config.Services, Names: config.Names, Identity: config.Identity,
	})
	c.own = own
	api, err2 := c.api(stop)
	if err := errors.Join(err1, err2); err != nil {
		return nil, errors.Join(err, config.Listener.Close())
	}
	mux := http.NewServeMux()
	mux.Handle(rest.Base+"/", api)
	c.pages = pages.New(pages.Config{Speaker: c.speaker, Namespace: config.API.Namespace(), Now: config.Now, NewID: uuid.NewString})
	for _, path := range []string{"/{$}", pages.Base, "/static/"} {
		mux.Handle(path, c.pages)
	}
	if config.Temporal != nil {
		mux.Handle("/", config.Temporal)
	}
	c.server = webserver.New(ofThisMachine(http.NewCrossOriginProtection().Handler(mux)), config.Logger)
	c.server.RegisterOnShutdown(func() { close(stop) })
	return c, nil
}

func (c *Console) api(stop <-chan struct{}) (*rest.API, error) {
	verbs, err := frontend.Verbs()
	if err != nil {
		return nil, err
	}
	return rest.New(rest.Config{Verbs: verbs, Version: c.config.Version, Stop: stop, Client: func(r *http.Request) (*client.Client, error) {
		asks, err := c.speaker(r)
		if err != nil {
			return nil, err
		}
		return asks.Client, nil
	}})
}

// speaker returns who asks by a request. Whoever sends it may say who they are, for the event history; that proves nothing.
func (c *Console) speaker(request *http.Request) (*speaker.Speaker, error) {
	identity := request.Header.Get(schedule.HeaderIdentity)
	if identity == "" {
		return c.own, nil
	}
	return c.own.As(identity)
}

// Run serves until ctx ends. Then it finishes the requests in progress, within Config.Drain. All its goroutines have ended when it returns.
func (c *Console) Run(ctx context.Context) error {
	c.config.Logger.InfoContext(ctx, "serving the console", "address", c.config.Listener.Addr().String())
	failed := make(chan error, 1)
	go func() { failed <- c.server.Serve(c.config.Listener) }()
	select {
	case err := <-failed:
		c.pages.Close()
		return fmt.Errorf("console: serve HTTP: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.config.Drain)
	defer cancel()
	if err := c.server.Shutdown(drain); err != nil {
		_ = c.server.Close() // the connections of whoever is not done
	}
	<-failed
	c.pages.Close()
	return nil
}

// ofThisMachine refuses requests for other hosts. The page of a stranger can give its own name the address of this machine, and a browser would
// take this server for that of the page.
func ofThisMachine(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if !isLoopback(request.Host) {
			http.Error(w, "This server is for its own machine: use localhost, 127.0.0.1 or [::1] as its name.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, request)
	})
}

// isLoopback reports whether a host, with or without a port, is a name of this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return loopback.IsHost(trimBrackets(host))
}

func trimBrackets(host string) string {
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		return host[1 : len(host)-1]
	}
	return host
}
