package bench

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"
)

const (
	// drainer is the worker that empties a backlog of activities, and laterQueue what the name of its task queue has more than that of the
	// workflows. The name begins with that of the other worker, since both are workers.
	drainer    = processWorker + "-2"
	laterQueue = "-later"
	// mostPending is how many activities one workflow of such a backlog has.
	mostPending = 500
)

// measureBacklogOfWorkflows starts workflows without a worker. Then a worker comes.
func measureBacklogOfWorkflows(ctx context.Context, s *session) error {
	return s.withClient(ctx, func(c sdkclient.Client) error {
		began := time.Now()
		err := s.fromClients(ctx, "start", s.size(), func(ctx context.Context, i int) error {
			_, err := s.start(ctx, c, kindEmpty, s.workflowID(kindEmpty, kindBacklog, i))
			return err
		})
		if err != nil {
			return err
		}
		s.result.rate("created", s.size(), time.Since(began))
		return s.drain(ctx, c, processWorker, s.queue, func(n *workerCounts) int { return int(n.ended.Load()) })
	})
}

// measureBacklogOfActivities runs workflows whose activities are on a task queue without a worker. Then a worker comes for these.
func measureBacklogOfActivities(ctx context.Context, s *session) error {
	return s.withWorker(ctx, func(c sdkclient.Client) error {
		queue, workflows := s.queue+laterQueue, (s.size()+mostPending-1)/mostPending
		began := time.Now()
		err := s.fromClients(ctx, "start", workflows, func(ctx context.Context, i int) error {
			id, activities := s.workflowID(kindFan, kindBacklog, i), min(mostPending, s.size()-i*mostPending)
			if _, err := s.start(ctx, c, kindFan, id, queue, activities); err != nil {
				return err
			}
			return s.awaitPending(ctx, c, id, activities)
		})
		if err != nil {
			return err
		}
		s.result.rate("created", s.size(), time.Since(began))
		return s.drain(ctx, c, drainer, queue, func(n *workerCounts) int { return int(n.activities.Load()) })
	})
}

// awaitPending waits until a workflow waits for a number of activities.
func (s *session) awaitPending(ctx context.Context, c sdkclient.Client, id string, activities int) error {
	return s.await(ctx, "starting workflows", func() (int, int, error) {
		d, err := s.describe(ctx, c, id)
		return len(d.GetPendingActivities()), activities, err
	})
}

// drain starts a worker and measures how long it takes to run everything that waits, by its own count. What is still open afterwards is missed.
func (s *session) drain(ctx context.Context, c sdkclient.Client, worker, queue string, ran func(*workerCounts) int) error {
	if err := s.prepareWorkers(); err != nil {
		return err
	}
	_, _, err := s.during(ctx, func() error {
		counts, err := s.startWorker(ctx, worker, queue)
		if err != nil {
			return err
		}
		began := time.Now()
		err = s.await(ctx, "draining", func() (int, int, error) { return ran(counts), s.size(), nil })
		took := time.Since(began)
		s.result.rate("drained", ran(counts), took)
		s.result.time("drained", took)
		return err
	})
	if err != nil {
		return err
	}
	left, err := s.awaitEnds(ctx, c)
	s.result.count(s.size(), s.size()-min(left, s.size()))
	return err
}

// awaitEnds waits until no workflow of the run is open, by the list of the server, and returns how many still are when nothing more happens.
func (s *session) awaitEnds(ctx context.Context, c sdkclient.Client) (open int, err error) {
	query := fmt.Sprintf("ExecutionStatus = 'Running' AND WorkflowId STARTS_WITH '%s-'", s.queue)
	most := 0
	err = s.await(ctx, "waiting for the list of workflows", func() (int, int, error) {
		reply, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: s.namespace(), Query: query})
		if err != nil {
			return 0, 0, fmt.Errorf("bench: count workflows: %w", err)
		}
		open = int(reply.Count)
		most = max(most, open)
		return most - open, most, nil
	})
	return open, err
}
