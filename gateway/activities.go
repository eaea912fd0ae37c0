package gateway

import (
	"cmp"
	"context"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The methods here are for people who look after the pending activities of a workflow.

// aboutActivities is a request about pending activities of a workflow: the one with an ID, those of a type, or all.
type aboutActivities interface {
	proto.Message
	GetNamespace() string
	GetExecution() *common.WorkflowExecution
	GetId() string
	GetType() string
	GetIdentity() string
}

// checkActivities refuses a request that names no workflow or no activities.
func checkActivities(r aboutActivities, all bool) error {
	if err := checkExecution(r.GetExecution()); err != nil {
		return err
	}
	if r.GetId() == "" && r.GetType() == "" && !all {
		return serviceerror.NewInvalidArgument("Activity is not set on request: an ID or a type is required.")
	}
	return cmp.Or(checkLength("ActivityId", r.GetId()), checkLength("ActivityType", r.GetType()), checkLength("Identity", r.GetIdentity()))
}

// workflowOf returns the workflow that a request about activities is for.
func workflowOf(r aboutActivities) schedule.Key {
	return schedule.Key{Namespace: r.GetNamespace(), ID: r.GetExecution().GetWorkflowId()}
}

// PauseActivity keeps activities from further attempts.
func (s *workflowService) PauseActivity(
	ctx context.Context, r *workflowservice.PauseActivityRequest,
) (*workflowservice.PauseActivityResponse, error) {
	if err := cmp.Or(checkActivities(r, false), checkLength("RequestId", r.RequestId), checkLength("Reason", r.Reason)); err != nil {
		return nil, err
	}
	return route[workflowservice.PauseActivityResponse](ctx, s.Gateway, subjects.VerbPauseActivity, workflowOf(r), r)
}

// UnpauseActivity lets paused activities go on.
func (s *workflowService) UnpauseActivity(
	ctx context.Context, r *workflowservice.UnpauseActivityRequest,
) (*workflowservice.UnpauseActivityResponse, error) {
	if err := checkActivities(r, r.GetUnpauseAll()); err != nil {
		return nil, err
	}
	return route[workflowservice.UnpauseActivityResponse](ctx, s.Gateway, subjects.VerbUnpauseActivity, workflowOf(r), r)
}

// ResetActivity lets activities begin again with their first attempt.
func (s *workflowService) ResetActivity(
	ctx context.Context, r *workflowservice.ResetActivityRequest,
) (*workflowservice.ResetActivityResponse, error) {
	if err := checkActivities(r, r.GetMatchAll()); err != nil {
		return nil, err
	}
	return route[workflowservice.ResetActivityResponse](ctx, s.Gateway, subjects.VerbResetActivity, workflowOf(r), r)
}

// UpdateActivityOptions changes options of activities.
func (s *workflowService) UpdateActivityOptions(
	ctx context.Context, r *workflowservice.UpdateActivityOptionsRequest,
) (*workflowservice.UpdateActivityOptionsResponse, error) {
	if err := cmp.Or(checkActivities(r, r.GetMatchAll()), checkLength("TaskQueue", r.GetActivityOptions().GetTaskQueue().GetName())); err != nil {
		return nil, err
	}
	return route[workflowservice.UpdateActivityOptionsResponse](ctx, s.Gateway, subjects.VerbUpdateActivityOptions, workflowOf(r), r)
}

// The calls below are those of newer clients, which name one activity. Without a workflow, they are about a standalone activity.

// aboutActivity is a request about one activity, of a workflow or standalone.
type aboutActivity interface {
	activityByID
	GetIdentity() string
}

// checkActivity refuses a request about a standalone activity, and one that does not name an activity.
func checkActivity(r aboutActivity) error {
	if r.GetWorkflowId() == "" {
		return serviceerror.NewUnimplemented(standaloneActivities)
	}
	_, err := workflowOfActivity(r)
	return cmp.Or(err, checkLength("Identity", r.GetIdentity()))
}

// executionOf returns the workflow of an activity as older requests name it.
func executionOf(r aboutActivity) *common.WorkflowExecution {
	return &common.WorkflowExecution{WorkflowId: r.GetWorkflowId(), RunId: r.GetRunId()}
}

// PauseActivityExecution is PauseActivity for one activity.
func (s *workflowService) PauseActivityExecution(
	ctx context.Context, r *workflowservice.PauseActivityExecutionRequest,
) (*workflowservice.PauseActivityExecutionResponse, error) {
	if err := checkActivity(r); err != nil {
		return nil, err
	}
	_, err := s.PauseActivity(ctx, &workflowservice.PauseActivityRequest{
		Namespace: r.Namespace, Execution: executionOf(r), Activity: &workflowservice.PauseActivityRequest_Id{Id: r.ActivityId},
		Identity: r.Identity, Reason: r.Reason, RequestId: r.RequestId,
	})
	return &workflowservice.PauseActivityExecutionResponse{}, err
}

// UnpauseActivityExecution is UnpauseActivity for one activity.
func (s *workflowService) UnpauseActivityExecution(
	ctx context.Context, r *workflowservice.UnpauseActivityExecutionRequest,
) (*workflowservice.UnpauseActivityExecutionResponse, error) {
	if err := checkActivity(r); err != nil {
		return nil, err
	}
	_, err := s.UnpauseActivity(ctx, &workflowservice.UnpauseActivityRequest{
		Namespace: r.Namespace, Execution: executionOf(r), Activity: &workflowservice.UnpauseActivityRequest_Id{Id: r.ActivityId},
		Identity: r.Identity, Jitter: r.Jitter,
	})
	return &workflowservice.UnpauseActivityExecutionResponse{}, err
}

// ResetActivityExecution is ResetActivity for one activity.
func (s *workflowService) ResetActivityExecution(
	ctx context.Context, r *workflowservice.ResetActivityExecutionRequest,
) (*workflowservice.ResetActivityExecutionResponse, error) {
	if err := checkActivity(r); err != nil {
		return nil, err
	}
	_, err := s.ResetActivity(ctx, &workflowservice.ResetActivityRequest{
		Namespace: r.Namespace, Execution: executionOf(r), Activity: &workflowservice.ResetActivityRequest_Id{Id: r.ActivityId}, Identity: r.Identity,
		ResetHeartbeat: r.ResetHeartbeat, KeepPaused: r.KeepPaused, Jitter: r.Jitter, RestoreOriginalOptions: r.RestoreOriginalOptions,
	})
	return &workflowservice.ResetActivityExecutionResponse{}, err
}

// UpdateActivityExecutionOptions is UpdateActivityOptions for one activity.
func (s *workflowService) UpdateActivityExecutionOptions(
	ctx context.Context, r *workflowservice.UpdateActivityExecutionOptionsRequest,
) (*workflowservice.UpdateActivityExecutionOptionsResponse, error) {
	if err := checkActivity(r); err != nil {
		return nil, err
	}
	updated, err := s.UpdateActivityOptions(ctx, &workflowservice.UpdateActivityOptionsRequest{
		Namespace: r.Namespace, Execution: executionOf(r), Activity: &workflowservice.UpdateActivityOptionsRequest_Id{Id: r.ActivityId},
		Identity: r.Identity, ActivityOptions: r.ActivityOptions, UpdateMask: r.UpdateMask, RestoreOriginal: r.RestoreOriginal,
	})
	return &workflowservice.UpdateActivityExecutionOptionsResponse{ActivityOptions: updated.GetActivityOptions()}, err
}
