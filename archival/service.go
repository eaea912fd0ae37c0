package archival

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
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
	maxHeld = 64 << 20
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
	ready   chan struct{}

	// follows are the journals that this process reads, as long as it has its turn.
	follows map[place]*follow
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
		follows: map[place]*follow{}, state: newState(),
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
		if more := s.turn(ctx, turn); !more {
			_ = sleep.For(ctx, s.config.Every)
		}
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

// turn archives what there is, if it is this process's turn. It reports whether there may be more.
func (s *Service) turn(ctx context.Context, turn *turn) (more bool) {
	asking := s.asking()
	if len(asking) == 0 {
		turn.release(ctx)
		s.state.clear()
		return false
	}
	held, err := turn.hold(ctx, s.status())
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "it is not known which process archives", "error", err)
	}
	if !held {
		s.follows = map[place]*follow{}
		s.state.clear()
		return false
	}
	s.state.archives(slices.Sorted(maps.Keys(asking)))
	working, lose := context.WithCancel(ctx)
	defer lose()
	var keeping sync.WaitGroup
	keeping.Go(func() { turn.keep(working, s.config.Every, s.status, lose) })
	more = s.round(working, asking)
	lose()
	keeping.Wait()
	return more
}

// status is what this process says about itself.
func (s *Service) status() progress.Status { return s.state.status(s.config.Now()) }

// round archives what there is of all namespaces, and reports whether there may be more.
func (s *Service) round(ctx context.Context, asking map[string]string) (more bool) {
	for at := range s.follows {
		if _, asks := asking[at.namespace]; !asks {
			delete(s.follows, at)
			s.state.forget(at)
		}
	}
	var group errgroup.Group
	results := make(chan outcome, len(asking))
	for namespace, address := range asking {
		if s.state.isPaused(namespace, s.config.Now()) {
			continue
		}
		follows := s.followsOf(namespace, address)
		group.Go(func() error {
			more, err := s.archive(ctx, namespace, address, follows)
			results <- outcome{namespace, more, err}
			return nil
		})
	}
	_ = group.Wait()
	close(results)
	for result := range results {
		s.settle(ctx, result)
		more = more || result.more
	}
	return more
}

// outcome is how a round has ended for a namespace.
type outcome struct {
	namespace string
	more      bool
	err       error
}

// settle lets a namespace pause after an error, each time for longer.
func (s *Service) settle(ctx context.Context, of outcome) {
	if of.err == nil {
		s.state.resume(of.namespace)
		return
	}
	if ctx.Err() != nil {
		return
	}
	s.state.fail(of.namespace, s.config.Now(), s.config.Every, of.err.Error())
	s.log.WarnContext(ctx, "executions are archived later, and kept until then", "namespace", of.namespace, "error", of.err)
}

// followsOf returns the follows of all shards of a namespace.
func (s *Service) followsOf(namespace, address string) []*follow {
	all := make([]*follow, s.config.Shards)
	for shard := range all {
		at := place{namespace, shard}
		if known := s.follows[at]; known == nil || known.address != address {
			s.follows[at] = &follow{Service: s, place: at, address: address}
		}
		all[shard] = s.follows[at]
	}
	return all
}

// archive archives what there is of a namespace: of all shards, one after the other. A shard that fails does not keep the others.
func (s *Service) archive(ctx context.Context, namespace, address string, follows []*follow) (more bool, err error) {
	bucket, err := s.buckets.of(ctx, address)
	if err != nil {
		return false, err
	}
	for _, f := range follows {
		left, failed := f.round(ctx, bucket)
		more = more || left
		if failed != nil {
			err = fmt.Errorf("namespace %s, shard %d: %w", namespace, f.shard, failed)
		}
	}
	return more, err
}
