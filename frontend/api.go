package frontend

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

// maxWrites bounds the attempts to write a definition that others write at the same time. One of all concurrent writers succeeds
// each round, so it also bounds how many concurrent changes of one schedule are sure to succeed.
const maxWrites = 128

// api does the reading and writing for requests. The verbs are its methods; their requests are validated already. Between
// requests it keeps only caches: a copy of the namespaces, the used part of their limits, compiled specs, warnings about some
// specs, and, for seconds, how many more triggers a schedule has room for. It is safe for concurrent use.
type api struct {
	names     subjects.Names
	js        jetstream.JetStream // for reads on behalf of people
	readers   *bus.Readers        // the same, by shard
	bus       bus.Bus
	store     *kv.Store
	registry  *registry.Service // nil in a simulation
	jobs      *jobs.Store
	cluster   *kv.Cluster // holds the calendars
	calendars *calendars.Service
	bulk      *bulk.Service
	index     *search.Index     // nil if this frontend keeps none
	keys      *listing.KeyLists // exact
	// keysAndTraces also has the keys of deleted schedules.
	keysAndTraces *listing.KeyLists
	rooms         *rooms
	events        *events.Publisher
	specs         *cache.Specs
	warned        *warned
	types         *typesSeen   // nil in a simulation
	log           *slog.Logger // for what clients may cause as often as they like, at a bounded rate
	acts          *slog.Logger // for what operators have done: each line is needed
	now           func() time.Time
	newID         func() string
	guardDelay    time.Duration
	// queue returns the status of a task queue of a namespace.
	queue func(ctx context.Context, namespace, queue string) (taskqueue.Status, error)
	// maxReply returns how many bytes a reply may have.
	maxReply func() int
}

// definition reads a definition. A replica may lag behind, so a definition that it misses is read from the leader: a schedule is
// found as soon as its creation has been answered.
func (a *api) definition(ctx context.Context, key schedule.Key) (kv.Record[wire.Definition], error) {
	record, err := kv.Get(ctx, a.store, kv.Definition(key))
	if errors.Is(err, kv.ErrNotFound) {
		return a.newestDefinition(ctx, key)
	}
	return record, err
}

// newestDefinition reads the last written version of a definition.
func (a *api) newestDefinition(ctx context.Context, key schedule.Key) (kv.Record[wire.Definition], error) {
	record, err := kv.GetLeader(ctx, a.store, kv.Definition(key))
	if errors.Is(err, kv.ErrNotFound) {
		return record, errNoSchedule(key)
	}
	return record, err
}

// replace writes or deletes a definition, guarded. decide gets the newest definition, from the leader, and returns a function
// that makes the change, or nil if there is nothing to do. On a conflict replace starts over.
func (a *api) replace(
	ctx context.Context, key schedule.Key,
	decide func(kv.Record[wire.Definition]) (write func(context.Context) error, err error),
) error {
	for range maxWrites {
		record, err := a.newestDefinition(ctx, key)
		if err != nil {
			return err
		}
		write, err := decide(record)
		if err != nil || write == nil {
			return err
		}
		// Arm it each time: the wake of the writer that was faster has removed the guard.
		if err := a.armGuard(ctx, key, record.Value.Incarnation, record.Value.Version+1); err != nil {
			return err
		}
		if err := write(ctx); !errors.Is(err, kv.ErrConflict) {
			return err
		}
	}
	return errTooManyOthers
}

// errTooManyOthers answers a request whose write was refused [maxWrites] times.
var errTooManyOthers = schedule.Errorf(schedule.CodeUnavailable, "the schedule is being changed by too many others: try again")

// origin returns what a request says about itself.
func (a *api) origin(ctx context.Context, requestID string) request.Origin {
	return request.OriginOf(ctx, a.now(), requestID)
}

// newCalendars returns the service for the verbs about calendars.
func (a *api) newCalendars() *calendars.Service {
	return calendars.New(calendars.Config{
		Cluster: a.cluster, Store: a.store, Jobs: a.jobs, Keys: a.keys, KeysAndTraces: a.keysAndTraces, Logger: a.log,
		Now: a.now, NewID: a.newID, GuardDelay: a.guardDelay, MaxReply: a.maxReply,
	})
}

// newRegistry returns the service for namespaces, on top of the api. A request is worked on for at most a timeout.
func (a *api) newRegistry(conn *nats.Conn, table *namespaces.Table, timeout time.Duration) *registry.Service {
	return registry.New(registry.Config{
		Names: a.names, Conn: conn, JS: a.js, Bus: a.bus, Cluster: a.cluster, Store: a.store, Jobs: a.jobs, Table: table, Keys: a.keys,
		Exists: a.exists,
		Delete: func(ctx context.Context, namespace string, req *schedule.DeleteRequest) error {
			_, err := a.delete(ctx, namespace, req)
			return err
		},
		Acts: a.acts, Logger: a.log, Now: a.now, NewID: a.newID, MaxReply: a.maxReply, Settle: timeout + time.Second,
	})
}

// exists reports whether there is a schedule, by the word of the leader. A schedule whose definition cannot be read exists.
func (a *api) exists(ctx context.Context, key schedule.Key) (bool, error) {
	_, err := a.newestDefinition(ctx, key)
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
