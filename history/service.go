package history

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// concurrency is how many workflow IDs are worked on at once; most of the work is to wait for NATS.
	concurrency = 1024
	// maxRequests is how many requests may be in this process; further ones are refused. They wait for the turn of their workflow ID, or for a worker that
	// answers a query, and keep nobody else waiting. requestLimit bounds each of them.
	maxRequests  = 16384
	requestLimit = time.Minute
	// maxEffects is how many entries may have work that is not done, in this process. Further ones are left to the consumer.
	maxEffects = 16384
	// maxUsers is how many may want the turn of one workflow ID at once: so one execution takes a quarter of the room for requests and effects, at most.
	maxUsers = maxRequests / 4
	// offersAtOnce is how many tasks are offered at once. A sticky queue may keep one for some seconds.
	offersAtOnce = 2048
)

// Service is one process's share of the pool. Make it with New, run it once.
type Service struct {
	config   Config
	log      *slog.Logger
	journals *journal.Journals
	bus      bus.Streams
	offers   *offer.Offerer
	slots    *slots
	commits  *commits
	owners   *owners.Owners
	expiries expiries
	verbs    map[string]verb
	ready    chan struct{}

	// open ends when the service begins to stop, and work when the time for that is over. Work is the context of what goes on without a request.
	open, work context.Context
	working    chan struct{} // one element for each workflow ID that is worked on
	room       chan struct{} // one element for each entry whose work is not done
	offering   chan struct{} // one element for each task that is offered

	mu       sync.Mutex
	stopping bool
	running  sync.WaitGroup // of what spawn began
}

// New returns a service that is not running yet.
func New(config Config) (*Service, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Service{
		config: config, log: flood.Limit(config.Logger), slots: newSlots(config.Executions, config.Bytes), ready: make(chan struct{}),
		commits: newCommits(processOf(config.NewID()), config.Conn), working: make(chan struct{}, concurrency),
		room: make(chan struct{}, maxEffects), offering: make(chan struct{}, offersAtOnce),
	}
	s.verbs = s.allVerbs()
	return s, nil
}

// processOf makes an ID the ID of a process: a token without a hyphen.
func processOf(id string) string { return strings.ReplaceAll(id, "-", "") }

// Ready returns a channel that is closed when the service answers requests.
func (s *Service) Ready() <-chan struct{} { return s.ready }

// Run works until ctx ends. Then it stops in order: it takes no more requests and finishes those it has, then it does what the entries of
// this process make due, or leaves it to other processes. It returns nil after such a stop.
func (s *Service) Run(ctx context.Context) (err error) {
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	s.work = work
	if s.bus = s.config.Bus; s.bus == nil {
		own := bus.New(s.config.JS)
		defer own.Close()
		s.bus = own
	}
	s.journals = journal.New(s.bus, s.config.Names)
	offering := offer.Config{Conn: s.config.Conn, Names: s.config.Names, Logger: s.config.Logger, Now: s.config.Now}
	if s.offers, err = offer.NewOfferer(offering, s.bus, metrics.OfferedNew); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	defer s.offers.Close()
	if s.owners = s.config.Owners; s.owners == nil {
		if s.owners, err = owners.New(s.config.Conn, s.config.Names, s.config.Now); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	asked, err := s.config.Conn.QueueSubscribe(s.config.Names.Committer(s.commits.process), "", s.commits.ask)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	defer s.config.Conn.Unsubscribe(asked)
	defer s.keepEntries()()
	defer s.observeLag()()
	defer s.observeArchives()()
	defer s.observeUse()()
	defer s.stop()
	s.open = ctx
	defer context.AfterFunc(ctx, func() {
		_ = sleep.For(work, s.config.Drain)
		end()
	})()
	server, err := call.Serve(work, call.Config{
		Conn: s.config.Conn, Handle: s.handle, Logger: s.config.Logger, Queue: subjects.PoolHistory,
		Concurrency: maxRequests, Room: maxRequests, Timeout: requestLimit,
	}, s.config.Names.Executions(), s.config.Names.ExecutionsAt(s.commits.process))
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	defer server.Close()
	defer s.owners.Stay(s.commits.process, server.Here)()
	leave, err := owners.Announce(s.config.Conn, s.config.Names, s.commits.process)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	defer leave()
	close(s.ready)
	return s.consume(ctx)
}

// keepEntries keeps what the consumers have delivered from other processes, until the function is called that it returns.
func (s *Service) keepEntries() (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.work))
	var keeping sync.WaitGroup
	keeping.Go(func() { s.commits.keepAlive(ctx) })
	return func() {
		cancel()
		keeping.Wait()
	}
}

// consume takes the messages of all consumers until ctx ends. A standby has none.
func (s *Service) consume(ctx context.Context) error {
	if s.config.Elsewhere != nil {
		<-ctx.Done()
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return loop.New(loop.Config{
			Bus: s.bus, Names: s.config.Names, Pool: subjects.PoolHistory, Shards: s.config.Shards, Logger: s.config.Logger,
			Now: s.config.Now, Namespaces: s.config.Namespaces, Vitals: s.config.Vitals, MaxDeliveries: s.config.maxDeliveries,
		}, waker{s}).Run(ctx)
	})
	for shard := range s.config.Shards {
		if !s.config.noEffects {
			group.Go(func() error { return s.transfer(ctx, shard) })
			group.Go(func() error { return s.sweep(ctx, shard) })
		}
	}
	return group.Wait()
}

// spawn runs something in a goroutine of its own, unless the service is stopping.
func (s *Service) spawn(do func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.running.Go(do)
	return true
}

// stop waits for what goes on, and ends it when the time is over.
func (s *Service) stop() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.running.Wait()
	s.commits.leave()
	s.slots.close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) //permit:context.Background the run is over
	defer cancel()
	_ = s.bus.Flush(ctx) // if acknowledgements are lost, the entries come again
}

// shardOf returns the shard of an execution.
func (s *Service) shardOf(key schedule.Key) int { return subjects.ShardOf(key, s.config.Shards) }
