package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/carillon-scheduler/carillon/gateway/internal/roster"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/callers"
	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/offer"
)

const (
	// maxRequest is the size of the largest request, as Temporal's clients expect it.
	maxRequest = 4 << 20
	// minPing is how often a client may ask whether the connection is alive. SDKs do so every 30 seconds, also when nothing goes on.
	minPing = 10 * time.Second
	// maxAge is when a client is asked to connect again, so that clients spread over gateways that have come later. ageGrace is how long its
	// polls may go on by then.
	maxAge   = 5 * time.Minute
	ageGrace = 70 * time.Second
	// pingAfter is when the gateway asks a silent client whether it is alive, and pingTimeout how long it waits for the answer.
	pingAfter   = time.Minute
	pingTimeout = 10 * time.Second
	// handshakeTimeout is how long a client may take until it has a connection. A stop waits for those that have none yet.
	handshakeTimeout = 5 * time.Second
)

// Gateway serves Temporal's clients. [New] makes one.
type Gateway struct {
	config Config
	log    *slog.Logger
	server *grpc.Server
	health *health.Server
	// inline has the methods for this process. handler has them over HTTP, and http serves it; nil if another server does.
	inline  *inline
	handler http.Handler
	http    *http.Server
	polls   *offer.Polls
	// callers knows what clients with credentials may do.
	callers *callers.Callers
	limits  limits
	// roster knows the workers that send heartbeats.
	roster *roster.Roster
	// pollers are the requests that wait in polls.
	pollers pollers
	// stopping ends when no request should wait any more.
	stopping context.Context
	stop     context.CancelFunc
}

// New returns a gateway that listens already and serves once it runs. If it fails, it closes the listeners.
func New(config Config) (*Gateway, error) {
	config, err := config.check()
	if err != nil {
		closeListeners(&config)
		return nil, err
	}
	g := &Gateway{config: config, log: flood.Limit(config.Logger), health: health.NewServer()}
	if g.polls, err = offer.NewPolls(offer.Config{Conn: bus.Plain{Conn: config.Conn}, Names: config.Names, Logger: config.Logger, Now: config.Now}); err != nil {
		closeListeners(&config)
		return nil, err
	}
	if g.callers, err = callers.New(callers.Config{
		Conn: config.Conn, Names: config.Names, Dial: config.Dial, Logger: config.Logger, Now: config.Now,
	}); err != nil {
		closeListeners(&config)
		return nil, err
	}
	g.roster = roster.New(roster.Config{Conn: config.Conn, Names: config.Names, Logger: config.Logger, Now: config.Now})
	g.server = grpc.NewServer(g.options()...)
	workflows, operators := &workflowService{Gateway: g}, &operatorService{Gateway: g}
	workflowservice.RegisterWorkflowServiceServer(g.server, workflows)
	operatorservice.RegisterOperatorServiceServer(g.server, operators)
	grpc_health_v1.RegisterHealthServer(g.server, g.health)
	reflection.Register(g.server)
	g.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	g.inline = newInline(g.intercept)
	g.inline.add(&workflowservice.WorkflowService_ServiceDesc, workflows)
	g.inline.add(&operatorservice.OperatorService_ServiceDesc, operators)
	if g.handler, err = g.overHTTP(); err != nil {
		g.callers.Close()
		closeListeners(&config)
		return nil, err
	}
	if config.HTTP != nil {
		g.http = g.httpServer()
	}
	return g, nil
}

// Handler returns the methods as JSON over HTTP, for a server that serves other things as well. It must refuse requests that come from the pages
// of other sites. Handler answers as long as Run runs.
func (g *Gateway) Handler() http.Handler { return g.handler }

// Conn returns a connection to the services WorkflowService and OperatorService for this process: a call of a method is a call of a function, and
// is allowed what the same call over the network would be, unless its context says who asks: see [callers.NewContext]. It answers as long as Run runs,
// and is safe for concurrent use.
func (g *Gateway) Conn() grpc.ClientConnInterface { return g.inline }

