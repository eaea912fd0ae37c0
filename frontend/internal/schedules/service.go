package schedules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/frontend/internal/bulk"
	"github.com/carillon-scheduler/carillon/frontend/internal/calendars"
	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/frontend/internal/registry"
	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/cache"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// specCacheSize is how many compiled specs a service keeps. Few requests need one, and those come from people.
const specCacheSize = 1024

// Config is what a [Service] needs. The fields below "not in a simulation" may be zero; all others are required.
type Config struct {
	Names subjects.Names
	Bus   bus.Bus
	// Store holds the records of schedules. Cluster holds namespaces and calendars, Jobs the background jobs.
	Store   *kv.Store
	Cluster *kv.Cluster
	Jobs    *jobs.Store
	// Logger gets what clients may cause as often as they like, at a bounded rate. Acts gets what operators have done, where each line is
	// needed.
	Logger, Acts *slog.Logger
	// Now is the clock; NewID makes unique IDs of one subject token.
	Now   func() time.Time
	NewID func() string
	// GuardDelay is how long after a crash at the worst moment a change takes effect.
	GuardDelay time.Duration
	// Queue returns the status of a task queue of a namespace.
	Queue func(ctx context.Context, namespace, queue string) (taskqueue.Status, error)
	// MaxReply returns how many bytes a reply may have.
	MaxReply func() int

	// Not in a simulation:

	// Conn asks workers and other frontends. JS and Lanes read on behalf of people.
	Conn  *nats.Conn
	JS    jetstream.JetStream
	Lanes *bus.Lanes
	// Table knows the namespaces, from the Start of Service.Registry on. Without it every namespace exists and has no limits.
	Table *namespaces.Table
	// Index answers queries. Without it queries are refused.
	Index *search.Index
	// RequestTimeout is how long a request is worked on at most.
	RequestTimeout time.Duration
}

// Service carries out the verbs about schedules and their runs, and leads to the services for everything else. Requests come validated.
// Between requests it keeps only caches: a copy of the namespaces, the used part of their limits, compiled specs, warnings about some
// specs, and, for seconds, how many more triggers a schedule has room for. It is safe for concurrent use.
type Service struct {
	// Registry carries out the verbs about namespaces. It is nil in a simulation.
	Registry *registry.Service
	// Calendars carries out the verbs about named calendars, Bulk those about bulk operations.
	Calendars *calendars.Service
	Bulk      *bulk.Service

	names   subjects.Names
	js      jetstream.JetStream
	readers *bus.Readers // the same, by shard
	bus     bus.Bus
	store   *kv.Store
	index   *search.Index // nil if there is none
	events  *events.Publisher
	rooms   *rooms
	specs   *cache.Specs
	warned  *warned
	types   *typesSeen // nil in a simulation
	log     *slog.Logger
	now     func() time.Time
	newID   func() string

	keys *listing.KeyLists // exact
	// keysAndTraces also has the keys of deleted schedules.
	keysAndTraces *listing.KeyLists
	guardDelay    time.Duration
	queue         func(ctx context.Context, namespace, queue string) (taskqueue.Status, error)
	maxReply      func() int
	// readBudget is what each request may read of the event history.
	readBudget budget
}

// New returns a service.
func New(config Config) *Service {
	s := &Service{
		names: config.Names, js: config.JS, bus: config.Bus, store: config.Store, index: config.Index,
		events: events.NewPublisher(config.Bus, config.Names, config.Table),
		rooms:  newRooms(), specs: cache.NewSpecs(specCacheSize), warned: newWarned(), log: config.Logger, now: config.Now,
		newID: config.NewID, keys: listing.NewKeyLists(config.Store, kv.Schedules),
		keysAndTraces: listing.NewKeyLists(config.Store, kv.SchedulesAndTraces), guardDelay: config.GuardDelay, queue: config.Queue,
		maxReply: config.MaxReply, readBudget: budget{maxScanned, maxScannedBytes},
	}
	s.Calendars, s.Bulk = s.newCalendars(&config), s.newBulk(&config)
	if config.Table != nil {
		s.Registry, s.readers = s.newRegistry(&config), bus.NewReaders(config.JS, config.Lanes)
		s.types = newTypesSeen(config.Now, func(ctx context.Context, of actionType) (taskqueue.Types, error) {
			return taskqueue.AskTypes(ctx, config.Conn, config.Names, of.namespace, of.queue, of.name)
		})
	}
	return s
}

// Works returns what the background jobs of each kind do.
func (s *Service) Works() map[string]jobs.Work {
	works := s.Bulk.Works(s.index != nil)
	works[calendars.KindReplan] = s.Calendars.Work(s.replan)
	if s.Registry != nil {
		works[registry.KindRemoval] = s.Registry.RemovalWork()
	}
	return works
}

