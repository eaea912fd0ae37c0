package registry

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

// removalTask holds the parameters of a removal job.
type removalTask struct {
	Runs schedule.RunsPolicy `json:"runs,omitempty"`
}

// removalRuns returns what the removal of a namespace does with its runs.
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

// clearRuns ends the runs that the task queues of a namespace still have when its schedules are gone. These are runs of schedules that
// were deleted earlier and left their runs alone, and runs that no schedule knows of.
func (s *Service) clearRuns(ctx context.Context, namespace string, policy schedule.RunsPolicy) error {
	queues, err := taskqueue.All(ctx, s.config.JS, s.config.Names)
	if err != nil {
		return err
	}
	for i := range queues {
		if queues[i].Namespace != namespace {
			continue
		}
		if err := s.clearQueue(ctx, queues[i].Queue, policy); err != nil {
			return err
		}
	}
	return nil
}

// clearQueue ends the runs of one task queue. No worker has taken the runs after the last one that was handed out.
func (s *Service) clearQueue(ctx context.Context, q taskqueue.Queue, policy schedule.RunsPolicy) error {
	stream, subject := s.config.Names.ActionStream(), s.config.Names.ActionQueue(q.Namespace, q.Name)
	handedOut, err := s.config.Bus.Delivered(ctx, stream, subjects.WorkerConsumerName(q.Namespace, q.Name))
	if err != nil {
		return err
	}
	if kind := policy.Ending(); kind != "" && handedOut > 0 {
		err := taskqueue.Each(ctx, s.config.JS, s.config.Names, subject, 1, handedOut, func(run *taskqueue.WaitingRun) error {
			return s.control(ctx, q, kind, run)
		})
		if err != nil {
			return err
		}
	}
	if handedOut == 0 || policy == schedule.RunsTerminate {
		return s.config.Bus.Purge(ctx, stream, subject)
	}
	return taskqueue.Each(ctx, s.config.JS, s.config.Names, subject, handedOut+1, 0, func(run *taskqueue.WaitingRun) error {
		return s.config.Bus.Remove(ctx, stream, run.Sequence)
	})
}

// control asks the worker that has a run to end it.
func (s *Service) control(ctx context.Context, q taskqueue.Queue, kind schedule.ControlKind, run *taskqueue.WaitingRun) error {
	return task.Control(ctx, s.config.Bus, s.config.Names.Control(q.Namespace, q.Name, run.WorkflowID), schedule.Control{
		Kind: kind, RequestID: run.RequestID, RunID: run.RunID, WorkflowID: run.WorkflowID,
	})
}

// disownRuns removes the runs that an earlier namespace of the same name has left, before the namespace is created again. A worker may
// have had them when that namespace was deleted, and have died since. Runs that a worker still has go on, and are not handed out again.
// If the namespace exists, nothing is removed. Runs that come after the namespace was found missing are not removed either.
func (s *Service) disownRuns(ctx context.Context, name string) error {
	stream, err := s.config.JS.Stream(ctx, s.config.Names.ActionStream())
	if err != nil {
		return err
	}
	last := stream.CachedInfo().State.LastSeq
	switch _, err := s.newest(ctx, name); {
	case schedule.CodeOf(err) == schedule.CodeNotFound:
	default:
		return err // it exists, as the creation will find
	}
	err = stream.Purge(ctx, jetstream.WithPurgeSubject(s.config.Names.Actions(name)), jetstream.WithPurgeSequence(last+1))
	if err != nil {
		return fmt.Errorf("remove the runs of an earlier namespace %q: %w", name, err)
	}
	return nil
}
