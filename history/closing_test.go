package history

import (
	"testing"

	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/subjects"
)

// update asks a run for an update.
func (b *bundle) update(id, runID, updateID string) (*workflowservice.UpdateWorkflowExecutionResponse, error) {
	return ask[workflowservice.UpdateWorkflowExecutionResponse](b, subjects.VerbUpdate, id, &workflowservice.UpdateWorkflowExecutionRequest{
		Namespace: space, WorkflowExecution: b.execution(id, runID),
		Request: &updatepb.Request{Meta: &updatepb.Meta{UpdateId: updateID}, Input: &updatepb.Input{Name: "u"}},
	})
}

// TestAbortedUpdates: a workflow ends although an update has come. Whoever asked is told that, and to try again if another run follows.
func TestAbortedUpdates(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	poll := func(ref *updatepb.UpdateRef) error {
		_, err := ask[workflowservice.PollWorkflowExecutionUpdateResponse](b, subjects.VerbPollUpdate, "w",
			&workflowservice.PollWorkflowExecutionUpdateRequest{Namespace: space, UpdateRef: ref})
		return err
	}
	first := b.start("w")
	task := b.pollWorkflow()
	admitted, err := b.update("w", "", "a")
	require.NoError(t, err)
	b.complete(task, &commandpb.Command{
		CommandType: enumspb.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION,
		Attributes: &commandpb.Command_ContinueAsNewWorkflowExecutionCommandAttributes{
			ContinueAsNewWorkflowExecutionCommandAttributes: &commandpb.ContinueAsNewWorkflowExecutionCommandAttributes{},
		},
	})
	err = poll(admitted.UpdateRef)
	require.EqualError(t, err, execution.ErrClosing.Error())
	var exhausted *serviceerror.ResourceExhausted
	require.ErrorAs(t, err, &exhausted)
	require.Equal(t, enumspb.RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW, exhausted.Cause)

	admitted, err = b.update("w", "", "a")
	require.NoError(t, err)
	require.NotEqual(t, first, admitted.UpdateRef.WorkflowExecution.RunId, "it goes to the next run")
	task = b.pollWorkflow()
	require.Len(t, task.Messages, 1)
	later, err := b.update("w", "", "b")
	require.NoError(t, err)
	b.complete(task, end())
	require.EqualError(t, poll(admitted.UpdateRef), execution.ErrUpdateAborted.Error())
	require.EqualError(t, poll(later.UpdateRef), execution.ErrUpdateAborted.Error())
}

// TestSignalsToAClosingRun: a signal keeps a workflow from its end once. The next attempt to end is not kept from it by signals.
func TestSignalsToAClosingRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	b.start("w")
	task := b.pollWorkflow()
	b.signal("w", "1")
	_, err := ask[workflowservice.RespondWorkflowTaskCompletedResponse](b, subjects.VerbCompleteWorkflowTask, "w",
		&workflowservice.RespondWorkflowTaskCompletedRequest{Namespace: space, TaskToken: task.TaskToken, Commands: []*commandpb.Command{end()}})
	require.ErrorContains(t, err, "UnhandledCommand")
	task = b.pollWorkflow()
	_, err = ask[workflowservice.SignalWorkflowExecutionResponse](b, subjects.VerbSignal, "w", &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: space, WorkflowExecution: b.execution("w", ""), SignalName: "s", RequestId: "2",
	})
	require.EqualError(t, err, execution.ErrClosing.Error())
	b.complete(task, end())
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, b.describe("w", "").WorkflowExecutionInfo.Status)
}
