package archival

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/archive/progress"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/kv"
)

const (
	// maxHeld is how many bytes of histories are in memory at once, as history counts them. Their JSON takes a few times that.
	// Those for one bucket take half of that.
	maxHeld      = 64 << 20
	maxHeldOfOne = maxHeld / 2
	// maxPause is how long a namespace waits after its bucket has refused something, at most.
	maxPause = time.Minute
)

// Service is one process of the role. Make it with New, run it once.
type Service struct {
	config  Config
	log     *slog.Logger
	bus     bus.Streams
	cluster *kv.Cluster
	records *progress.Records
	buckets *buckets
	runs    *rate.Limiter
	bytes   *rate.Limiter
	held    *semaphore.Weighted
	state   *state
	pages   pages
	seen    seenMarks
	ready   chan struct{}

	// follows are the journals that this process reads, as long as it has its turn, and events the events of the schedules of each namespace.
	follows map[place]*follow
	events  map[string]*eventFollow
}

// place is a namespace in a shard.
type place struct {
	namespace string
	shard     int
}

// compare orders places.
func (p place) compare(other place) int {
	return cmp.Or(strings.Compare(p.namespace, other.namespace), cmp.Compare(p.shard, other.shard))
}

// New returns a service that is not running yet.
func New(config Config) (*Service, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	cluster := kv.NewCluster(config.JS, config.Names)
	return &Service{
		config: config, log: config.Logger, cluster: cluster, records: progress.NewRecords(cluster),
		runs:  rate.NewLimiter(rate.Limit(config.RunsPerSecond), max(1, int(config.RunsPerSecond))),
		bytes: rate.NewLimiter(rate.Limit(config.BytesPerSecond), max(1, int(config.BytesPerSecond))),
		held:  semaphore.NewWeighted(maxHeld), ready: make(chan struct{}),
		follows: map[place]*follow{}, events: map[string]*eventFollow{}, state: newState(),
	}, nil
}

// Ready returns a channel that is closed when the service answers requests.
func (s *Service) Ready() <-chan struct{} { return s.ready }

// Run archives and answers until ctx ends. It returns nil after such a stop.
func (s *Service) Run(ctx context.Context) error {
	if s.bus = s.config.Bus; s.bus == nil {
		own := bus.New(s.config.JS)
		defer own.Close()
		s.bus = own
	}
	open := s.config.open
	if open == nil {
		open = archive.Store{JS: s.config.JS, Bus: s.bus, Names: s.config.Names, Replicas: s.config.Replicas, Marks: marks{s.cluster}}.Open
	}
	s.buckets = newBuckets(s.openAllowed(open))
	defer s.buckets.close()
	defer s.state.observe(s.config.Now)()
	server, err := s.serve(ctx)
	if err != nil {
		return fmt.Errorf("archival: %w", err)
	}
	defer server.Close()
	close(s.ready)
	turn := newTurn(s.cluster)
	defer turn.release(ctx)
	for ctx.Err() == nil {
		s.turn(ctx, turn)
		_ = sleep.For(ctx, s.config.Every)
	}
	return nil
}

// asking returns the URL of the bucket of each namespace that is known to ask for an archive.
func (s *Service) asking() map[string]string {
	all := map[string]string{}
	for _, record := range s.config.Namespaces.All() {
		if record.Limits.Archive != "" && !record.Deleting {
			all[record.Name] = record.Limits.Archive
		}
	}
	return all
}

// turn archives what there is, if it is this process's turn, until it has its turn no longer, or no namespace asks for an archive.
func (s *Service) turn(ctx context.Context, turn *turn) {
	if len(s.asking()) == 0 {
		turn.release(ctx)
		s.state.clear()
		return
	}
	held, err := turn.hold(ctx, s.status())
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "it is not known which process archives", "error", err)
	}
	if !held {
		s.follows, s.events = map[place]*follow{}, map[string]*eventFollow{}
		s.state.clear()
		return
	}
	working, lose := context.WithCancel(ctx)
	defer lose()
	var keeping sync.WaitGroup
	keeping.Go(func() { turn.keep(working, s.config.Every, s.status, lose) })
	s.work(working)
	lose()
	keeping.Wait()
}

// status is what this process says about itself.
func (s *Service) status() progress.Status { return s.state.status(s.config.Now()) }
