package systemtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	activitypb "go.temporal.io/api/activity/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	sdkclient "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// helped is a workflow with one activity, which is tried again only after an hour.
func helped(ctx workflow.Context, wait bool) (attempt int32, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: "a", StartToCloseTimeout: time.Minute, HeartbeatTimeout: time.Second, RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Hour},
	})
	err = workflow.ExecuteActivity(ctx, needsHelp, wait).Get(ctx, &attempt)
	return attempt, err
}

// needsHelp is an activity whose first attempt fails: at once, or when somebody stops it. The next one returns its number.
func needsHelp(ctx context.Context, wait bool) (attempt int32, err error) {
	if activity.HasHeartbeatDetails(ctx) {
		return activity.GetInfo(ctx).Attempt, nil
	}
	beat := time.NewTicker(10 * time.Millisecond)
	defer beat.Stop()
	for activity.RecordHeartbeat(ctx, "begun"); wait && ctx.Err() == nil; activity.RecordHeartbeat(ctx, "begun") {
		<-beat.C
	}
	return 0, errors.New("needs help")
}

func registerOperations(r registry) {
	r.RegisterWorkflow(helped)
	r.RegisterActivity(needsHelp)
}

// pending waits until the activity of a workflow is in a state, and returns it.
func (s *service) pending(run sdkclient.WorkflowRun, state enumspb.PendingActivityState) (info *workflowpb.PendingActivityInfo) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		all := s.describe(run).GetPendingActivities()
		if len(all) == 1 {
			info = all[0]
		}
		return info.GetState() == state && (state != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED || info.GetAttempt() == 2)
	}, time.Minute, 10*time.Millisecond)
	return info
}

// TestOperationsOnActivities: people pause an activity, which stops its worker, let it go on, reset it, and change its options.
func TestOperationsOnActivities(t *testing.T) {
	t.Parallel()
	s := newService(t, natstest.Shared(t).ClientURL(), 1)
	s.work(sdkworker.Options{})
	requireAttempt := func(run sdkclient.WorkflowRun, want int32) {
		t.Helper()
		var attempt int32
		require.NoError(t, run.Get(t.Context(), &attempt))
		require.Equal(t, want, attempt)
		s.replay(run)
	}
	of := func(id string) *commonpb.WorkflowExecution { return &commonpb.WorkflowExecution{WorkflowId: id} }

	paused := s.start("paused", helped, true)
	s.pending(paused, enumspb.PENDING_ACTIVITY_STATE_STARTED)
	_, err := s.WorkflowService().PauseActivity(t.Context(), &workflowservice.PauseActivityRequest{
		Namespace: "default", Execution: of("paused"), Activity: &workflowservice.PauseActivityRequest_Id{Id: "a"}, Identity: "me", Reason: "trouble",
	})
	require.NoError(t, err)
	info := s.pending(paused, enumspb.PENDING_ACTIVITY_STATE_PAUSED)
	require.Equal(t, "trouble", info.GetPauseInfo().GetManual().GetReason())
	require.Equal(t, "me", info.GetPauseInfo().GetManual().GetIdentity())
	require.Equal(t, int32(2), info.GetAttempt())
	require.NotNil(t, info.GetLastFailure())
	pauseInfo := func() string {
		return string(s.describe(paused).GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields()["TemporalPauseInfo"].GetData())
	}
	require.Equal(t, `["property:activityType=needsHelp"]`, pauseInfo())
	_, err = s.WorkflowService().UnpauseActivity(t.Context(), &workflowservice.UnpauseActivityRequest{
		Namespace: "default", Execution: of("paused"), Activity: &workflowservice.UnpauseActivityRequest_Id{Id: "a"}, ResetAttempts: true,
	})
	require.NoError(t, err)
	requireAttempt(paused, 1)
	require.Empty(t, pauseInfo())

	reset := s.start("reset", helped, false)
	s.pending(reset, enumspb.PENDING_ACTIVITY_STATE_SCHEDULED)
	_, err = s.WorkflowService().ResetActivity(t.Context(), &workflowservice.ResetActivityRequest{
		Namespace: "default", Execution: of("reset"), Activity: &workflowservice.ResetActivityRequest_Type{Type: "needsHelp"},
	})
	require.NoError(t, err)
	requireAttempt(reset, 1)

	changed := s.start("changed", helped, false)
	s.pending(changed, enumspb.PENDING_ACTIVITY_STATE_SCHEDULED)
	response, err := s.WorkflowService().UpdateActivityOptions(t.Context(), &workflowservice.UpdateActivityOptionsRequest{
		Namespace: "default", Execution: of("changed"), Activity: &workflowservice.UpdateActivityOptionsRequest_Id{Id: "a"},
		ActivityOptions: &activitypb.ActivityOptions{RetryPolicy: &commonpb.RetryPolicy{InitialInterval: durationpb.New(time.Millisecond)}},
		UpdateMask:      &fieldmaskpb.FieldMask{Paths: []string{"retry_policy.initial_interval"}},
	})
	require.NoError(t, err)
	require.Equal(t, time.Millisecond, response.GetActivityOptions().GetRetryPolicy().GetInitialInterval().AsDuration())
	requireAttempt(changed, 2)
}

// TestEagerStart: a program that starts a workflow and has a worker for it gets the first task with the answer, so it begins in the moment of the start.
func TestEagerStart(t *testing.T) {
	t.Parallel()
	s := newService(t, natstest.Shared(t).ClientURL(), 1)
	s.work(sdkworker.Options{})
	run, err := s.ExecuteWorkflow(t.Context(), sdkclient.StartWorkflowOptions{TaskQueue: workflowQueue, EnableEagerStart: true}, hello, "world")
	require.NoError(t, err)
	var greeting string
	require.NoError(t, run.Get(t.Context(), &greeting))
	events := s.replay(run)
	require.Equal(t, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, events[2].GetEventType())
	require.Equal(t, events[0].GetEventTime().AsTime(), events[2].GetEventTime().AsTime(), "one decision begins both")
	require.Equal(t, enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, events[3].GetEventType())
}
