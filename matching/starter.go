package matching

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// natsStarter asks history over NATS.
type natsStarter struct {
	conn   call.Requester
	names  subjects.Names
	shards int
}

// NewStarter returns a starter that asks the owner of the execution's shard.
func NewStarter(conn call.Requester, names subjects.Names, shards int) Starter {
	return natsStarter{conn, names, shards}
}

// Start implements [Starter].
func (s natsStarter) Start(ctx context.Context, task offer.Task, to offer.Poller) error {
	request, err := offer.Start{Task: task, Poller: to}.Marshal()
	if err != nil {
		return err
	}
	shard := subjects.ShardOf(schedule.Key{Namespace: task.Namespace, ID: task.WorkflowID}, s.shards)
	err = call.AskBytes(ctx, s.conn, s.names.Execution(shard, task.Namespace, subjects.VerbStartTask), request, nil)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return fmt.Errorf("%w: %w", ErrForget, err)
	}
	return err
}
