package systemtest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

func registerFamily(r registry) {
	r.RegisterWorkflow(countdown)
	r.RegisterWorkflow(flaky)
	r.RegisterWorkflow(family)
	r.RegisterWorkflow(abandoning)
	r.RegisterWorkflow(asking)
	r.RegisterWorkflow(answering)
	r.RegisterWorkflow(ticking)
}

// countdown continues as new until nothing is left.
func countdown(ctx workflow.Context, left int) (string, error) {
	if left > 0 {
		return "", workflow.NewContinueAsNewError(ctx, countdown, left-1)
	}
	return "lift-off of " + workflow.GetInfo(ctx).FirstRunID, nil
}

// flaky fails until its last attempt.
func flaky(ctx workflow.Context, attempts int32) (int32, error) {
	if attempt := workflow.GetInfo(ctx).Attempt; attempt < attempts {
		return 0, errors.New("not yet")
	}
	return workflow.GetInfo(ctx).Attempt, nil
}

// ticking returns how many runs there were before it, by the last result.
func ticking(ctx workflow.Context) (int, error) {
	runs := 0
	if workflow.HasLastCompletionResult(ctx) {
		if err := workflow.GetLastCompletionResult(ctx, &runs); err != nil {
			return 0, err
		}
	}
	return runs + 1, nil
}

// outcomes is what family has heard of its children.
type outcomes struct {
	Greeting, Countdown                string
	Failed, Canceled, Terminated, Twin bool
}

// family has children that end in every way.
func family(ctx workflow.Context) (all outcomes, err error) {
	child := func(id string) workflow.Context {
		return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID + "/" + id})
	}
	greeting, count := workflow.ExecuteChildWorkflow(child("greeting"), hello, "child"), workflow.ExecuteChildWorkflow(child("count"), countdown, 2)
	fails := workflow.ExecuteChildWorkflow(child("fails"), flaky, int32(2))
	canceling, cancel := workflow.WithCancel(child("canceled"))
	canceled, ended := workflow.ExecuteChildWorkflow(canceling, sleeper, time.Hour), workflow.ExecuteChildWorkflow(child("ended"), sleeper, time.Hour)
	if err := canceled.GetChildWorkflowExecution().Get(ctx, nil); err != nil {
		return all, err
	}
	twin := workflow.ExecuteChildWorkflow(child("canceled"), sleeper, time.Hour)
	_, all.Twin = errors.AsType[*temporal.ChildWorkflowExecutionAlreadyStartedError](twin.Get(ctx, nil))
	cancel()
	_, all.Canceled = errors.AsType[*temporal.CanceledError](canceled.Get(ctx, nil))
	_, all.Failed = errors.AsType[*temporal.ApplicationError](fails.Get(ctx, nil))
	_, all.Terminated = errors.AsType[*temporal.TerminatedError](ended.Get(ctx, nil))
	if err := greeting.Get(ctx, &all.Greeting); err != nil {
		return all, err
	}
	return all, count.Get(ctx, &all.Countdown)
}

// abandoning ends as soon as its child has begun.
func abandoning(ctx workflow.Context, policy enumspb.ParentClosePolicy) error {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID + "/child", ParentClosePolicy: policy,
	})
	return workflow.ExecuteChildWorkflow(ctx, sleeper, time.Hour).GetChildWorkflowExecution().Get(ctx, nil)
}

// asking asks another workflow for an answer by a signal, and a workflow that is not there.
func asking(ctx workflow.Context, of string) (answer string, err error) {
	if err := workflow.SignalExternalWorkflow(ctx, "nobody", "", "question", "?").Get(ctx, nil); err == nil {
		return "", errors.New("somebody is there")
	}
	if err := workflow.SignalExternalWorkflow(ctx, of, "", "question", workflow.GetInfo(ctx).WorkflowExecution.ID).Get(ctx, nil); err != nil {
		return "", err
	}
	workflow.GetSignalChannel(ctx, "answer").Receive(ctx, &answer)
	return answer, workflow.RequestCancelExternalWorkflow(ctx, of, "").Get(ctx, nil)
}

// answering answers one question, and then waits to be canceled.
func answering(ctx workflow.Context) error {
	var who string
	workflow.GetSignalChannel(ctx, "question").Receive(ctx, &who)
	if err := workflow.SignalExternalWorkflow(ctx, who, "", "answer", "forty-two").Get(ctx, nil); err != nil {
		return err
	}
	return workflow.Sleep(ctx, time.Hour)
}

