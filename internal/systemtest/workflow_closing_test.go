package systemtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// TestUpdatesOfRunsThatEnd: an update that comes while the code ends a run does not keep it from that. If the next run follows at once, the client of the
// SDK asks again by itself; an update with a start begins the next run.
func TestUpdatesOfRunsThatEnd(t *testing.T) {
	t.Parallel()
	s := &closing{newService(t, natstest.Shared(t).ClientURL(), 1), make(chan string, 100)}
	w := sdkworker.New(s.Client, workflowQueue, sdkworker.Options{})
	w.RegisterWorkflowWithOptions(s.across, workflow.RegisterOptions{Name: "across"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	for _, how := range []string{"continue", "end"} {
		options := sdkclient.StartWorkflowOptions{
			ID: how, TaskQueue: workflowQueue, WorkflowTaskTimeout: 2 * time.Minute,
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		}
		run, err := s.ExecuteWorkflow(t.Context(), options, "across", how)
		require.NoError(t, err)
		first := run.GetRunID()
		natstest.Eventually(t, natstest.Patience, "a worker has the first workflow task: the update does not come with it", func() bool {
			return len(s.begun) > 0 && <-s.begun == how
		})
		update := sdkclient.UpdateWorkflowOptions{
			WorkflowID: how, UpdateID: "where", UpdateName: "where", WaitForStage: sdkclient.WorkflowUpdateStageCompleted,
		}
		var handle sdkclient.WorkflowUpdateHandle
		if how == "continue" {
			handle, err = s.UpdateWorkflow(t.Context(), update)
		} else {
			handle, err = s.UpdateWithStartWorkflow(t.Context(), sdkclient.UpdateWithStartWorkflowOptions{
				StartWorkflowOperation: s.NewWithStartWorkflowOperation(options, "across", "stay"), UpdateOptions: update,
			})
		}
		require.NoError(t, err)
		var handledBy string
		require.NoError(t, handle.Get(t.Context(), &handledBy))
		require.NotEqual(t, first, handledBy)
		require.NoError(t, s.GetWorkflow(t.Context(), how, first).Get(t.Context(), nil))
	}
}

// closing is a service and a worker for it.
type closing struct {
	*service
	// begun gets the workflow ID of each run that waits for its update, within its first workflow task.
	begun chan string
}

// across ends as soon as an update has come, unless it is to stay and to handle that.
func (s *closing) across(ctx workflow.Context, how string) error {
	handled := false
	err := workflow.SetUpdateHandler(ctx, "where", func(ctx workflow.Context) (string, error) {
		handled = true
		return workflow.GetInfo(ctx).WorkflowExecution.RunID, nil
	})
	if err != nil || how == "stay" {
		return errors.Join(err, workflow.Await(ctx, func() bool { return handled && workflow.AllHandlersFinished(ctx) }))
	}
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
	err = workflow.ExecuteLocalActivity(ctx, s.awaitAdmitted, workflow.GetInfo(ctx).WorkflowExecution.ID).Get(ctx, nil)
	if err != nil || how == "end" {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, "across", "stay")
}

// awaitAdmitted waits until the update of a workflow has come.
func (s *closing) awaitAdmitted(ctx context.Context, id string) error {
	s.begun <- id
	ref := &updatepb.UpdateRef{WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id}, UpdateId: "where"}
	for {
		_, err := s.WorkflowService().PollWorkflowExecutionUpdate(ctx, &workflowservice.PollWorkflowExecutionUpdateRequest{
			Namespace: "default", UpdateRef: ref,
		})
		if _, unknown := errors.AsType[*serviceerror.NotFound](err); !unknown {
			return err
		}
		if err := sleep.For(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
