package systemtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// errand sends a child out, counts signals until it has enough, and adds what updates ask for.
func errand(ctx workflow.Context, enough int) (sum int, err error) {
	if err := workflow.SetUpdateHandler(ctx, "add", func(_ workflow.Context, n int) error {
		sum += n
		return nil
	}); err != nil {
		return 0, err
	}
	var greeting string
	if err := workflow.ExecuteChildWorkflow(ctx, hello, "errand").Get(ctx, &greeting); err != nil {
		return 0, err
	}
	for range enough {
		var n int
		workflow.GetSignalChannel(ctx, "count").Receive(ctx, &n)
		sum += n
	}
	return sum, workflow.Sleep(ctx, 10*time.Millisecond)
}

func registerResets(r registry) { r.RegisterWorkflow(errand) }

// reset resets a run to the end of a workflow task, and returns the new run.
func (s *service) reset(
	run sdkclient.WorkflowRun, to int64, exclude ...enumspb.ResetReapplyExcludeType,
) sdkclient.WorkflowRun {
	s.t.Helper()
	got, err := s.ResetWorkflowExecution(s.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()}, Reason: "test",
		WorkflowTaskFinishEventId: to, ResetReapplyExcludeTypes: exclude,
	})
	require.NoError(s.t, err)
	return s.GetWorkflow(s.t.Context(), run.GetID(), got.GetRunId())
}

// completedTasks are the IDs of the events with which workflow tasks completed.
func completedTasks(events []*historypb.HistoryEvent) (ids []int64) {
	for _, event := range events {
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			ids = append(ids, event.GetEventId())
		}
	}
	return ids
}

// TestResetsOfWorkflows: a workflow that has ended, or is in progress, goes on from any of its workflow tasks. Signals and updates come again, unless
// they are excluded, and each history is what the workflow's code does.
func TestResetsOfWorkflows(t *testing.T) {
	t.Parallel()
	s := newService(t, natstest.Shared(t).ClientURL(), 1)
	s.work(sdkworker.Options{})
	run := s.start("errand", errand, 2)
	update := func(n int) {
		handle, err := s.UpdateWorkflow(t.Context(), sdkclient.UpdateWorkflowOptions{
			WorkflowID: "errand", UpdateName: "add", Args: []any{n}, WaitForStage: sdkclient.WorkflowUpdateStageCompleted,
		})
		require.NoError(t, err)
		require.NoError(t, handle.Get(t.Context(), nil))
	}
	update(100)
	for n := range 2 {
		require.NoError(t, s.SignalWorkflow(t.Context(), "errand", "", "count", n+1))
	}
	requireSum := func(run sdkclient.WorkflowRun, want int) []*historypb.HistoryEvent {
		t.Helper()
		var sum int
		require.NoError(t, run.Get(t.Context(), &sum))
		require.Equal(t, want, sum)
		return s.replay(run)
	}
	tasks := completedTasks(requireSum(run, 103))
	require.Greater(t, len(tasks), 3)
	for _, to := range tasks {
		again := s.reset(run, to)
		events := requireSum(again, 103)
		require.Equal(t, run.GetRunID(), events[0].GetWorkflowExecutionStartedEventAttributes().GetFirstExecutionRunId())
		twice := s.reset(again, completedTasks(events)[0])
		requireSum(twice, 103)
	}

	waiting := s.reset(run, tasks[0], enumspb.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL, enumspb.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE)
	require.NoError(t, s.SignalWorkflow(t.Context(), "errand", "", "count", 5))
	update(10)
	open := s.reset(waiting, tasks[0])
	require.NoError(t, s.SignalWorkflow(t.Context(), "errand", open.GetRunID(), "count", 6))
	requireSum(open, 21)
	ended := s.describe(waiting)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, ended.GetWorkflowExecutionInfo().GetStatus())
	require.Equal(t, open.GetRunID(), ended.GetWorkflowExtendedInfo().GetResetRunId())
	points := s.describe(open).GetWorkflowExecutionInfo().GetAutoResetPoints().GetPoints()
	require.Len(t, points, 1)
	require.Equal(t, open.GetRunID(), points[0].GetRunId())
	require.NotEmpty(t, points[0].GetBuildId())
}

func (s *service) describe(run sdkclient.WorkflowRun) *workflowservice.DescribeWorkflowExecutionResponse {
	s.t.Helper()
	described, err := s.WorkflowService().DescribeWorkflowExecution(s.t.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: "default", Execution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
	})
	require.NoError(s.t, err)
	return described
}
