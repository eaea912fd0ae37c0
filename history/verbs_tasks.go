package history

import (
	"context"
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The requests of workers.

func (s *Service) taskVerbs() map[string]verb {
	return map[string]verb{
		subjects.VerbCompleteWorkflowTask: s.completeWorkflowTask,
		subjects.VerbFailWorkflowTask: ofTask(s, func(t execution.Token, r *workflowservice.RespondWorkflowTaskFailedRequest) execution.Input {
			return execution.FailWorkflowTask{Token: t, Request: r}
		}),
		subjects.VerbCompleteActivity: ofTask(s, func(t execution.Token, r *workflowservice.RespondActivityTaskCompletedRequest) execution.Input {
			return execution.CompleteActivity{Token: t, Request: r}
		}),
		subjects.VerbFailActivity: ofTask(s, func(t execution.Token, r *workflowservice.RespondActivityTaskFailedRequest) execution.Input {
			return execution.FailActivity{Token: t, Request: r}
		}),
		subjects.VerbCancelActivity: ofTask(s, func(t execution.Token, r *workflowservice.RespondActivityTaskCanceledRequest) execution.Input {
			return execution.CancelActivity{Token: t, Request: r}
		}),
		subjects.VerbHeartbeatActivity: ofTask(s, func(t execution.Token, r *workflowservice.RecordActivityTaskHeartbeatRequest) execution.Input {
			return execution.BeatActivity{Token: t, Request: r}
		}),
		subjects.VerbCompleteActivityByID: byID(s, func(r *workflowservice.RespondActivityTaskCompletedByIdRequest) execution.Input {
			return execution.CompleteActivityByID{Request: r}
		}),
		subjects.VerbFailActivityByID: byID(s, func(r *workflowservice.RespondActivityTaskFailedByIdRequest) execution.Input {
			return execution.FailActivityByID{Request: r}
		}),
		subjects.VerbCancelActivityByID: byID(s, func(r *workflowservice.RespondActivityTaskCanceledByIdRequest) execution.Input {
			return execution.CancelActivityByID{Request: r}
		}),
		subjects.VerbHeartbeatActivityByID: byID(s, func(r *workflowservice.RecordActivityTaskHeartbeatByIdRequest) execution.Input {
			return execution.BeatActivityByID{Request: r}
		}),
	}
}

// completeWorkflowTask takes what the code of a workflow decided. If that does not fit into an entry, the task fails.
func (s *Service) completeWorkflowTask(ctx context.Context, at subjects.Request, data []byte) (proto.Message, error) {
	request, err := decode[workflowservice.RespondWorkflowTaskCompletedRequest](at, data)
	if err != nil {
		return nil, err
	}
	token, err := tokenOf(at.Namespace, request)
	if err != nil {
		return nil, err
	}
	key, err := s.keyOf(at, token.WorkflowID)
	if err != nil {
		return nil, err
	}
	reply, err := s.transition(ctx, key, execution.CompleteWorkflowTask{Token: token, Request: request, RequestID: s.config.NewID()})
	if !errors.Is(err, errTooLarge) {
		return reply, err
	}
	if _, failure := s.transition(ctx, key, execution.FailWorkflowTask{Token: token, Request: tooLarge(request)}); failure != nil {
		return nil, failure
	}
	return nil, err
}

// tooLarge is the failure of a workflow task whose commands do not fit into an entry.
func tooLarge(r *workflowservice.RespondWorkflowTaskCompletedRequest) *workflowservice.RespondWorkflowTaskFailedRequest {
	return &workflowservice.RespondWorkflowTaskFailedRequest{
		Namespace: r.GetNamespace(), TaskToken: r.GetTaskToken(), Identity: r.GetIdentity(),
		Cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_GRPC_MESSAGE_TOO_LARGE,
		Failure: &failurepb.Failure{Message: errTooLarge.Error(), FailureInfo: &failurepb.Failure_ServerFailureInfo{
			ServerFailureInfo: &failurepb.ServerFailureInfo{},
		}},
	}
}