// definition reads a definition. A replica may lag behind, so a definition that it misses is read from the leader: a schedule is
// found as soon as its creation has been answered.
func (s *Service) definition(ctx context.Context, key schedule.Key) (kv.Record[wire.Definition], error) {
	record, err := kv.Get(ctx, s.store, kv.Definition(key))
	if errors.Is(err, kv.ErrNotFound) {
		return s.newestDefinition(ctx, key)
	}
	return record, err
}

// newestDefinition reads the last written version of a definition.
func (s *Service) newestDefinition(ctx context.Context, key schedule.Key) (kv.Record[wire.Definition], error) {
	record, err := kv.GetLeader(ctx, s.store, kv.Definition(key))
	if errors.Is(err, kv.ErrNotFound) {
		return record, errNoSchedule(key)
	}
	return record, err
}

// replace writes or deletes a definition, guarded. decide gets the newest definition, from the leader, and returns a function
// that makes the change, or nil if there is nothing to do. On a conflict replace starts over.
func (s *Service) replace(
	ctx context.Context, key schedule.Key,
	decide func(kv.Record[wire.Definition]) (write func(context.Context) error, err error),
) error {
	for range request.MaxWrites {
		record, err := s.newestDefinition(ctx, key)
		if err != nil {
			return err
		}
		write, err := decide(record)
		if err != nil || write == nil {
			return err
		}
		// Arm it each time: the wake of the writer that was faster has removed the guard.
		if err := s.armGuard(ctx, key, record.Value.Incarnation, record.Value.Version+1); err != nil {
			return err
		}
		if err := write(ctx); !errors.Is(err, kv.ErrConflict) {
			return err
		}
	}
	return errTooManyOthers
}

// errTooManyOthers answers a request whose write was refused [request.MaxWrites] times.
var errTooManyOthers = schedule.Errorf(schedule.CodeUnavailable, "the schedule is being changed by too many others: try again")

// origin returns what a request says about itself.
func (s *Service) origin(ctx context.Context, requestID string) request.Origin {
	return request.OriginOf(ctx, s.now(), requestID)
}

// newCalendars returns the service for named calendars.
func (s *Service) newCalendars(config *Config) *calendars.Service {
	return calendars.New(calendars.Config{
		Cluster: config.Cluster, Store: s.store, Jobs: config.Jobs, Keys: s.keys, KeysAndTraces: s.keysAndTraces, Logger: s.log,
		Now: s.now, NewID: s.newID, GuardDelay: s.guardDelay, MaxReply: s.maxReply,
	})
}

// newRegistry returns the service for namespaces.
func (s *Service) newRegistry(config *Config) *registry.Service {
	return registry.New(registry.Config{
		Names: s.names, Conn: config.Conn, JS: s.js, Bus: s.bus, Cluster: config.Cluster, Store: s.store, Jobs: config.Jobs,
		Table: config.Table, Keys: s.keys,
		Exists: s.exists,
		Delete: func(ctx context.Context, namespace string, req *schedule.DeleteRequest) error {
			_, err := s.Delete(ctx, namespace, req)
			return err
		},
		Acts: config.Acts, Logger: s.log, Now: s.now, NewID: s.newID, MaxReply: s.maxReply, Settle: config.RequestTimeout + time.Second,
	})
}

// exists reports whether there is a schedule, by the word of the leader. A schedule whose definition cannot be read exists.
func (s *Service) exists(ctx context.Context, key schedule.Key) (bool, error) {
	_, err := s.newestDefinition(ctx, key)
	switch {
	case schedule.CodeOf(err) == schedule.CodeNotFound:
		return false, nil
	case errors.Is(err, kv.ErrCorrupt):
		return true, nil
	}
	return err == nil, err
}

// sideBySide calls functions concurrently and waits for all of them. Of several errors it returns the one of the first function
// in the list, because the answer to a request must not depend on which function was faster.
func sideBySide(functions ...func() error) error {
	errs := make([]error, len(functions))
	var running sync.WaitGroup
	for i, function := range functions {
		running.Go(func() { errs[i] = function() })
	}
	running.Wait()
	return cmp.Or(errs...)
}

func errNoSchedule(key schedule.Key) error {
	return &schedule.Error{
		Code: schedule.CodeNotFound, Field: "id",
		Message: fmt.Sprintf("namespace %q has no schedule %q", key.Namespace, key.ID),
	}
}

func errNoBackfill(key schedule.Key, id string) error {
	return &schedule.Error{
		Code: schedule.CodeNotFound, Field: "backfillId",
		Message: fmt.Sprintf("schedule %q has no backfill or trigger %q in progress", key.ID, id),
	}
}
