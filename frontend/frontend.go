package frontend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/micro"

	"github.com/carillon-scheduler/carillon/schedule"
)

var (
	errNoTurn = schedule.Errorf(schedule.CodeResourceExhausted,
		"this frontend is overloaded, and has not begun to work on the request: try again later")
	errClosed = schedule.Errorf(schedule.CodeUnavailable, "the connection to NATS was closed: the frontend has stopped")
)

// Frontend answers the requests of the API. It is made by [New] and safe for concurrent use.
type Frontend struct {
	config Config
	api    *api
	gate   *gate
	turns  chan struct{} // holds an element for each request that is worked on
	ready  chan struct{}
}

// New returns a frontend that does nothing until Run is called. Errors are about the configuration.
func New(config Config) (*Frontend, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, schedule.Prefix("frontend", err)
	}
	config.Logger = config.Logger.With("component", "frontend")
	return &Frontend{
		config: config,
		api: &api{
			names: config.Names, js: config.JS, store: config.Store,
			namespaces: newNamespaces(config.JS, config.Names), log: config.Logger,
			now: config.Now, newID: config.NewID, guardDelay: config.GuardDelay,
			maxReply: func() int { return int(config.Conn.MaxPayload()) - replyOverhead },
		},
		gate:  newGate(config.Concurrency + config.Backlog),
		turns: make(chan struct{}, config.Concurrency),
		ready: make(chan struct{}),
	}, nil
}

// Ready is closed when requests reach the frontend.
func (f *Frontend) Ready() <-chan struct{} { return f.ready }

// Run answers requests until ctx ends. Then it takes no more, finishes those that have arrived, within
// Config.DrainTimeout, and returns nil. It returns an error if the service cannot be started, or the connection is
// closed. All its goroutines have ended when it returns. It may be called once.
func (f *Frontend) Run(ctx context.Context) error {
	// Requests outlive ctx, which only says when to take no more.
	work, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	service, stopped, err := f.listen(ctx, work)
	if err != nil {
		return err
	}
	close(f.ready)
	f.config.Logger.InfoContext(ctx, "answering requests", "service", service.Info().Name, "id", service.Info().ID)
	var result error
	select {
	case <-ctx.Done():
	case <-stopped:
		result = errClosed
	}
	f.drain(service, abort)
	return result
}

// listen starts the micro service. It returns what is closed when the service stops.
func (f *Frontend) listen(ctx, work context.Context) (micro.Service, <-chan struct{}, error) {
	stopped := make(chan struct{})
	endpoints := f.api.endpoints()
	service, err := micro.AddService(f.config.Conn, micro.Config{
		Name: f.config.Names.ServiceName(), Version: f.config.Version,
		Description:  "Carillon: API of the scheduler",
		StatsHandler: func(e *micro.Endpoint) any { return statsOf(endpoints, e.Name) },
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) {
			f.config.Logger.Error("subscription failed", "subject", err.Subject, "error", err)
		},
		DoneHandler: func(micro.Service) { close(stopped) },
	})
	if err != nil {
		return nil, nil, fmt.Errorf("frontend: start service: %w", err)
	}
	for _, e := range endpoints {
		err = errors.Join(err, service.AddEndpoint(e.verb, f.admit(work, e),
			micro.WithEndpointSubject(f.config.Names.API("*", e.verb)), micro.WithEndpointMetadata(e.metadata())))
	}
	if err == nil {
		err = f.config.Conn.FlushTimeout(f.config.RequestTimeout)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("frontend: start service: %w", err), service.Stop())
	}
	return service, stopped, nil
}

func statsOf(endpoints []*endpoint, verb string) any {
	for _, e := range endpoints {
		if e.verb == verb {
			return e.stats.counts()
		}
	}
	return nil
}

// drain ends the service: first no request comes any more, then all that have come are inside the gate, then they leave.
// When the time for that is over, what is still inside is aborted.
func (f *Frontend) drain(service micro.Service, abort context.CancelFunc) {
	limit, cancel := context.WithTimeout(context.Background(), f.config.DrainTimeout)
	defer cancel()
	if err := errors.Join(service.Stop(), f.awaitArrived(limit)); err != nil {
		f.config.Logger.Warn("requests that have just arrived may be refused", "error", err)
	}
	empty := f.gate.close()
	select {
	case <-empty:
	case <-limit.Done():
		f.config.Logger.Warn("requests aborted: they took longer than the drain timeout", "limit", f.config.DrainTimeout)
		abort()
		<-empty
	}
	f.flush()
}

// awaitArrived waits until every request that NATS has sent has been handed to its micro handler. Service.Stop does not
// wait for that.
func (f *Frontend) awaitArrived(ctx context.Context) error {
	// After the flush nothing more is on its way, since the server has seen the end of the subscriptions.
	if err := f.config.Conn.FlushWithContext(ctx); err != nil {
		return err
	}
	delivered := make(chan struct{})
	if err := f.config.Conn.Barrier(sync.OnceFunc(func() { close(delivered) })); err != nil {
		return err
	}
	select {
	case <-delivered:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the subscriptions: %w", ctx.Err())
	}
}

// flush sees the last replies off, should the connection be closed next.
func (f *Frontend) flush() {
	const limit = time.Second
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := f.config.Conn.FlushWithContext(ctx); err != nil {
		f.config.Logger.Warn("last replies may not have been sent", "error", err)
	}
}
