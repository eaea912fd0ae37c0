package frontend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/micro"

	"github.com/carillon-scheduler/carillon/frontend/internal/batch"
	"github.com/carillon-scheduler/carillon/frontend/internal/schedules"
	"github.com/carillon-scheduler/carillon/frontend/internal/visibility"
	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

var (
	errNoTurn = schedule.Errorf(schedule.CodeResourceExhausted,
		"this frontend is overloaded, and has not begun to work on the request: try again later")
	errClosed = schedule.Errorf(schedule.CodeUnavailable, "the connection to NATS was closed: the frontend has stopped")
)

// startTimeout bounds how long a starting frontend waits until NATS knows its subscriptions.
const startTimeout = 30 * time.Second

// Frontend answers the requests of the API. [New] makes it. It is safe for concurrent use.
type Frontend struct {
	config    Config
	schedules *schedules.Service
	jobs      *jobs.Store
	batches   *batch.Service
	gate      *gate
	turns     chan struct{} // holds one element for each request in progress
	ready     chan struct{}
}

// New returns a frontend that does nothing until Run is called. An error means that the configuration is wrong.
func New(config Config) (*Frontend, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, schedule.Prefix("frontend", err)
	}
	acts := config.Logger.With("component", "frontend")
	config.Logger = flood.Limit(acts) // every other log line depends on how often clients call
	f := &Frontend{
		config: config,
		gate:   newGate(config.Concurrency + config.Backlog),
		turns:  make(chan struct{}, config.Concurrency),
		ready:  make(chan struct{}),
	}
	cluster := kv.NewCluster(config.JS, config.Names)
	f.jobs = jobs.NewStore(cluster)
	f.schedules = schedules.New(schedules.Config{
		Names: config.Names, Bus: config.Bus, Store: config.Store, Cluster: cluster, Jobs: f.jobs, Logger: config.Logger, Acts: acts,
		Now: config.Now, NewID: config.NewID, GuardDelay: config.GuardDelay, MaxReply: f.maxReply,
		Queue: func(ctx context.Context, namespace, queue string) (taskqueue.Status, error) {
			return taskqueue.Look(ctx, config.JS, config.Names, namespace, queue)
		},
		Conn: config.Conn, JS: config.JS, Lanes: config.Lanes, Table: namespaces.NewTable(config.JS, config.Names, acts),
		Index: config.Index, RequestTimeout: config.RequestTimeout,
	})
	f.batches = batch.New(batch.Config{
		Jobs: f.jobs, Index: config.Index, Workflows: config.Workflows, MaxMessage: config.Conn.MaxPayload, Logger: acts, Now: config.Now,
	})
	return f, nil
}

// maxReply returns how many bytes the body of a reply may have.
func (f *Frontend) maxReply() int { return int(f.config.Conn.MaxPayload()) - replyOverhead }

// Ready returns a channel that is closed when requests reach the frontend.
func (f *Frontend) Ready() <-chan struct{} { return f.ready }

// Run answers requests until ctx ends. Then it accepts no more, finishes those that have arrived, within Config.DrainTimeout, and
// returns nil. It returns an error if the service cannot be started or the connection is closed. All its goroutines have ended
// when it returns. It may be called once.
func (f *Frontend) Run(ctx context.Context) error {
	// Requests outlive ctx, which only says when to stop accepting them.
	work, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	defer f.config.Bus.Close()
	endpoints := endpoints(f.schedules)
	service, stopped, err := f.addService(endpoints)
	if err != nil {
		return fmt.Errorf("frontend: start service: %w", err)
	}
	defer f.startJobs(ctx, service.Info().ID)() // jobs are given back while the service is drained
	defer f.drain(service, abort)
	leave, err := f.schedules.Registry.Start(ctx, service.Info().ID)
	if err != nil {
		return fmt.Errorf("frontend: listen to other frontends: %w", err)
	}
	defer leave()
	stopWorkers, err := f.serveWorkers(work)
	defer stopWorkers()
	if err != nil {
		return fmt.Errorf("frontend: listen to workers: %w", err)
	}
	stopVisibility, err := f.showExecutions(work)
	if err != nil {
		return fmt.Errorf("frontend: listen to gateways: %w", err)
	}
	defer stopVisibility()
	defer f.observe()()
	if err := f.listen(work, service, endpoints); err != nil {
		return fmt.Errorf("frontend: start service: %w", err)
	}
	close(f.ready)
	f.config.Logger.InfoContext(ctx, "answering requests", "service", service.Info().Name, "id", service.Info().ID)
	select {
	case <-ctx.Done():
		return nil
	case <-stopped:
		return errClosed
	}
}

