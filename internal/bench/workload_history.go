package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	sdkclient "go.temporal.io/sdk/client"
)

const (
	// stepsAtOnce is how many activities are run to measure what an event costs, and eventsOfStep how many events each of them adds with the
	// workflow task that follows: both are scheduled, started and completed.
	stepsAtOnce  = 100
	eventsOfStep = 6
	// eventsOfActivity is how many events an activity adds by itself, and mostGrowth how many run at once to let a history grow.
	eventsOfActivity = 3
	mostGrowth       = 300
)

// measureHistory lets the history of one workflow grow, and measures at some lengths what it costs to run one activity after the other.
func measureHistory(ctx context.Context, s *session) error {
	return s.withWorker(ctx, func(c sdkclient.Client) error {
		id := s.workflowID(kindChain, "", 0)
		run, err := s.start(ctx, c, kindChain, id)
		if err != nil {
			return err
		}
		_, _, err = s.during(ctx, func() error { return s.growAndStep(ctx, c, id) })
		if err == nil {
			err = c.SignalWorkflow(ctx, id, "", signalName, nil)
		}
		if err != nil {
			return err
		}
		s.result.count(1, 1)
		return run.Get(ctx, nil)
	})
}

// growAndStep measures steps at each length.
func (s *session) growAndStep(ctx context.Context, c sdkclient.Client, id string) error {
	for _, length := range lengths(s.size()) {
		if err := s.grow(ctx, c, id, length); err != nil {
			return err
		}
		if err := s.stepAt(ctx, c, id, length); err != nil {
			return err
		}
	}
	return nil
}

// grow lets a history grow to a length, by activities that run at once.
func (s *session) grow(ctx context.Context, c sdkclient.Client, id string, length int) error {
	for {
		has, err := s.historyOf(ctx, c, id)
		if err != nil || has >= length {
			return err
		}
		s.config.Progress("growing", has, length)
		if _, err := s.steps(ctx, c, id, min(mostGrowth, (length-has)/eventsOfActivity+1), true); err != nil {
			return err
		}
	}
}

// stepAt measures steps of a workflow whose history has a length.
func (s *session) stepAt(ctx context.Context, c sdkclient.Client, id string, length int) error {
	from, began := s.usages(), time.Now()
	stamps, err := s.steps(ctx, c, id, stepsAtOnce, false)
	if err != nil {
		return err
	}
	took, to := time.Since(began), s.usages()
	latency, last := newHistogram(), began.UnixNano()
	for _, at := range stamps {
		latency.add(time.Duration(at - last))
		last = at
	}
	o := Operation{Count: len(stamps), PerS: Rate(float64(len(stamps)) / took.Seconds()), Latency: latency.quantiles()}
	if s.serverApart() || !s.foreign() {
		worker := to[processWorker].cpu - from[processWorker].cpu
		o.CPU = Milliseconds((total(to).cpu - total(from).cpu - worker).Seconds() * 1000 / float64(len(stamps)))
	}
	s.result.operation(fmt.Sprintf("step at %5d events", length), o)
	s.result.rate(fmt.Sprintf("events_at_%05d", length), eventsOfStep*len(stamps), took)
	return nil
}

// steps lets a workflow run activities, all at once or one after the other, and returns when each of them ran.
func (s *session) steps(ctx context.Context, c sdkclient.Client, id string, activities int, atOnce bool) (stamps []int64, err error) {
	update, err := c.UpdateWorkflow(ctx, sdkclient.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: updateName, Args: []any{activities, atOnce}, WaitForStage: sdkclient.WorkflowUpdateStageAccepted,
	})
	if err == nil {
		err = update.Get(ctx, &stamps)
	}
	if err != nil {
		return nil, fmt.Errorf("bench: update %s: %w", id, err)
	}
	slices.Sort(stamps)
	return stamps, nil
}

// historyOf returns how many events a workflow has, which must be running.
func (s *session) historyOf(ctx context.Context, c sdkclient.Client, id string) (events int, err error) {
	d, err := s.describe(ctx, c, id)
	if err == nil && d.WorkflowExecutionInfo.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		err = fmt.Errorf("bench: %s is %s", id, d.WorkflowExecutionInfo.Status)
	}
	return int(d.GetWorkflowExecutionInfo().GetHistoryLength()), err
}
