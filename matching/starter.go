package matching

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// natsStarter asks history over NATS.
type natsStarter struct {
	owners owners.Router
	names  subjects.Names
	shards int
}

// NewStarter returns a starter that asks history. The router says which process of it.
func NewStarter(router owners.Router, names subjects.Names, shards int) Starter {
	return natsStarter{router, names, shards}
}

// Start implements [Starter].
func (s natsStarter) Start(ctx context.Context, task offer.Task, to offer.Poller) error {
	request, err := offer.Start{Task: task, Poller: to}.Marshal()
	if err != nil {
		return err
	}
	key := schedule.Key{Namespace: task.Namespace, ID: task.WorkflowID}
	shard := subjects.ShardOf(key, s.shards)
	err = call.AskBytes(ctx, s.owners.For(key), s.names.Execution(shard, task.Namespace, subjects.VerbStartTask), request, nil)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return fmt.Errorf("%w: %w", ErrForget, err)
	}
	return err
}
