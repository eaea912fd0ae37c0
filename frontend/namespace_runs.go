package frontend

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// removalTask is what the job of a removal has to know beside the name of the namespace.
type removalTask struct {
	Runs schedule.RunsPolicy `json:"runs,omitempty"`
}

// removalRuns is what the removal of a namespace does with its runs.
func removalRuns(job *jobs.Job) (schedule.RunsPolicy, error) {
	if len(job.Parameters) == 0 {
		return schedule.RunsWithdraw, nil // a job of an earlier release
	}
	var removal removalTask
	if err := json.Unmarshal(job.Parameters, &removal); err != nil {
		return "", fmt.Errorf("decode the removal of a namespace: %w", err)
	}
	return removal.Runs.OrDefault(), nil
}

// clearRuns ends what the task queues of a namespace still have when its schedules are gone: runs of schedules that were
// deleted before, with their runs left alone, and those that nobody knows of.
func (a *api) clearRuns(ctx context.Context, namespace string, policy schedule.RunsPolicy) error {
	queues, err := taskqueue.All(ctx, a.js, a.names)
	if err != nil {
		return err
	}
	for i := range queues {
		if queues[i].Namespace != namespace {
			continue
		}
		if err := a.clearQueue(ctx, queues[i].Queue, policy); err != nil {
			return err
		}
	}
	return nil
}

// clearQueue does it for one task queue. What is beyond the last run that was handed out no worker has taken.
func (a *api) clearQueue(ctx context.Context, q taskqueue.Queue, policy schedule.RunsPolicy) error {
	stream, subject := a.names.ActionStream(), a.names.ActionQueue(q.Namespace, q.Name)
	handedOut, err := a.bus.Delivered(ctx, stream, subjects.WorkerConsumerName(q.Namespace, q.Name))
	if err != nil {
		return err
	}
	if kind := policy.Ending(); kind != "" && handedOut > 0 {
		err := taskqueue.Each(ctx, a.js, a.names, subject, 1, handedOut, func(run *taskqueue.WaitingRun) error {
			return a.control(ctx, q, kind, run)
		})
		if err != nil {
			return err
		}
	}
	if handedOut == 0 || policy == schedule.RunsTerminate {
		return a.bus.Purge(ctx, stream, subject)
	}
	return taskqueue.Each(ctx, a.js, a.names, subject, handedOut+1, 0, func(run *taskqueue.WaitingRun) error {
		return a.bus.Remove(ctx, stream, run.Sequence)
	})
}

// control asks the worker that has a run to end it.
func (a *api) control(ctx context.Context, q taskqueue.Queue, kind schedule.ControlKind, run *taskqueue.WaitingRun) error {
	return task.Control(ctx, a.bus, a.names.Control(q.Namespace, q.Name, run.WorkflowID), schedule.Control{
		Kind: kind, RequestID: run.RequestID, RunID: run.RunID, WorkflowID: run.WorkflowID,
	})
}

// disownRuns makes sure that a namespace which is about to be created begins without runs of an earlier one of its name: a
// worker may have had them when that was deleted, and have died since. What is in its hands goes on, and is not handed out
// again. Nothing is removed of a namespace that exists, nor what comes after it was seen not to.
func (a *api) disownRuns(ctx context.Context, name string) error {
	stream, err := a.js.Stream(ctx, a.names.ActionStream())
	if err != nil {
		return err
	}
	last := stream.CachedInfo().State.LastSeq
	switch _, err := a.namespaces.newest(ctx, name); {
	case schedule.CodeOf(err) == schedule.CodeNotFound:
	default:
		return err // it exists, and the creation will find that
	}
	err = stream.Purge(ctx, jetstream.WithPurgeSubject(a.names.Actions(name)), jetstream.WithPurgeSequence(last+1))
	if err != nil {
		return fmt.Errorf("remove the runs of an earlier namespace %q: %w", name, err)
	}
	return nil
}
