package history

import (
	"context"
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The requests of workers.

func (s *Service) taskVerbs() map[string]verb {
	return map[string]verb{
		subjects.VerbCompleteWorkflowTask: s.completeWorkflowTask,
		subjects.VerbFailWorkflowTask: ofTask(s, func(t execution.Token, r *workflowservice.RespondWorkflowTaskFailedRequest) execution.Input {
			return execution.FailWorkflowTask{Token: t, Request: r}
		}),
		subjects.VerbCompleteActivity: endOfActivity(s, func(t execution.Token, r *workflowservice.RespondActivityTaskCompletedRequest) execution.Input {
			return execution.CompleteActivity{Token: t, Request: r}
		}),
		subjects.VerbFailActivity: endOfActivity(s, func(t execution.Token, r *workflowservice.RespondActivityTaskFailedRequest) execution.Input {
			return execution.FailActivity{Token: t, Request: r}
		}),
		subjects.VerbCancelActivity: endOfActivity(s, func(t execution.Token, r *workflowservice.RespondActivityTaskCanceledRequest) execution.Input {
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

// decodeOfTask reads a request with the token of a task, and says which task and which execution it is about.
func decodeOfTask[R any, M interface {
	message[R]
	withToken
}](s *Service, at subjects.Request, data []byte) (request M, token execution.Token, key schedule.Key, err error) {
	if request, err = decode[R, M](at, data); err != nil {
		return request, token, key, err
	}
	if token, err = tokenOf(at.Namespace, request); err != nil {
		return request, token, key, err
	}
	key, err = s.keyOf(at, token.WorkflowID)
	return request, token, key, err
}

// endOfActivity is ofTask for a request that ends an attempt of an activity. If what it says does not fit into an entry, the activity fails for
// good: another attempt would not help, and the worker reports only once.
func endOfActivity[R any, M interface {
	message[R]
	withToken
	GetIdentity() string
}](s *Service, input func(execution.Token, M) execution.Input) verb {
	return func(ctx context.Context, at subjects.Request, data []byte) (proto.Message, error) {
		request, token, key, err := decodeOfTask[R, M](s, at, data)
		if err != nil {
			return nil, err
		}
		reply, err := s.transition(ctx, key, input(token, request))
		if errors.Is(err, errTooLarge) {
			_, err = s.transition(ctx, key, execution.FailActivity{Token: token, Request: &workflowservice.RespondActivityTaskFailedRequest{
				Namespace: at.Namespace, TaskToken: request.GetTaskToken(), Identity: request.GetIdentity(), Failure: serverFailure(true),
			}})
			reply = nil
		}
		return reply, err
	}
}

// completeWorkflowTask takes what the code of a workflow decided. If that does not fit into an entry, the task fails.
func (s *Service) completeWorkflowTask(ctx context.Context, at subjects.Request, data []byte) (proto.Message, error) {
	request, token, key, err := decodeOfTask[workflowservice.RespondWorkflowTaskCompletedRequest](s, at, data)
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
		Cause:   enumspb.WORKFLOW_TASK_FAILED_CAUSE_GRPC_MESSAGE_TOO_LARGE,
		Failure: serverFailure(false),
	}
}

// serverFailure is the failure of a task whose outcome does not fit into an entry. final says that another attempt would not help.
func serverFailure(final bool) *failurepb.Failure {
	return &failurepb.Failure{Message: errTooLarge.Error(), FailureInfo: &failurepb.Failure_ServerFailureInfo{
		ServerFailureInfo: &failurepb.ServerFailureInfo{NonRetryable: final},
	}}
}
