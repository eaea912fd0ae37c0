package gateway

import (
	"cmp"
	"context"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The methods here are for programs that end an activity without having its task token: they name it.

// activityByID is a request that names an activity.
type activityByID interface {
	GetNamespace() string
	GetWorkflowId() string
	GetRunId() string
	GetActivityId() string
}

// workflowOfActivity returns the workflow of an activity that a request names.
func workflowOfActivity(r activityByID) (schedule.Key, error) {
	return schedule.Key{Namespace: r.GetNamespace(), ID: r.GetWorkflowId()}, cmp.Or(
		checkName("WorkflowId", r.GetWorkflowId()), checkRunID(r.GetRunId()), checkName("ActivityId", r.GetActivityId()),
	)
}

// RespondActivityTaskCompletedById takes the result of an activity.
func (s *workflowService) RespondActivityTaskCompletedById(
	ctx context.Context, r *workflowservice.RespondActivityTaskCompletedByIdRequest,
) (*workflowservice.RespondActivityTaskCompletedByIdResponse, error) {
	workflow, err := workflowOfActivity(r)
	if err := cmp.Or(err, checkBlobs(r.Result)); err != nil {
		return nil, err
	}
	return route[workflowservice.RespondActivityTaskCompletedByIdResponse](ctx, s.Gateway, subjects.VerbCompleteActivityByID, workflow, r)
}

// RespondActivityTaskFailedById says that an activity has failed.
func (s *workflowService) RespondActivityTaskFailedById(
	ctx context.Context, r *workflowservice.RespondActivityTaskFailedByIdRequest,
) (*workflowservice.RespondActivityTaskFailedByIdResponse, error) {
	workflow, err := workflowOfActivity(r)
	if err := cmp.Or(err, checkBlobs(r.Failure, r.LastHeartbeatDetails)); err != nil {
		return nil, err
	}
	return route[workflowservice.RespondActivityTaskFailedByIdResponse](ctx, s.Gateway, subjects.VerbFailActivityByID, workflow, r)
}

// RespondActivityTaskCanceledById says that an activity has ended because it was asked to.
func (s *workflowService) RespondActivityTaskCanceledById(
	ctx context.Context, r *workflowservice.RespondActivityTaskCanceledByIdRequest,
) (*workflowservice.RespondActivityTaskCanceledByIdResponse, error) {
	workflow, err := workflowOfActivity(r)
	if err := cmp.Or(err, checkBlobs(r.Details)); err != nil {
		return nil, err
	}
	return route[workflowservice.RespondActivityTaskCanceledByIdResponse](ctx, s.Gateway, subjects.VerbCancelActivityByID, workflow, r)
}

// RecordActivityTaskHeartbeatById says that an activity goes on.
func (s *workflowService) RecordActivityTaskHeartbeatById(
	ctx context.Context, r *workflowservice.RecordActivityTaskHeartbeatByIdRequest,
) (*workflowservice.RecordActivityTaskHeartbeatByIdResponse, error) {
	workflow, err := workflowOfActivity(r)
	if err := cmp.Or(err, checkBlobs(r.Details)); err != nil {
		return nil, err
	}
	return route[workflowservice.RecordActivityTaskHeartbeatByIdResponse](ctx, s.Gateway, subjects.VerbHeartbeatActivityByID, workflow, r)
}
