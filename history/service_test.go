package history

import (
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/subjects"
)

var oneActivity = []enumspb.EventType{
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
	enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
	enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED, enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
	enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
	enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
}

// TestOneActivity: a workflow with one activity runs from its start to its end.
func TestOneActivity(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	runID := b.start("w/1")
	b.completeOneActivity("w/1", runID)
	b.settled()
}

// completeOneActivity does the work of a workflow with one activity, and checks its history.
func (b *bundle) completeOneActivity(id, runID string) {
	b.Helper()
	task := b.pollWorkflow()
	require.Equal(b, id, task.WorkflowExecution.WorkflowId)
	require.Equal(b, runID, task.WorkflowExecution.RunId)
	require.Equal(b, oneActivity[:3], types(b, task.History.Events))
	b.complete(task, activity("a"))
	b.completeActivity(b.pollActivity())
	task = b.pollWorkflow()
	require.Equal(b, oneActivity[:9], types(b, task.History.Events))
	b.complete(task, end())
	require.Equal(b, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, b.describe(id, "").WorkflowExecutionInfo.Status)
	for _, page := range []int32{0, 1, 4, 1000} {
		require.Equal(b, oneActivity, types(b, b.events(id, "", page)))
		require.Equal(b, oneActivity, types(b, b.events(id, runID, page)))
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	_, err := ask[workflowservice.DescribeWorkflowExecutionResponse](b, subjects.VerbDescribe, "w",
		&workflowservice.DescribeWorkflowExecutionRequest{Namespace: space, Execution: b.execution("w", "")})
	require.ErrorAs(t, err, new(*serviceerror.NotFound))
	_, err = ask[workflowservice.SignalWorkflowExecutionResponse](b, subjects.VerbSignal, "w",
		&workflowservice.SignalWorkflowExecutionRequest{Namespace: space, WorkflowExecution: b.execution("w", ""), SignalName: "s"})
	require.ErrorAs(t, err, new(*serviceerror.NotFound))
}
