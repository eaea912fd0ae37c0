package systemtest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdkclient "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// account adds what it is asked to, but nothing negative, until it is closed.
func account(ctx workflow.Context) (int, error) {
	sum, closed := 0, false
	err := workflow.SetUpdateHandlerWithOptions(ctx, "add", func(ctx workflow.Context, n int) (int, error) {
		sum += n
		if n > 100 { // a large sum takes time
			ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
			if err := workflow.ExecuteActivity(ctx, greet, "bank").Get(ctx, nil); err != nil {
				return 0, err
			}
		}
		return sum, nil
	}, workflow.UpdateHandlerOptions{Validator: func(n int) error {
		if n < 0 {
			return errors.New("negative")
		}
		return nil
	}})
	if err != nil {
		return 0, err
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		workflow.GetSignalChannel(ctx, "close").Receive(ctx, nil)
		closed = true
	})
	err = workflow.Await(ctx, func() bool { return closed && workflow.AllHandlersFinished(ctx) })
	return sum, err
}

func registerUpdates(r registry) { r.RegisterWorkflow(account) }

// TestUpdatesOfWorkflows: updates are accepted, rejected without a trace, repeated by their ID, and started together with a workflow.
func TestUpdatesOfWorkflows(t *testing.T) {
	t.Parallel()
	s := newService(t, natstest.Shared(t).ClientURL(), 1)
	s.work(sdkworker.Options{})
	run := s.start("account", account)
	add := func(id string, n int) (sum int, err error) {
		handle, err := s.UpdateWorkflow(t.Context(), sdkclient.UpdateWorkflowOptions{
			WorkflowID: "account", UpdateID: id, UpdateName: "add", Args: []any{n}, WaitForStage: sdkclient.WorkflowUpdateStageCompleted,
		})
		require.NoError(t, err)
		return sum, handle.Get(t.Context(), &sum)
	}
	sum, err := add("first", 3)
	require.NoError(t, err)
	require.Equal(t, 3, sum)
	before := len(s.events(run))
	_, err = add("bad", -1)
	var rejected *temporal.ApplicationError
	require.ErrorAs(t, err, &rejected)
	require.Contains(t, rejected.Error(), "negative")
	require.Len(t, s.events(run), before, "a rejection leaves nothing in the history")
	sum, err = add("first", 3)
	require.NoError(t, err)
	require.Equal(t, 3, sum, "a repeat adds nothing")
	sum, err = add("bad", 4)
	require.NoError(t, err)
	require.Equal(t, 7, sum, "an ID that was rejected is free")
	sum, err = add("large", 1000)
	require.NoError(t, err)
	require.Equal(t, 1007, sum)
	s.addAtOnce(1007)
	require.NoError(t, s.SignalWorkflow(t.Context(), "account", "", "close", nil))
	require.NoError(t, run.Get(t.Context(), &sum))
	require.Equal(t, 1012, sum)
	s.replay(run)
	var notFound *serviceerror.NotFound
	_, err = s.UpdateWorkflow(t.Context(), sdkclient.UpdateWorkflowOptions{
		WorkflowID: "account", UpdateName: "add", Args: []any{1}, WaitForStage: sdkclient.WorkflowUpdateStageAccepted,
	})
	require.ErrorAs(t, err, &notFound)
	s.updateWithStart()
}

// addAtOnce asks for many updates at once, each of which sees another sum.
func (s *service) addAtOnce(before int) {
	s.t.Helper()
	var handles []sdkclient.WorkflowUpdateHandle
	for range 5 {
		handle, err := s.UpdateWorkflow(s.t.Context(), sdkclient.UpdateWorkflowOptions{
			WorkflowID: "account", UpdateName: "add", Args: []any{1}, WaitForStage: sdkclient.WorkflowUpdateStageAccepted,
		})
		require.NoError(s.t, err)
		handles = append(handles, handle)
	}
	for i, handle := range handles {
		var sum int
		require.NoError(s.t, handle.Get(s.t.Context(), &sum))
		require.Equal(s.t, before+i+1, sum)
	}
}

// updateWithStart starts a workflow by an update, once.
func (s *service) updateWithStart() {
	s.t.Helper()
	for want := 1; want <= 2; want++ {
		start := s.NewWithStartWorkflowOperation(sdkclient.StartWorkflowOptions{
			ID: "account-2", TaskQueue: workflowQueue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		}, account)
		handle, err := s.UpdateWithStartWorkflow(s.t.Context(), sdkclient.UpdateWithStartWorkflowOptions{
			StartWorkflowOperation: start, UpdateOptions: sdkclient.UpdateWorkflowOptions{
				UpdateName: "add", Args: []any{1}, WaitForStage: sdkclient.WorkflowUpdateStageCompleted,
			},
		})
		require.NoError(s.t, err)
		var sum int
		require.NoError(s.t, handle.Get(s.t.Context(), &sum))
		require.Equal(s.t, want, sum)
	}
}
