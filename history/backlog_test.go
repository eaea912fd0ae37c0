package history

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// serveBacklog does what matching does: it brings the tasks of the backlog to polls.
func (b *bundle) serveBacklog() {
	b.Helper()
	offerer, err := offer.NewOfferer(offer.Config{Conn: bus.Plain{Conn: b.conn}, Names: b.names, Logger: natstest.Logger(b)}, nil, metrics.OfferedBacklog)
	require.NoError(b, err)
	b.Cleanup(offerer.Close)
	consumer, err := b.js.CreateConsumer(b.Context(), b.names.BacklogStream(), jetstream.ConsumerConfig{
		Durable: "all", FilterSubject: b.names.Backlogs(), AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second,
	})
	require.NoError(b, err)
	b.background(func(ctx context.Context) error {
		messages, err := consumer.Messages()
		if err != nil {
			return err
		}
		defer messages.Stop()
		for {
			msg, err := messages.Next(jetstream.NextContext(ctx))
			if err != nil {
				return nil
			}
			if b.startStored(ctx, offerer, msg) == nil {
				_ = msg.Ack()
			} else {
				_ = msg.NakWithDelay(20 * time.Millisecond)
			}
		}
	})
}

// startStored starts one task of the backlog, if there is a poll for it.
func (b *bundle) startStored(ctx context.Context, offerer *offer.Offerer, msg jetstream.Msg) error {
	queue, _, err := b.names.ParseBacklog(msg.Subject())
	if err != nil {
		return err
	}
	task, err := offer.ParseTask(msg.Data())
	if err != nil {
		return err
	}
	poller, err := offerer.Offer(ctx, queue, 0)
	if err != nil {
		return err
	}
	data, err := offer.Start{Task: task, Poller: poller}.Marshal()
	if err != nil {
		return err
	}
	shard := subjects.ShardOf(schedule.Key{Namespace: task.Namespace, ID: task.WorkflowID}, b.facts.Shards)
	err = call.AskBytes(ctx, b.conn, b.names.Execution(shard, task.Namespace, subjects.VerbStartTask), data, nil)
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil
	}
	return err
}
