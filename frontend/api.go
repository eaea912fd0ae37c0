package frontend

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// maxWrites bounds the attempts to write a definition that others write at the same time. Of all that try, one gets
// through each time, so it also bounds how many concurrent changes of one schedule are sure to succeed.
const maxWrites = 128

// api does the reading and writing of the requests. Each verb is a method in a file of its own; requests come validated.
// It keeps nothing between requests but which namespaces exist, and is safe for concurrent use.
type api struct {
	names      subjects.Names
	js         jetstream.JetStream
	store      *kv.Store
	namespaces *namespaces
	log        *slog.Logger
	now        func() time.Time
	newID      func() string
	guardDelay time.Duration
	// maxReply returns how many bytes a reply may have.
	maxReply func() int
}

// definition reads a definition. A replica may lag behind, so what it misses is asked of the leader: a schedule is found
// as soon as its creation has been answered.
func (a *api) definition(ctx context.Context, key schedule.Key) (kv.Record[schedule.Definition], error) {
	record, err := kv.Get(ctx, a.store, kv.Definition(key))
	if errors.Is(err, kv.ErrNotFound) {
		return a.newestDefinition(ctx, key)
	}
	return record, err
}

// newestDefinition reads a definition as it was last written.
func (a *api) newestDefinition(ctx context.Context, key schedule.Key) (kv.Record[schedule.Definition], error) {
	record, err := kv.GetLeader(ctx, a.store, kv.Definition(key))
	if errors.Is(err, kv.ErrNotFound) {
		return record, errNoSchedule(key)
	}
	return record, err
}

// replace lets write replace or delete a definition, guarded. On a conflict it begins again with the newest definition.
// It returns the record that was replaced.
func (a *api) replace(
	ctx context.Context, record kv.Record[schedule.Definition],
	write func(context.Context, kv.Record[schedule.Definition]) error,
) (kv.Record[schedule.Definition], error) {
	key := record.Value.Key()
	for range maxWrites {
		// Each time anew: the wake of the writer that was faster has removed the guard.
		if err := a.armGuard(ctx, key, record.Value.Version+1); err != nil {
			return record, err
		}
		err := write(ctx, record)
		if !errors.Is(err, kv.ErrConflict) {
			return record, err
		}
		if record, err = a.newestDefinition(ctx, key); err != nil {
			return record, err
		}
	}
	return record, schedule.Errorf(schedule.CodeUnavailable, "the schedule is being changed by too many others: try again")
}
