package gateway

import (
	"context"

	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/subjects"
)

// RespondWorkflowTaskCompleted takes the commands of a workflow. The answer may have the next task.
func (s *workflowService) RespondWorkflowTaskCompleted(
	ctx context.Context, r *workflowservice.RespondWorkflowTaskCompletedRequest,
) (*workflowservice.RespondWorkflowTaskCompletedResponse, error) {
	workflow, err := workflowOfToken(r.Namespace, r.TaskToken)
	if err != nil {
		return nil, err
	}
	return route[workflowservice.RespondWorkflowTaskCompletedResponse](ctx, s.Gateway, subjects.VerbCompleteWorkflowTask, workflow, r)
}

// RespondWorkflowTaskFailed says that a worker could not work on a workflow task.
func (s *workflowService) RespondWorkflowTaskFailed(
	ctx context.Context, r *workflowservice.RespondWorkflowTaskFailedRequest,
) (*workflowservice.RespondWorkflowTaskFailedResponse, error) {
	workflow, err := workflowOfToken(r.Namespace, r.TaskToken)
	if err != nil {
		return nil, err
	}
	if isTooLarge(r.Failure) {
		r.Failure = tooLarge("the failure of the workflow task is larger than 2 MB")
	}
	return route[workflowservice.RespondWorkflowTaskFailedResponse](ctx, s.Gateway, subjects.VerbFailWorkflowTask, workflow, r)
}

// tooLarge is the failure of a task whose result cannot be kept. Another attempt would not help.
func tooLarge(text string) *failure.Failure {
	return &failure.Failure{Message: text, FailureInfo: &failure.Failure_ServerFailureInfo{
		ServerFailureInfo: &failure.ServerFailureInfo{NonRetryable: true},
	}}
}

// RespondActivityTaskCompleted takes the result of an activity. One that is too large fails the activity.
func (s *workflowService) RespondActivityTaskCompleted(
	ctx context.Context, r *workflowservice.RespondActivityTaskCompletedRequest,
) (*workflowservice.RespondActivityTaskCompletedResponse, error) {
	workflow, err := workflowOfToken(r.Namespace, r.TaskToken)
	if err != nil {
		return nil, err
	}
	if isTooLarge(r.Result) {
		_, err := s.RespondActivityTaskFailed(ctx, &workflowservice.RespondActivityTaskFailedRequest{
			Namespace: r.Namespace, TaskToken: r.TaskToken, Identity: r.Identity, Failure: tooLarge(resultTooLarge),
		})
		return &workflowservice.RespondActivityTaskCompletedResponse{}, err
	}
	return route[workflowservice.RespondActivityTaskCompletedResponse](ctx, s.Gateway, subjects.VerbCompleteActivity, workflow, r)
}

const (
	resultTooLarge    = "the result of the activity is larger than 2 MB"
	failureTooLarge   = "the failure of the activity is larger than 2 MB"
	detailsTooLarge   = "the details of the canceled activity are larger than 2 MB"
	heartbeatTooLarge = "the details of a heartbeat are larger than 2 MB"
)

// RespondActivityTaskFailed says that an activity has failed.
func (s *workflowService) RespondActivityTaskFailed(
	ctx context.Context, r *workflowservice.RespondActivityTaskFailedRequest,
) (*workflowservice.RespondActivityTaskFailedResponse, error) {
	workflow, err := workflowOfToken(r.Namespace, r.TaskToken)
	if err != nil {
		return nil, err
	}
	if isTooLarge(r.Failure) {
		r.Failure = tooLarge(failureTooLarge)
	}
	if isTooLarge(r.LastHeartbeatDetails) {
		r.LastHeartbeatDetails = nil
	}
	return route[workflowservice.RespondActivityTaskFailedResponse](ctx, s.Gateway, subjects.VerbFailActivity, workflow, r)
}

// RespondActivityTaskCanceled says that an activity has ended because it was asked to.
func (s *workflowService) RespondActivityTaskCanceled(
	ctx context.Context, r *workflowservice.RespondActivityTaskCanceledRequest,
) (*workflowservice.RespondActivityTaskCanceledResponse, error) {
	workflow, err := workflowOfToken(r.Namespace, r.TaskToken)
	if err != nil {
		return nil, err
	}
	if isTooLarge(r.Details) {
		_, err := s.RespondActivityTaskFailed(ctx, &workflowservice.RespondActivityTaskFailedRequest{
			Namespace: r.Namespace, TaskToken: r.TaskToken, Identity: r.Identity, Failure: tooLarge(detailsTooLarge),
		})
		return &workflowservice.RespondActivityTaskCanceledResponse{}, err
	}
	return route[workflowservice.RespondActivityTaskCanceledResponse](ctx, s.Gateway, subjects.VerbCancelActivity, workflow, r)
}

// RecordActivityTaskHeartbeat says that an activity goes on. Details that are too large fail it.
func (s *workflowService) RecordActivityTaskHeartbeat(
	ctx context.Context, r *workflowservice.RecordActivityTaskHeartbeatRequest,
) (*workflowservice.RecordActivityTaskHeartbeatResponse, error) {
	workflow, err := workflowOfToken(r.Namespace, r.TaskToken)
	if err != nil {
		return nil, err
	}
	if isTooLarge(r.Details) {
		_, err := s.RespondActivityTaskFailed(ctx, &workflowservice.RespondActivityTaskFailedRequest{
			Namespace: r.Namespace, TaskToken: r.TaskToken, Identity: r.Identity, Failure: tooLarge(heartbeatTooLarge),
		})
		return &workflowservice.RecordActivityTaskHeartbeatResponse{CancelRequested: true}, err
	}
	return route[workflowservice.RecordActivityTaskHeartbeatResponse](ctx, s.Gateway, subjects.VerbHeartbeatActivity, workflow, r)
}
