package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/frontend/internal/limits"
	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Config is what a [Service] needs. All fields are required.
type Config struct {
	Names subjects.Names
	// Conn is where frontends tell each other of the load. JS lists the task queues. Bus reads and clears streams.
	Conn *nats.Conn
	JS   jetstream.JetStream
	Bus  bus.Bus
	// Cluster holds the records of namespaces and their calendars. Store holds the schedules. Jobs holds the background jobs.
	Cluster *kv.Cluster
	Store   *kv.Store
	Jobs    *jobs.Store
	// Table knows the namespaces while it runs, which is from [Service.Start] on.
	Table *namespaces.Table
	// Keys lists the schedules of a namespace.
	Keys *listing.KeyLists
	// Exists reports whether there is a schedule, by the word of the leader.
	Exists func(ctx context.Context, key schedule.Key) (bool, error)
	// Delete deletes a schedule. The error has the code not_found if there is no such schedule.
	Delete func(ctx context.Context, namespace string, req *schedule.DeleteRequest) error
	// Acts logs what operators have done. Logger logs at a bounded rate.
	Acts, Logger *slog.Logger
	// Now is the clock; NewID makes unique IDs.
	Now   func() time.Time
	NewID func() string
	// MaxReply returns how many bytes a reply may have.
	MaxReply func() int
	// Settle is how long a request may still create a schedule in a namespace that has been marked for deletion.
	Settle time.Duration
}

// Service carries out the verbs about namespaces, which come validated, and decides which requests a namespace takes. It is safe for
// concurrent use. A nil Service, as a simulation has it, takes every namespace for one that exists and has no limits.
type Service struct {
	config  Config
	records *namespaces.Records
	limits  *limits.Limits
	places  *namespaces.Places
}

// New returns a service.
func New(config Config) *Service {
	s := &Service{config: config, records: namespaces.NewRecords(config.Cluster), limits: limits.New()}
	s.places = namespaces.NewPlaces(config.Cluster, namespaces.Counter{AtMost: s.countAtMost, List: config.Keys.Of}, config.Now)
	return s
}

// Start keeps what is known of namespaces and of the other frontends, until ctx ends or stop is called. The ID is a name that no other
// frontend has. The error is an error of NATS.
func (s *Service) Start(ctx context.Context, id string) (stop func(), err error) {
	leave, err := s.limits.Join(ctx, limits.Frontend{
		ID: id, Conn: s.config.Conn, Subject: s.config.Names.FrontendBeat(), Exists: s.isKnown, Logger: s.config.Logger,
		Now: s.config.Now,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.config.Table.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
		leave()
	}, nil
}

// Known returns a namespace as the table has it. The table may not have heard yet of a namespace that has just been created.
func (s *Service) Known(name string) (record schedule.Namespace, known bool) {
	if s == nil {
		return schedule.Namespace{}, false
	}
	return s.config.Table.Get(name)
}

func (s *Service) isKnown(name string) bool {
	_, known := s.Known(name)
	return known
}

// find returns a namespace. It asks the leader for a namespace that the table does not know: a namespace is there as soon as its creation
// has been answered.
func (s *Service) find(ctx context.Context, name string) (schedule.Namespace, error) {
	if record, known := s.Known(name); known {
		return record, nil
	}
	record, err := s.newest(ctx, name)
	return record.Namespace, err
}

// newest reads a namespace from the leader.
func (s *Service) newest(ctx context.Context, name string) (namespaces.Record, error) {
	// The name comes from a subject, where it may be any token.
	if schedule.ValidateNamespace(name) != nil {
		return namespaces.Record{}, errNoNamespace(name)
	}
	record, err := s.records.Get(ctx, name)
	if errors.Is(err, kv.ErrNotFound) {
		return record, errNoNamespace(name)
	}
	return record, err
}

// Admit refuses a request about something in a namespace that does not exist, with the code not_found. It refuses a change in a namespace
// that is being deleted, with the code failed_precondition. Before that it asks the leader, since the table may not have heard yet that the
// namespace is gone, or has been created anew.
func (s *Service) Admit(ctx context.Context, name string, change bool) error {
	record, err := s.find(ctx, name)
	if err != nil || !record.Deleting || !change {
		return err
	}
	newest, err := s.newest(ctx, name)
	if err == nil && newest.Deleting {
		return errDeleting(name)
	}
	return err
}

// AdmitRate counts a request. It refuses a request that comes faster than the limit of its namespace allows, with the code
// resource_exhausted. It neither counts nor refuses requests for a namespace that the table does not know.
func (s *Service) AdmitRate(ctx context.Context, name string) error {
	record, known := s.Known(name)
	if !known {
		return nil
	}
	if refused := s.limits.Admit(&record, s.config.Now()); refused != nil {
		metrics.NamespaceRefused.Add(ctx, 1, name, metrics.LimitRequests)
		return refused
	}
	metrics.NamespaceRequests.Add(ctx, 1, name)
	return nil
}

// TakePlace takes a place for a schedule that is about to be created. If the namespace has as many schedules as it may have, the error has
// the code resource_exhausted.
func (s *Service) TakePlace(ctx context.Context, key schedule.Key) error {
	if s == nil {
		return nil
	}
	record, err := s.find(ctx, key.Namespace)
	if err != nil {
		return err
	}
	err = s.places.Take(ctx, key, maxSchedules(&record.Limits))
	if schedule.CodeOf(err) == schedule.CodeResourceExhausted {
		metrics.NamespaceRefused.Add(ctx, 1, key.Namespace, metrics.LimitSchedules)
	}
	return err
}

// countAtMost counts the schedules of a namespace and those deleted within the last hour.
func (s *Service) countAtMost(ctx context.Context, namespace string) (int, error) {
	count := 0
	for shard := range s.config.Store.Shards() {
		bucket := s.config.Names.StateBucket(shard)
		keys := subjects.BucketSubject(bucket, subjects.DefinitionKeys(namespace))
		here, err := s.config.Bus.Subjects(ctx, subjects.BucketStream(bucket), keys)
		if err != nil {
			return 0, err
		}
		count += here
	}
	return count, nil
}

func errNoNamespace(name string) error {
	return &schedule.Error{
		Code: schedule.CodeNotFound, Field: "namespace", Message: fmt.Sprintf("there is no namespace %q", name),
	}
}
