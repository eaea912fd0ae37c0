package consistency

import (
	"context"
	"fmt"
	"strconv"

	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// stray is a run in the action stream that no record has, and what is known of it.
type stray struct {
	taskqueue.Queue
	run taskqueue.WaitingRun
	// taken is set if a worker has received the run, has if a worker says that it has the run.
	taken, has bool
}

// inspectStray makes a finding of a stray, unless a worker has the run: such a run continues, as a deletion promises. It is a pure
// function. A stray is mended only at a person's request, because somebody may have deleted the schedule and left its runs on purpose.
func inspectStray(s *stray) (Finding, bool) {
	if s.has {
		return Finding{}, false
	}
	where := "no worker has taken it"
	if s.taken {
		where = "the worker that took it does not have it any more"
	}
	return Finding{
		Kind: RunOrphaned, Namespace: s.run.Namespace, ScheduleID: s.run.ID, About: s.run.RequestID,
		What: fmt.Sprintf("the schedule of run %s is gone, and the run waits in task queue %s since %s: %s", s.run.RunID, s.Name,
			instant(s.run.Since), where),
		Repair: "terminate it, which frees its place among the pending runs", Repairable: true,
		evidence: strconv.FormatUint(s.run.Sequence, 10), asked: true, stray: s,
		mend: endStray{queue: s.Name, run: s.run},
	}, true
}

// endStray asks the invoker to terminate a run that no record has.
type endStray struct {
	queue string
	run   taskqueue.WaitingRun
}

func (e endStray) carryOut(ctx context.Context, m *mender, key schedule.Key) error {
	subject := m.names.InvokeEnd(m.store.ShardOf(key), key, schedule.ControlTerminate, e.run.RequestID)
	return task.Publish(ctx, m.bus, subject, &wire.EndRun{
		Kind: schedule.ControlTerminate, RequestID: e.run.RequestID, WorkflowID: e.run.WorkflowID, RunID: e.run.RunID,
		TaskQueue: e.queue, Reason: "its schedule is gone (cluster check)",
	})
}

// lookAtQueues looks at the runs of all task queues of a namespace. An empty namespace means all.
func (c *Checker) lookAtQueues(ctx context.Context, namespace string) ([]Finding, error) {
	if namespace == "" {
		namespace = "*"
	}
	return c.reader.strays(ctx, c.reader.names.Actions(namespace), 1, 0)
}

// lookAtRun looks again at a run that was found, if its queue still has it.
func (c *Checker) lookAtRun(ctx context.Context, f *Finding) ([]Finding, error) {
	s := f.stray
	return c.reader.strays(ctx, c.reader.names.ActionQueue(s.Namespace, s.Name), s.run.Sequence, s.run.Sequence)
}

// strays looks at the runs on a subject of the action stream, from one sequence to another, as in Streams.Waiting. It reads the
// records of each schedule once.
func (r *reader) strays(ctx context.Context, subject string, from, to uint64) (found []Finding, err error) {
	books := map[schedule.Key]*book{}
	err = r.streams.Waiting(ctx, subject, from, to, func(run *taskqueue.WaitingRun) error {
		if books[run.Key] == nil {
			read, err := r.book(ctx, run.Key)
			if err != nil {
				return err
			}
			books[run.Key] = read
		}
		f, is, err := r.stray(ctx, books[run.Key], run)
		if is {
			found = append(found, f)
		}
		return err
	})
	return found, err
}

// book is what the records of a schedule say about its runs.
type book struct {
	// unreadable is set if a record cannot be read, so that it may have any run.
	unreadable bool
	state      wire.InvokerState
}

// book reads the records of a schedule from the leader.
func (r *reader) book(ctx context.Context, key schedule.Key) (*book, error) {
	bucket := r.names.StateBucket(r.store.ShardOf(key))
	var definition Stored[wire.Definition]
	var invoker Stored[wire.InvokerState]
	if err := read(ctx, r.buckets.GetLeader, bucket, kv.Definition(key).String(), &definition); err != nil {
		return nil, err
	}
	if err := read(ctx, r.buckets.GetLeader, bucket, kv.Invoker(key).String(), &invoker); err != nil {
		return nil, err
	}
	// If there is a record without a definition, the pools are about to remove the record and its runs. If they do not, that is
	// another finding.
	return &book{unreadable: definition.Err != nil || invoker.Err != nil, state: invoker.Value}, nil
}

func (b *book) tellsOf(requestID string) bool {
	return b.unreadable || b.state.Ended.Has(requestID) || b.state.Start(requestID) != nil
}

// stray finds out where a run is that no record has, and whether it is a finding. It leaves a request that nobody can read to the
// workers, which make a dead letter of it.
func (r *reader) stray(ctx context.Context, b *book, run *taskqueue.WaitingRun) (Finding, bool, error) {
	s := &stray{Queue: taskqueue.Queue{Namespace: run.Namespace, Name: run.TaskQueue}, run: *run}
	if run.RequestID == "" || b.tellsOf(run.RequestID) {
		return Finding{}, false, nil
	}
	consumer := subjects.WorkerConsumerName(run.Namespace, run.TaskQueue)
	handedOut, err := r.bus.Delivered(ctx, r.names.ActionStream(), consumer)
	if err != nil {
		return Finding{}, false, fmt.Errorf("consistency: look at the workers of task queue %q: %w", run.TaskQueue, err)
	}
	if s.taken = run.Sequence <= handedOut; s.taken {
		_, s.has, err = AskWorkers(ctx, r.streams, r.names, run.Namespace, run.TaskQueue, run.RunID)
		if err != nil {
			return Finding{}, false, err
		}
	}
	f, is := inspectStray(s)
	return f, is, nil
}
