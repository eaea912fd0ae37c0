package matching

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/subjects"
)

// backlog reads the stream of the backlog.
type backlog struct {
	js    jetstream.JetStream
	names subjects.Names
}

// counts returns how many tasks each queue has. Subjects of no queue do not count.
func (b backlog) counts(ctx context.Context) (map[offer.Queue]uint64, error) {
	subjects, err := bus.LeaderCounts(ctx, b.js, b.names.BacklogStream(), b.names.Backlogs())
	if err != nil {
		return nil, err
	}
	counts := make(map[offer.Queue]uint64, len(subjects))
	for subject, n := range subjects {
		if q, err := b.names.ParseQueue(subject); err == nil {
			counts[q] = n
		}
	}
	return counts, nil
}

// oldest returns when the first task of a queue was stored; bus.ErrNone if it has none.
func (b backlog) oldest(ctx context.Context, q offer.Queue) (time.Time, error) {
	first, err := bus.LeaderNext(ctx, b.js, b.names.BacklogStream(), b.names.Backlog(q), 1)
	return first.Time, err
}

// open returns the consumer of a queue, nil if the queue has no tasks.
func (b backlog) open(ctx context.Context, q offer.Queue) (jetstream.Consumer, error) {
	switch _, err := bus.LeaderLast(ctx, b.js, b.names.BacklogStream(), b.names.Backlog(q)); {
	case errors.Is(err, bus.ErrNone):
		return nil, nil
	case err != nil:
		return nil, err
	}
	config := b.names.BacklogConsumer(q)
	consumer, err := b.js.Consumer(ctx, b.names.BacklogStream(), config.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = b.js.CreateConsumer(ctx, b.names.BacklogStream(), config)
		if errors.Is(err, jetstream.ErrConsumerExists) { // another process was faster
			return b.js.Consumer(ctx, b.names.BacklogStream(), config.Durable)
		}
	}
	return consumer, err
}
