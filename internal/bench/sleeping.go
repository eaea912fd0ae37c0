package bench

import (
	"cmp"
	"context"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"
)

func sleepingScenario() Scenario {
	return Scenario{
		Name:     "sleeping",
		Short:    "a restart with N workflows that wait for a timer",
		Takes:    []string{ParamWorkflows, ParamDuration},
		Defaults: Parameters{Workflows: 100_000, Duration: Seconds(10 * time.Second)},
		measure:  measureSleeping,
	}
}

// entriesToSleep is how many entries the journal of a sleeping workflow has: it was started, and its workflow task was started and completed.
const entriesToSleep = 3

func measureSleeping(ctx context.Context, s *session) error {
	if err := s.fallAsleep(ctx); err != nil {
		return err
	}
	s.workers.stop(processWorker) // so that the memory is that of the server
	s.result.CreatedRSS = total(s.usages()).rss
	err := s.restartGateway(ctx, func(c sdkclient.Client) error { return describe(ctx, c, sleeperID(0)) })
	if err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	_, _, err = s.during(ctx, func() error { return s.until(ctx, "asleep", time.Now().Add(time.Duration(s.Duration))) })
	if err != nil {
		return err
	}
	s.noteMemory()
	return s.withWorker(ctx, func(c sdkclient.Client) error { return s.wakeSome(ctx, c) })
}

func sleeperID(i int) string { return workflowID(kindSleeping, "", i) }

// fallAsleep starts the workflows, and waits until all of them wait for their timers.
func (s *session) fallAsleep(ctx context.Context) error {
	before, err := s.traffic(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	err = s.withWorker(ctx, func(c sdkclient.Client) error {
		err := s.forEach(ctx, "starting workflows", s.Workflows, func(ctx context.Context, i int) error {
			_, err := c.ExecuteWorkflow(ctx, sdkclient.StartWorkflowOptions{ID: sleeperID(i), TaskQueue: taskQueue}, kindSleeping)
			return err
		})
		return cmp.Or(err, s.await(ctx, "falling asleep", func() (int, int, error) {
			now, err := s.traffic(ctx)
			return int(now.messages[kindJournals]-before.messages[kindJournals]) / entriesToSleep, s.Workflows, err
		}))
	})
	s.result.Rates = map[string]Rate{"created": Rate(float64(s.Workflows) / time.Since(began).Seconds())}
	return cmp.Or(err, s.quiet(ctx))
}

// restartGateway restarts everything, and notes how long that took until a request to the gateway was answered.
func (s *session) restartGateway(ctx context.Context, ask func(sdkclient.Client) error) error {
	stopped := time.Now()
	began, err := s.restart(ctx)
	if err != nil {
		return err
	}
	err = s.withClient(ctx, ask)
	s.result.Times = map[string]Seconds{"down": Seconds(began.Sub(stopped)), "ready": Seconds(time.Since(began))}
	return err
}

// describe describes a workflow, which must be running.
func describe(ctx context.Context, c sdkclient.Client, id string) error {
	_, err := c.WorkflowService().DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: id},
	})
	if err != nil {
		return fmt.Errorf("bench: describe %s: %w", id, err)
	}
	return nil
}

// woken is how many of the sleeping workflows are woken at the end.
const woken = 100

// wakeSome wakes some of the workflows, to see that they have survived: all of these must end.
func (s *session) wakeSome(ctx context.Context, c sdkclient.Client) error {
	ctx, cancel := context.WithTimeout(ctx, longestWorkflow)
	defer cancel()
	n := min(s.Workflows, woken)
	s.result.Due, s.result.Started = n, n
	return s.forEach(ctx, "waking", n, func(ctx context.Context, i int) error {
		id := sleeperID(i * s.Workflows / n)
		if err := c.SignalWorkflow(ctx, id, "", signalName, nil); err != nil {
			return fmt.Errorf("bench: wake %s: %w", id, err)
		}
		if err := c.GetWorkflow(ctx, id, "").Get(ctx, nil); err != nil {
			return fmt.Errorf("bench: wait for %s: %w", id, err)
		}
		return nil
	})
}
