package consistency

import (
	"context"
	"errors"
	"fmt"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/offer"
)

// backlogPage is how many tasks of the backlog are read at once.
const backlogPage = 1000

// backlog calls each for the tasks that a queue has in the backlog, until it returns false, and returns the sequence after them. Replicas may not know
// the newest ones. Those that come meanwhile may be left out: there might be no end of them. A message that is no task is left to matching.
func (r *reader) backlog(ctx context.Context, queue offer.Queue, each func(sequence uint64, t *offer.Task) bool) (next uint64, err error) {
	next = 1
	for {
		found, err := r.executing.Subject(ctx, r.names.BacklogStream(), r.names.Backlog(queue), next, backlogPage)
		if err != nil {
			return next, fmt.Errorf("consistency: look into task queue %s: %w", queue.Name, err)
		}
		for i := range found {
			next = found[i].Sequence + 1
			if !eachTask(&found[i], each) {
				return next, nil
			}
		}
		if len(found) < backlogPage {
			return next, nil
		}
	}
}

// newest calls each for the tasks that the leader has from a sequence on, until it returns false. Those that come meanwhile are left out.
func (r *reader) newest(ctx context.Context, queue offer.Queue, from uint64, each func(sequence uint64, t *offer.Task) bool) error {
	stream, subject := r.names.BacklogStream(), r.names.Backlog(queue)
	last, err := r.executing.Last(ctx, stream, subject)
	for err == nil && from <= last.Sequence {
		var m bus.Message
		if m, err = r.executing.Next(ctx, stream, subject, from); err == nil && !eachTask(&m, each) {
			return nil
		}
		from = m.Sequence + 1
	}
	if err != nil && !errors.Is(err, bus.ErrNone) {
		return fmt.Errorf("consistency: look into task queue %s: %w", queue.Name, err)
	}
	return nil
}

// eachTask calls each for the task in a message, and reports whether more are wanted.
func eachTask(m *bus.Message, each func(sequence uint64, t *offer.Task) bool) bool {
	task, err := offer.ParseTask(m.Data)
	return err != nil || each(m.Sequence, &task)
}
