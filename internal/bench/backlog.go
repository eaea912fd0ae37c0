package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"
)

func backlogScenario() Scenario {
	return Scenario{
		Name:     "backlog",
		Short:    "how fast N polls take a backlog of workflow tasks",
		Takes:    []string{ParamWorkflows, ParamClients},
		Defaults: Parameters{Workflows: 20_000, Clients: 64},
		measure:  measureBacklog,
	}
}

const (
	// kindBacklog is the kind of the stream of the backlog.
	kindBacklog = "backlog"
	// longTask is the timeout of the tasks, which nobody completes: none should come twice.
	longTask = 2 * time.Minute
	// longPoll is how long a poll waits.
	longPoll = time.Minute
)

// measureBacklog starts workflows that no worker waits for. Then polls take their tasks, and do nothing with them.
func measureBacklog(ctx context.Context, s *session) error {
	return s.withClient(ctx, func(c sdkclient.Client) error {
		if err := s.fillBacklog(ctx, c); err != nil {
			return err
		}
		s.result.Due = s.Workflows
		var taken int
		var last time.Duration
		_, _, err := s.during(ctx, func() (err error) {
			taken, last, err = s.drainBacklog(ctx, c)
			return err
		})
		s.result.Started, s.result.Missed = taken, s.Workflows-taken
		if taken > 0 {
			s.result.rate("drained", taken, last)
			s.result.time("last_started", last)
		}
		return err
	})
}

// fillBacklog starts the workflows, and waits until their tasks are in the backlog.
func (s *session) fillBacklog(ctx context.Context, c sdkclient.Client) error {
	began := time.Now()
	err := s.forEach(ctx, "starting workflows", s.Workflows, func(ctx context.Context, i int) error {
		_, err := c.ExecuteWorkflow(ctx, sdkclient.StartWorkflowOptions{
			ID: s.workflowID(kindBacklog, "", i), TaskQueue: s.queue, WorkflowTaskTimeout: longTask,
		}, kindEmpty)
		return err
	})
	if err != nil {
		return fmt.Errorf("bench: start a workflow: %w", err)
	}
	err = s.await(ctx, "waiting for the backlog", func() (int, int, error) {
		stream, err := s.js.Stream(ctx, s.names.BacklogStream())
		if err != nil {
			return 0, 0, fmt.Errorf("bench: look at the backlog: %w", err)
		}
		return min(int(stream.CachedInfo().State.Msgs), s.Workflows), s.Workflows, nil
	})
	s.result.rate("created", s.Workflows, time.Since(began))
	return err
}

// drainBacklog polls until each workflow had a task. It returns how many had one, and after how long the last one came.
func (s *session) drainBacklog(ctx context.Context, c sdkclient.Client) (taken int, last time.Duration, err error) {
	polling, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var seen sync.Map
	var count, latest atomic.Int64
	var polls sync.WaitGroup
	began := time.Now()
	for range s.Clients {
		polls.Go(func() {
			for polling.Err() == nil {
				id, err := s.pollFor(polling, c, longPoll)
				if err != nil && polling.Err() == nil {
					stop(fmt.Errorf("bench: poll: %w", err))
					return
				}
				if _, again := seen.LoadOrStore(id, true); id == "" || again {
					continue
				}
				latest.Store(int64(time.Since(began)))
				if count.Add(1) == int64(s.Workflows) {
					stop(nil)
				}
			}
		})
	}
	err = s.await(polling, "draining", func() (int, int, error) { return int(count.Load()), s.Workflows, nil })
	if int(count.Load()) == s.Workflows {
		err = nil
	}
	stop(nil)
	polls.Wait()
	return int(count.Load()), time.Duration(latest.Load()), err
}

// pollFor waits for a workflow task, no longer than some time, and returns the ID of its workflow, "" if there is none.
func (s *session) pollFor(ctx context.Context, c sdkclient.Client, longest time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	task, err := c.WorkflowService().PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{
		Namespace: s.namespace(), TaskQueue: &taskqueuepb.TaskQueue{Name: s.queue}, Identity: processBench,
	})
	return task.GetWorkflowExecution().GetWorkflowId(), err
}