// Callers returns what knows the users of NATS, for another server of this process. Run closes it.
func (g *Gateway) Callers() *callers.Callers { return g.callers }

func closeListeners(config *Config) {
	if config.GRPC != nil {
		_ = config.GRPC.Close()
	}
	if config.HTTP != nil {
		_ = config.HTTP.Close()
	}
}

// options are those of the gRPC server.
func (g *Gateway) options() []grpc.ServerOption {
	options := []grpc.ServerOption{
		grpc.UnaryInterceptor(g.intercept),
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge: maxAge, MaxConnectionAgeGrace: ageGrace, Time: pingAfter, Timeout: pingTimeout,
		}),
		grpc.WaitForHandlers(true),
	}
	if g.config.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(g.config.TLS)))
	}
	return options
}

// Run serves clients until ctx ends. Then it ends all polls, finishes the requests in progress within Config.Drain, and returns nil. It
// returns an error if a listener fails, or if clients must show credentials and NATS takes any. All its goroutines have ended when it returns.
// It may be called once.
func (g *Gateway) Run(ctx context.Context) error {
	g.stopping, g.stop = context.WithCancel(context.WithoutCancel(ctx))
	defer g.stop()
	defer g.callers.Close()
	defer metrics.Observe(g.limits.observe, metrics.GatewayAdmissions, metrics.GatewayLimit)()
	if err := g.checkJudge(); err != nil {
		closeListeners(&g.config)
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return g.polls.Run(ctx) })
	group.Go(func() error { return g.roster.Run(ctx) })
	group.Go(func() error { return g.hearStops(ctx) })
	group.Go(func() error {
		g.callers.Run(ctx)
		return nil
	})
	group.Go(func() error {
		g.tidy(ctx)
		return nil
	})
	if config := &g.config; config.GRPC != nil {
		group.Go(func() error { return g.serveGRPC() })
		config.Logger.InfoContext(ctx, "answering Temporal's clients", "address", config.GRPC.Addr().String(), "tls", config.TLS != nil)
	}
	if g.http != nil {
		group.Go(func() error { return g.serveHTTP() })
	}
	g.setHealth(grpc_health_v1.HealthCheckResponse_SERVING)
	<-ctx.Done()
	g.drain()
	return group.Wait()
}

// checkJudge fails if credentials are demanded, but prove nothing.
func (g *Gateway) checkJudge() error {
	if g.config.Anonymous {
		return nil
	}
	if err := g.callers.Judges(); errors.Is(err, callers.ErrUnjudged) {
		return fmt.Errorf("gateway: clients must show who they are, and %w", err)
	}
	return nil // another error says nothing: NATS is asked again when the first client comes
}

// setHealth answers the health checks of the whole server and of its services.
func (g *Gateway) setHealth(status grpc_health_v1.HealthCheckResponse_ServingStatus) {
	for _, service := range []string{
		"", workflowservice.WorkflowService_ServiceDesc.ServiceName, operatorservice.OperatorService_ServiceDesc.ServiceName,
	} {
		g.health.SetServingStatus(service, status)
	}
}

func (g *Gateway) serveGRPC() error {
	if err := g.server.Serve(g.config.GRPC); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("gateway: serve gRPC: %w", err)
	}
	return nil
}

// drain ends the servers. Requests that take too long are cut off.
func (g *Gateway) drain() {
	g.health.Shutdown()
	g.stop()
	limit, cancel := context.WithTimeout(context.WithoutCancel(g.stopping), g.config.Drain)
	var cutting sync.WaitGroup
	cutting.Go(func() {
		<-limit.Done()
		if errors.Is(limit.Err(), context.DeadlineExceeded) {
			g.config.Logger.Warn("requests of Temporal's clients aborted: they took longer than the drain timeout", "limit", g.config.Drain)
			g.server.Stop()
		}
	})
	if g.http != nil && g.http.Shutdown(limit) != nil {
		_ = g.http.Close()
	}
	g.server.GracefulStop()
	cancel()
	cutting.Wait()
}
