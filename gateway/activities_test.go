package gateway_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/activity/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

var ofActivity = &common.WorkflowExecution{WorkflowId: w, RunId: uuid.NewString()}

func pauseRequest() *workflowservice.PauseActivityRequest {
	return &workflowservice.PauseActivityRequest{
		Namespace: "default", Execution: ofActivity, Activity: &workflowservice.PauseActivityRequest_Id{Id: "a"},
		Identity: "me", Reason: "trouble", RequestId: "r",
	}
}

func unpauseRequest() *workflowservice.UnpauseActivityRequest {
	return &workflowservice.UnpauseActivityRequest{
		Namespace: "default", Execution: ofActivity, Activity: &workflowservice.UnpauseActivityRequest_Id{Id: "a"},
		Identity: "me", Jitter: durationpb.New(time.Second),
	}
}

func resetActivityRequest() *workflowservice.ResetActivityRequest {
	return &workflowservice.ResetActivityRequest{
		Namespace: "default", Execution: ofActivity, Activity: &workflowservice.ResetActivityRequest_Id{Id: "a"},
		Identity: "me", Jitter: durationpb.New(time.Second), KeepPaused: true, ResetHeartbeat: true, RestoreOriginalOptions: true,
	}
}

func someOptions() *activity.ActivityOptions {
	return &activity.ActivityOptions{StartToCloseTimeout: durationpb.New(time.Minute)}
}

func optionsRequest() *workflowservice.UpdateActivityOptionsRequest {
	return &workflowservice.UpdateActivityOptionsRequest{
		Namespace: "default", Execution: ofActivity, Activity: &workflowservice.UpdateActivityOptionsRequest_Id{Id: "a"},
		Identity: "me", ActivityOptions: someOptions(), UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"start_to_close_timeout"}},
	}
}

// TestNewerCallsAboutActivities: what newer clients ask about an activity of a workflow reaches the owner as what older ones ask. A standalone activity
// is refused.
func TestNewerCallsAboutActivities(t *testing.T) {
	t.Parallel()
	in := install(t)
	requests := in.owners(func(r request) (proto.Message, error) {
		if r.verb == "update-activity-options" {
			return &workflowservice.UpdateActivityOptionsResponse{ActivityOptions: someOptions()}, nil
		}
		return nil, nil
	})
	service, ctx := workflowservice.NewWorkflowServiceClient(in.grpc), t.Context()
	run := ofActivity.RunId
	for verb, test := range map[string]struct {
		want proto.Message
		ask  func(workflow string) error
	}{
		"pause-activity": {pauseRequest(), func(workflow string) error {
			_, err := service.PauseActivityExecution(ctx, &workflowservice.PauseActivityExecutionRequest{
				Namespace: "default", WorkflowId: workflow, RunId: run, ActivityId: "a", Identity: "me", Reason: "trouble", RequestId: "r",
			})
			return err
		}},
		"unpause-activity": {unpauseRequest(), func(workflow string) error {
			_, err := service.UnpauseActivityExecution(ctx, &workflowservice.UnpauseActivityExecutionRequest{
				Namespace: "default", WorkflowId: workflow, RunId: run, ActivityId: "a", Identity: "me", Jitter: durationpb.New(time.Second),
			})
			return err
		}},
		"reset-activity": {resetActivityRequest(), func(workflow string) error {
			_, err := service.ResetActivityExecution(ctx, &workflowservice.ResetActivityExecutionRequest{
				Namespace: "default", WorkflowId: workflow, RunId: run, ActivityId: "a", Identity: "me", Jitter: durationpb.New(time.Second),
				KeepPaused: true, ResetHeartbeat: true, RestoreOriginalOptions: true,
			})
			return err
		}},
		"update-activity-options": {optionsRequest(), func(workflow string) error {
			got, err := service.UpdateActivityExecutionOptions(ctx, &workflowservice.UpdateActivityExecutionOptionsRequest{
				Namespace: "default", WorkflowId: workflow, RunId: run, ActivityId: "a", Identity: "me", ActivityOptions: someOptions(),
				UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"start_to_close_timeout"}},
			})
			if err == nil {
				require.True(t, proto.Equal(someOptions(), got.GetActivityOptions()))
			}
			return err
		}},
	} {
		require.NoError(t, test.ask(w), verb)
		r := <-requests
		require.Equal(t, verb, r.verb)
		arrived := test.want.ProtoReflect().New().Interface()
		require.NoError(t, proto.Unmarshal(r.data, arrived))
		require.True(t, proto.Equal(test.want, arrived), "%s: %v", verb, arrived)
		require.Equal(t, codes.Unimplemented, serviceerror.ToStatus(test.ask("")).Code(), verb)
	}
	_, err := service.PauseActivity(ctx, &workflowservice.PauseActivityRequest{Namespace: "default", Execution: ofActivity})
	require.ErrorContains(t, err, "Activity is not set on request")
	require.Empty(t, requests)
}
