package matching

import (
	"context"
	"errors"
	"maps"
	"slices"
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

// content is what a queue has in the backlog.
type content struct {
	tasks      uint64
	priorities []int // of the tasks, sorted
}

// contents returns what each queue has. Subjects of no queue do not count.
func (b backlog) contents(ctx context.Context) (map[offer.Queue]content, error) {
	counts, err := b.bus.Counts(ctx, b.names.BacklogStream(), b.names.Backlogs())
	if err != nil {
		return nil, err
	}
	all := make(map[offer.Queue]content, len(counts))
	for _, subject := range slices.Sorted(maps.Keys(counts)) {
		if q, priority, err := b.names.ParseBacklog(subject); err == nil {
			all[q] = content{all[q].tasks + counts[subject], append(all[q].priorities, priority)}
		}
	}
	for _, has := range all {
		slices.Sort(has.priorities)
	}
	return all, nil
}

// oldest returns when the first task of a queue was stored whose tasks have these priorities; bus.ErrNone if there is none.
func (b backlog) oldest(ctx context.Context, q offer.Queue, priorities []int) (oldest time.Time, err error) {
	err = bus.ErrNone
	for _, priority := range priorities {
		first, failed := b.bus.Next(ctx, b.names.BacklogStream(), b.names.BacklogAt(q, priority), 1)
		switch {
		case failed == nil && (oldest.IsZero() || first.Time.Before(oldest)):
			oldest, err = first.Time, nil
		case failed != nil && !errors.Is(failed, bus.ErrNone):
			return time.Time{}, failed
		}
	}
	return oldest, err
}

// priorities returns those that tasks of a queue have, sorted.
func (b backlog) priorities(ctx context.Context, q offer.Queue) (some []int, err error) {
	switch _, err := b.bus.Last(ctx, b.names.BacklogStream(), b.names.Backlog(q)); {
	case err == nil:
		some = append(some, subjects.DefaultPriority)
	case !errors.Is(err, bus.ErrNone):
		return nil, err
	}
	others, err := b.bus.Counts(ctx, b.names.BacklogStream(), b.names.OtherBacklogs(q))
	for subject := range others {
		if _, priority, err := b.names.ParseBacklog(subject); err == nil {
			some = append(some, priority)
		}
	}
	slices.Sort(some)
	return some, err
}

// consumer returns the consumer for the tasks of a queue that have a priority.
func (b backlog) consumer(ctx context.Context, q offer.Queue, priority int) (bus.Fetcher, error) {
	return b.bus.Consumer(ctx, b.names.BacklogStream(), b.names.BacklogConsumerAt(q, priority))
}