// TestFamiliesOfWorkflows: children, chains of runs, and workflows that talk to each other.
func TestFamiliesOfWorkflows(t *testing.T) {
	t.Parallel()
	s := newService(t, natstest.Shared(t).ClientURL(), 1)
	s.work(sdkworker.Options{})
	t.Run("continue as new", func(t *testing.T) {
		run := s.start("countdown", countdown, 2)
		first := run.GetRunID()
		var result string
		require.NoError(t, run.Get(t.Context(), &result))
		require.Equal(t, "lift-off of "+first, result)
		described, err := s.DescribeWorkflow(t.Context(), "countdown", first)
		require.NoError(t, err)
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW, described.Status)
		s.replay(s.GetWorkflow(t.Context(), "countdown", first))
		s.replay(s.GetWorkflow(t.Context(), "countdown", ""))
	})
	t.Run("attempts", func(t *testing.T) {
		run, err := s.ExecuteWorkflow(t.Context(), sdkclient.StartWorkflowOptions{
			ID: "flaky", TaskQueue: workflowQueue, RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Millisecond, MaximumAttempts: 3},
		}, flaky, int32(3))
		require.NoError(t, err)
		var attempts int
		require.NoError(t, run.Get(t.Context(), &attempts))
		require.Equal(t, 3, attempts)
	})
	t.Run("cron", func(t *testing.T) {
		run, err := s.ExecuteWorkflow(t.Context(), sdkclient.StartWorkflowOptions{
			ID: "ticking", TaskQueue: workflowQueue, CronSchedule: "@every 1s",
		}, ticking)
		require.NoError(t, err)
		natstest.Eventually(t, natstest.Patience, "a second run knows the result of the first", func() bool {
			var runs int
			newest := s.GetWorkflow(t.Context(), run.GetID(), "")
			return newest.GetRunID() != run.GetRunID() && newest.GetWithOptions(t.Context(), &runs, sdkclient.WorkflowRunGetOptions{DisableFollowingRuns: true}) == nil && runs >= 2
		})
		require.NoError(t, s.TerminateWorkflow(t.Context(), run.GetID(), "", "enough"))
	})
	t.Run("children", func(t *testing.T) {
		run := s.start("family", family)
		natstest.Eventually(t, natstest.Patience, "the child that is to be terminated has begun", func() bool {
			return s.TerminateWorkflow(t.Context(), "family/ended", "", "enough") == nil
		})
		var all outcomes
		require.NoError(t, run.Get(t.Context(), &all))
		require.Contains(t, all.Countdown, "lift-off of ")
		all.Countdown = ""
		require.Equal(t, outcomes{Greeting: "Hello, child!", Failed: true, Canceled: true, Terminated: true, Twin: true}, all)
		s.replay(run)
		namespace, err := s.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "default"})
		require.NoError(t, err)
		info := s.describe(s.GetWorkflow(t.Context(), "family/greeting", "")).GetWorkflowExecutionInfo()
		require.Equal(t, run.GetRunID(), info.GetParentExecution().GetRunId())
		require.Equal(t, namespace.GetNamespaceInfo().GetId(), info.GetParentNamespaceId())
	})
	t.Run("orphans", func(t *testing.T) {
		for policy, status := range map[enumspb.ParentClosePolicy]enumspb.WorkflowExecutionStatus{
			enumspb.PARENT_CLOSE_POLICY_TERMINATE:      enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED,
			enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL: enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED,
			enumspb.PARENT_CLOSE_POLICY_ABANDON:        enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
		} {
			id := "abandoning-" + policy.String()
			run := s.start(id, abandoning, policy)
			require.NoError(t, run.Get(t.Context(), nil))
			s.replay(run)
			natstest.Eventually(t, natstest.Patience, "the child of "+id+" is "+status.String(), func() bool {
				child, err := s.DescribeWorkflow(t.Context(), id+"/child", "")
				return err == nil && child.Status == status
			})
		}
	})
	t.Run("other workflows", func(t *testing.T) {
		s.start("answering", answering)
		run := s.start("asking", asking, "answering")
		var answer string
		require.NoError(t, run.Get(t.Context(), &answer))
		require.Equal(t, "forty-two", answer)
		s.replay(run)
		var canceled *temporal.CanceledError
		other := s.GetWorkflow(t.Context(), "answering", "")
		require.ErrorAs(t, other.Get(t.Context(), nil), &canceled)
		s.replay(other)
		var notFound *serviceerror.NotFound
		_, err := s.DescribeWorkflow(t.Context(), "nobody", "")
		require.ErrorAs(t, err, &notFound)
	})
}
