package gateway

import (
	"cmp"
	"context"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/subjects"
)

// fits reports whether a request fits into a message of the NATS server.
func (g *Gateway) fits(r proto.Message) bool {
	const beside = 8 << 10 // the subject and the headers
	return int64(proto.Size(r)) <= g.config.Conn.MaxPayload()-beside
}

// RespondWorkflowTaskCompleted takes the commands of a workflow. The answer may have the next task. Commands that are too large fail the task.
func (s *workflowService) RespondWorkflowTaskCompleted(
	ctx context.Context, r *workflowservice.RespondWorkflowTaskCompletedRequest,
) (*workflowservice.RespondWorkflowTaskCompletedResponse, error) {
	workflow, err := workflowOfToken(r.Namespace, r.TaskToken)
	if err := cmp.Or(err, checkCompletion(r)); err != nil {
		return nil, err
	}
	if !s.fits(r) {
		_, err := s.RespondWorkflowTaskFailed(ctx, &workflowservice.RespondWorkflowTaskFailedRequest{
			Namespace: r.Namespace, TaskToken: r.TaskToken, Identity: r.Identity,
			Cause: enums.WORKFLOW_TASK_FAILED_CAUSE_GRPC_MESSAGE_TOO_LARGE, Failure: serverFailure(commandsTooLarge),
		})
		return nil, cmp.Or(err, error(serviceerror.NewInvalidArgument(commandsTooLarge)))
	}
	if wrong := s.completeCommands(ctx, r); wrong != nil {
		return nil, s.failAttributes(ctx, r, wrong)
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
		r.Failure = serverFailure("the failure of the workflow task is larger than 2 MB")
	}
	return route[workflowservice.RespondWorkflowTaskFailedResponse](ctx, s.Gateway, subjects.VerbFailWorkflowTask, workflow, r)
}

// serverFailure is the failure of a task whose result cannot be taken. Another attempt would not help.
func serverFailure(text string) *failure.Failure {
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
	if isTooLarge(r.Result) || !s.fits(r) {
		_, err := s.RespondActivityTaskFailed(ctx, &workflowservice.RespondActivityTaskFailedRequest{
			Namespace: r.Namespace, TaskToken: r.TaskToken, Identity: r.Identity, Failure: serverFailure(resultTooLarge),
		})
		return &workflowservice.RespondActivityTaskCompletedResponse{}, err
	}
	return route[workflowservice.RespondActivityTaskCompletedResponse](ctx, s.Gateway, subjects.VerbCompleteActivity, workflow, r)
}

const (
	commandsTooLarge  = "the commands of the workflow task are larger than the NATS server accepts"
	resultTooLarge    = "the result of the activity is larger than 2 MB, or than the NATS server accepts"
	failureTooLarge   = "the failure of the activity is larger than 2 MB, or than the NATS server accepts"
	detailsTooLarge   = "the details of the canceled activity are larger than 2 MB, or than the NATS server accepts"
	heartbeatTooLarge = "the details of a heartbeat are larger than 2 MB, or than the NATS server accepts"
)

// RespondActivityTaskFailed says that an activity has failed.
func (s *workflowService) RespondActivityTaskFailed(
	ctx context.Context, r *workflowservice.RespondActivityTaskFailedRequest,
) (*workflowservice.RespondActivityTaskFailedResponse, error) {
	workflow, err := workflowOfToken(r.Namespace, r.TaskToken)
	if err != nil {
		return nil, err
	}
	if isTooLarge(r.Failure) || !s.fits(r.Failure) {
		r.Failure = serverFailure(failureTooLarge)
	}
	if isTooLarge(r.LastHeartbeatDetails) || !s.fits(r) {
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
	if isTooLarge(r.Details) || !s.fits(r) {
		_, err := s.RespondActivityTaskFailed(ctx, &workflowservice.RespondActivityTaskFailedRequest{
			Namespace: r.Namespace, TaskToken: r.TaskToken, Identity: r.Identity, Failure: serverFailure(detailsTooLarge),
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
	if isTooLarge(r.Details) || !s.fits(r) {
		_, err := s.RespondActivityTaskFailed(ctx, &workflowservice.RespondActivityTaskFailedRequest{
			Namespace: r.Namespace, TaskToken: r.TaskToken, Identity: r.Identity, Failure: serverFailure(heartbeatTooLarge),
		})
		return &workflowservice.RecordActivityTaskHeartbeatResponse{CancelRequested: true}, err
	}
	return route[workflowservice.RecordActivityTaskHeartbeatResponse](ctx, s.Gateway, subjects.VerbHeartbeatActivity, workflow, r)
}