// serveWorkers does for untrusted workers what they may not do themselves, until stop is called, which is never nil. At a standby there are no runs
// to work on.
func (f *Frontend) serveWorkers(work context.Context) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, one := range slices.Backward(stops) {
			one()
		}
	}
	if f.config.Elsewhere != nil {
		return stop, nil
	}
	for _, serve := range []func(context.Context) (func(), error){f.makeConsumers, f.passAcks, f.takeReports} {
		one, err := serve(work)
		if err != nil {
			return stop, err
		}
		stops = append(stops, one)
	}
	return stop, nil
}

// showExecutions answers requests about executions if there is an index for it.
func (f *Frontend) showExecutions(work context.Context) (stop func(), err error) {
	if f.config.Index == nil {
		return func() {}, nil
	}
	server, err := visibility.Serve(work, visibility.Config{
		Conn: f.config.Conn, Names: f.config.Names, Index: f.config.Index, Batches: f.batches, Elsewhere: f.config.Elsewhere, Logger: f.config.Logger,
	})
	if err != nil {
		return nil, err
	}
	return server.Close, nil
}

// addService makes the micro service, without endpoints, and returns a channel that is closed when it stops.
func (f *Frontend) addService(endpoints []*endpoint) (micro.Service, <-chan struct{}, error) {
	stopped := make(chan struct{})
	service, err := micro.AddService(f.config.Conn, micro.Config{
		Name: f.config.Names.ServiceName(), Version: f.config.Version,
		Description:  "Carillon: API of the scheduler",
		StatsHandler: func(e *micro.Endpoint) any { return statsOf(endpoints, e.Name) },
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) {
			f.config.Logger.Error("subscription failed", "subject", err.Subject, "error", err)
		},
		DoneHandler: func(micro.Service) { close(stopped) },
	})
	return service, stopped, err
}

// listen returns when requests reach the service. The service works on them until work ends.
func (f *Frontend) listen(work context.Context, service micro.Service, endpoints []*endpoint) error {
	for _, e := range endpoints {
		metadata, err := e.metadata()
		if err != nil {
			return err
		}
		err = service.AddEndpoint(e.name(), f.admit(work, e),
			micro.WithEndpointSubject(e.subject(f.config.Names)), micro.WithEndpointMetadata(metadata))
		if err != nil {
			return err
		}
	}
	return f.config.Conn.FlushTimeout(startTimeout)
}

func statsOf(endpoints []*endpoint, name string) any {
	for _, e := range endpoints {
		if e.name() == name {
			return e.stats.counts()
		}
	}
	return nil
}

// drain ends the service in three steps: no new request comes, all that have come are inside the gate, and then they leave. When
// the time for that is over, the remaining requests are aborted.
func (f *Frontend) drain(service micro.Service, abort context.CancelFunc) {
	limit, cancel := context.WithTimeout(context.Background(), f.config.DrainTimeout) //permit:context.Background the run is over
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

// awaitArrived waits until every request that NATS has sent has reached its micro handler. Service.Stop does not wait for that.
// If the wait is cut short, the gate refuses a request that arrives later, so the request is answered and not lost.
func (f *Frontend) awaitArrived(ctx context.Context) error {
	// The barrier passes through all subscriptions of the connection, so it also waits for other users of the connection. Our own
	// take almost no time.
	const limit = time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// After the flush nothing more is on its way, because the server has seen the end of the subscriptions.
	if err := f.config.Conn.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("wait for NATS: %w", err)
	}
	delivered := make(chan struct{})
	if err := f.config.Conn.Barrier(func() { close(delivered) }); err != nil {
		return fmt.Errorf("wait for the subscriptions: %w", err)
	}
	select {
	case <-delivered:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the subscriptions: %w", ctx.Err())
	}
}

// flush sends the last replies, in case the connection is closed next.
func (f *Frontend) flush() {
	const limit = time.Second
	ctx, cancel := context.WithTimeout(context.Background(), limit) //permit:context.Background the run is over
	defer cancel()
	if err := f.config.Conn.FlushWithContext(ctx); err != nil {
		f.config.Logger.Warn("last replies may not have been sent", "error", err)
	}
}

// startJobs works on background jobs until ctx ends or the returned function is called. That function returns when the jobs have
// been given back to other frontends. At a standby it does nothing.
func (f *Frontend) startJobs(ctx context.Context, owner string) (stop func()) {
	if f.config.Elsewhere != nil {
		return func() {}
	}
	works := f.schedules.Works()
	maps.Copy(works, f.batches.Works())
	runner := jobs.NewRunner(jobs.Config{
		Store: f.jobs, Works: works, Logger: f.config.Logger, Owner: owner, Now: f.config.Now,
	})
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { runner.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}
