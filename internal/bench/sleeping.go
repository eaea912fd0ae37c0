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

func measureSleeping(ctx context.Context, s *session) error {
	if err := s.fallAsleep(ctx, s.Workflows); err != nil {
		return err
	}
	s.workers.stop(processWorker) // so that the memory is that of the server
	s.result.CreatedRSS = total(s.usages()).rss
	if err := s.restartAsleep(ctx); err != nil {
		return err
	}
	return s.withWorker(ctx, func(c sdkclient.Client) error { return s.wakeSome(ctx, c, s.Workflows) })
}

func (s *session) sleeperID(i int) string { return s.workflowID(kindSleeping, "", i) }

// restartAsleep restarts everything while workflows sleep, and measures what that costs.
func (s *session) restartAsleep(ctx context.Context) error {
	err := s.restartGateway(ctx, func(c sdkclient.Client) error {
		_, err := s.describe(ctx, c, s.sleeperID(0))
		return err
	})
	if err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	return s.measureAsleep(ctx)
}

// measureAsleep measures while all workflows sleep.
func (s *session) measureAsleep(ctx context.Context) error {
	_, _, err := s.during(ctx, func() error { return s.until(ctx, "asleep", time.Now().Add(time.Duration(s.Duration))) })
	s.noteMemory()
	return err
}

// measureSleepers is measureSleeping with small workflows beside the sleeping ones. A foreign server is not restarted.
func measureSleepers(ctx context.Context, s *session) error {
	id := func(load string) func(int) string {
		return func(i int) string { return s.workflowID(kindEmpty, load, i) }
	}
	err := s.withWorker(ctx, func(c sdkclient.Client) error { return s.alone(ctx, c, "before", id("before")) })
	if err != nil {
		return err
	}
	if err := s.fallAsleep(ctx, s.size()); err != nil {
		return err
	}
	err = s.withWorker(ctx, func(c sdkclient.Client) error { return s.alone(ctx, c, "beside sleepers", id("beside")) })
	if err != nil {
		return err
	}
	s.workers.stop(processWorker)
	if s.foreign() {
		err = s.measureAsleep(ctx)
	} else {
		s.result.CreatedRSS = s.server(s.usages()).rss
		err = s.restartAsleep(ctx)
	}
	if err != nil {
		return err
	}
	return s.withWorker(ctx, func(c sdkclient.Client) error { return s.wakeSome(ctx, c, s.size()) })
}

// fallAsleep starts n workflows, and waits until all of them wait for their timers.
func (s *session) fallAsleep(ctx context.Context, n int) error {
	began := time.Now()
	err := s.withWorker(ctx, func(c sdkclient.Client) error { return s.startSleepers(ctx, c, n) })
	s.result.rate("created", n, time.Since(began))
	return cmp.Or(err, s.quiet(ctx))
}

// startSleepers starts n workflows, and waits until the code of all of them has begun.
func (s *session) startSleepers(ctx context.Context, c sdkclient.Client, n int) error {
	asleep := s.counts.begun.Load()
	err := s.fromClients(ctx, "start", n, func(ctx context.Context, i int) error {
		_, err := s.start(ctx, c, kindSleeping, s.sleeperID(i))
		return err
	})
	return cmp.Or(err, s.await(ctx, "falling asleep", func() (int, int, error) {
		return int(s.counts.begun.Load() - asleep), n, nil
	}))
}

// restartGateway restarts everything, and notes how long that took until a request to the gateway was answered.
func (s *session) restartGateway(ctx context.Context, ask func(sdkclient.Client) error) error {
	stopped := time.Now()
	began, err := s.restart(ctx)
	if err != nil {
		return err
	}
	err = s.withClient(ctx, ask)
	s.result.time("down", began.Sub(stopped))
	s.result.time("ready", time.Since(began))
	return err
}

// describe describes a workflow.
func (s *session) describe(ctx context.Context, c sdkclient.Client, id string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	d, err := c.WorkflowService().DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: s.namespace(), Execution: &commonpb.WorkflowExecution{WorkflowId: id},
	})
	if err != nil {
		return nil, fmt.Errorf("bench: describe %s: %w", id, err)
	}
	return d, nil
}

// woken is how many of the sleeping workflows are woken at the end.
const woken = 100

// wakeSome wakes some of the workflows, to see that they have survived: all of these must end.
func (s *session) wakeSome(ctx context.Context, c sdkclient.Client, sleepers int) error {
	ctx, cancel := context.WithTimeout(ctx, longestWorkflow)
	defer cancel()
	n := min(sleepers, woken)
	s.result.count(n, n)
	return s.forEach(ctx, "waking", n, func(ctx context.Context, i int) error {
		id := s.sleeperID(i * sleepers / n)
		if err := c.SignalWorkflow(ctx, id, "", signalName, nil); err != nil {
			return fmt.Errorf("bench: wake %s: %w", id, err)
		}
		if err := c.GetWorkflow(ctx, id, "").Get(ctx, nil); err != nil {
			return fmt.Errorf("bench: wait for %s: %w", id, err)
		}
		return nil
	})
}
