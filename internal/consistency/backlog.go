package consistency

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/subjects"
)

// backlogPage is how many tasks of the backlog are read at once.
const backlogPage = 1000

// backlogLine is what a queue has in the backlog of one priority.
type backlogLine struct {
	queue    offer.Queue
	priority int
}

// lineOf returns where a task stands in the backlog.
func lineOf(queue offer.Queue, task *offer.Task) backlogLine {
	return backlogLine{queue, cmp.Or(task.Priority, subjects.DefaultPriority)}
}

func (l backlogLine) subject(names subjects.Names) string {
	return names.BacklogAt(l.queue, l.priority)
}

func compareLines(a, b backlogLine) int {
	return cmp.Or(cmp.Compare(a.queue.Namespace, b.queue.Namespace), cmp.Compare(a.queue.Kind, b.queue.Kind),
		cmp.Compare(a.queue.Name, b.queue.Name), cmp.Compare(a.priority, b.priority))
}

// backlog calls each for the tasks that a queue has in the backlog of one priority, until it returns false, and returns the sequence after them. Replicas may not know
// the newest ones. Those that come meanwhile may be left out: there might be no end of them. A message that is no task is left to matching.
func (r *reader) backlog(ctx context.Context, line backlogLine, each func(sequence uint64, t *offer.Task) bool) (next uint64, err error) {
	next = 1
	for {
		found, err := r.executing.Subject(ctx, r.names.BacklogStream(), line.subject(r.names), next, backlogPage)
		if err != nil {
			return next, fmt.Errorf("consistency: look into task queue %s: %w", line.queue.Name, err)
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
func (r *reader) newest(ctx context.Context, line backlogLine, from uint64, each func(sequence uint64, t *offer.Task) bool) error {
	stream, subject := r.names.BacklogStream(), line.subject(r.names)
	last, err := r.executing.Last(ctx, stream, subject)
	for err == nil && from <= last.Sequence {
		var m bus.Message
		if m, err = r.executing.Next(ctx, stream, subject, from); err == nil && !eachTask(&m, each) {
			return nil
		}
		from = m.Sequence + 1
	}
	if err != nil && !errors.Is(err, bus.ErrNone) {
		return fmt.Errorf("consistency: look into task queue %s: %w", line.queue.Name, err)
	}
	return nil
}

// eachTask calls each for the task in a message, and reports whether more are wanted.
func eachTask(m *bus.Message, each func(sequence uint64, t *offer.Task) bool) bool {
	task, err := offer.ParseTask(m.Data)
	return err != nil || each(m.Sequence, &task)
}
