package matching

import (
	"context"
	"errors"
	"time"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/subjects"
)

// backlog reads the stream of the backlog.
type backlog struct {
	bus   bus.Streams
	names subjects.Names
}

// counts returns how many tasks each queue has. Subjects of no queue do not count.
func (b backlog) counts(ctx context.Context) (map[offer.Queue]uint64, error) {
	subjects, err := b.bus.Counts(ctx, b.names.BacklogStream(), b.names.Backlogs())
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
	first, err := b.bus.Next(ctx, b.names.BacklogStream(), b.names.Backlog(q), 1)
	return first.Time, err
}

// open returns the consumer of a queue, nil if the queue has no tasks.
func (b backlog) open(ctx context.Context, q offer.Queue) (bus.Fetcher, error) {
	switch _, err := b.bus.Last(ctx, b.names.BacklogStream(), b.names.Backlog(q)); {
	case errors.Is(err, bus.ErrNone):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return b.bus.Consumer(ctx, b.names.BacklogStream(), b.names.BacklogConsumer(q))
}
