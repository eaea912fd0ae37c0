package history

import (
	"context"
	"errors"
	"maps"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// verb answers one request. at is what the subject says.
type verb func(ctx context.Context, at subjects.Request, data []byte) (proto.Message, error)

// handle answers a request. It implements call.Handler.
func (s *Service) handle(ctx context.Context, subject string, data []byte) (reply proto.Message, err error) {
	at, err := s.config.Names.ParseExecution(subject)
	if err != nil {
		return nil, serviceerror.NewInvalidArgument(err.Error())
	}
	answer := s.verbs[at.Verb]
	if answer == nil {
		return nil, serviceerror.NewUnimplemented("the verb " + at.Verb + " is not implemented")
	}
	if _, known := s.config.Namespaces.Get(at.Namespace); !known {
		return nil, serviceerror.NewNamespaceNotFound(at.Namespace)
	}
	if s.config.Elsewhere != nil && !subjects.OnlyReads(at.Verb) {
		return nil, s.config.Elsewhere.NotActive(at.Namespace)
	}
	since := s.config.Now()
	reply, err = answer(ctx, at, data)
	err = s.legibly(ctx, subject, err)
	metrics.HistoryRequests.Record(ctx, s.config.Now().Sub(since).Seconds(), at.Verb, outcome(err))
	return reply, err
}

func outcome(err error) string {
	var own serviceerror.ServiceError
	switch {
	case err == nil:
		return metrics.HistoryOK
	case errors.As(err, &own):
		return metrics.HistoryRefused
	}
	return metrics.OutcomeError
}

// allVerbs are the requests that there are.
func (s *Service) allVerbs() map[string]verb {
	all := map[string]verb{
		subjects.VerbStart:           change(s, s.inputOfStart),
		subjects.VerbSignalWithStart: change(s, s.inputOfSignalWithStart),
		subjects.VerbSignal: change(s, func(r *workflowservice.SignalWorkflowExecutionRequest) (string, execution.Input, error) {
			return r.GetWorkflowExecution().GetWorkflowId(), execution.Signal{Request: r}, nil
		}),
		subjects.VerbRequestCancel: change(s, func(r *workflowservice.RequestCancelWorkflowExecutionRequest) (string, execution.Input, error) {
			return r.GetWorkflowExecution().GetWorkflowId(), execution.RequestCancel{Request: r}, nil
		}),
		subjects.VerbTerminate: change(s, func(r *workflowservice.TerminateWorkflowExecutionRequest) (string, execution.Input, error) {
			return r.GetWorkflowExecution().GetWorkflowId(), execution.Terminate{Request: r}, nil
		}),
		subjects.VerbResetSticky: change(s, func(r *workflowservice.ResetStickyTaskQueueRequest) (string, execution.Input, error) {
			return r.GetExecution().GetWorkflowId(), execution.ResetSticky{Request: r}, nil
		}),
		subjects.VerbReset: on(s, func(r *workflowservice.ResetWorkflowExecutionRequest) string {
			return r.GetWorkflowExecution().GetWorkflowId()
		}, (*Service).reset),
		subjects.VerbDelete: on(s, func(r *workflowservice.DeleteWorkflowExecutionRequest) string {
			return r.GetWorkflowExecution().GetWorkflowId()
		}, (*Service).remove),
		subjects.VerbDescribe: read(s, (*Service).describe),
		subjects.VerbHistory:  read(s, (*Service).history),
		subjects.VerbQuery:    read(s, (*Service).query),

		subjects.VerbUpdate: on(s, func(r *workflowservice.UpdateWorkflowExecutionRequest) string {
			return r.GetWorkflowExecution().GetWorkflowId()
		}, (*Service).update),
		subjects.VerbPollUpdate: on(s, func(r *workflowservice.PollWorkflowExecutionUpdateRequest) string {
			return r.GetUpdateRef().GetWorkflowExecution().GetWorkflowId()
		}, (*Service).pollUpdate),
		subjects.VerbUpdateWithStart: s.updateWithStart,

		subjects.VerbHistoryReverse: read(s, (*Service).historyReverse),
		subjects.VerbStartTask:      s.startTask,

		subjects.VerbStartScheduled: s.startScheduled,
	}
	maps.Copy(all, s.taskVerbs())
	maps.Copy(all, s.activityVerbs())
	return all
}

// message is a request of Temporal's.
type message[R any] interface {
	*R
	proto.Message
	GetNamespace() string
}

// decode reads a request. Its namespace must be that of its subject.
func decode[R any, M message[R]](at subjects.Request, data []byte) (M, error) {
	request := M(new(R))
	if err := proto.Unmarshal(data, request); err != nil {
		return nil, serviceerror.NewInvalidArgument("the request cannot be read: " + err.Error())
	}
	if request.GetNamespace() != at.Namespace {
		return nil, serviceerror.NewInvalidArgument("the request was sent to another namespace than its own")
	}
	return request, nil
}

// keyOf returns the execution that a request is about. The subject must be of its shard.
func (s *Service) keyOf(at subjects.Request, workflowID string) (schedule.Key, error) {
	key := schedule.Key{Namespace: at.Namespace, ID: workflowID}
	switch {
	case workflowID == "":
		return key, serviceerror.NewInvalidArgument("WorkflowId is not set on request.")
	case s.shardOf(key) != at.Shard:
		return key, serviceerror.NewInvalidArgument("the request was sent to another shard than its own")
	}
	return key, nil
}

// change is a verb that changes an execution. input says which one, and what happens to it.
func change[R any, M message[R]](s *Service, input func(M) (workflowID string, in execution.Input, err error)) verb {
	return func(ctx context.Context, at subjects.Request, data []byte) (proto.Message, error) {
		request, err := decode[R, M](at, data)
		if err != nil {
			return nil, err
		}
		workflowID, in, err := input(request)
		if err != nil {
			return nil, err
		}
		key, err := s.keyOf(at, workflowID)
		if err != nil {
			return nil, err
		}
		return s.transition(ctx, key, in)
	}
}

func (s *Service) inputOfStart(r *workflowservice.StartWorkflowExecutionRequest) (string, execution.Input, error) {
	return r.GetWorkflowId(), execution.Start{Request: r, RunID: s.config.NewID()}, nil
}

func (s *Service) inputOfSignalWithStart(r *workflowservice.SignalWithStartWorkflowExecutionRequest) (string, execution.Input, error) {
	return r.GetWorkflowId(), execution.SignalWithStart{Request: r, RunID: s.config.NewID()}, nil
}

// withToken is a request with the token of a task.
type withToken interface{ GetTaskToken() []byte }

// tokenOf returns the token of a request. Its namespace must be that of the request.
func tokenOf(at string, r withToken) (execution.Token, error) {
	token, err := execution.ParseToken(r.GetTaskToken())
	if err == nil && token.Namespace != at {
		err = serviceerror.NewInvalidArgument("Operation requested with a token from a different namespace.")
	}
	return token, err
}

// ofTask is change for a request with the token of a task.
func ofTask[R any, M interface {
	message[R]
	withToken
}](s *Service, input func(execution.Token, M) execution.Input) verb {
	return change(s, func(r M) (string, execution.Input, error) {
		token, err := tokenOf(r.GetNamespace(), r)
		if err != nil {
			return "", nil, err
		}
		return token.WorkflowID, input(token, r), nil
	})
}

// activityByID is a request that names an activity.
type activityByID interface{ GetWorkflowId() string }

// byID is change for a request that names an activity.
func byID[R any, M interface {
	message[R]
	activityByID
}](s *Service, input func(M) execution.Input) verb {
	return change(s, func(r M) (string, execution.Input, error) { return r.GetWorkflowId(), input(r), nil })
}

// reading is a request that names an execution.
type reading[R any] interface {
	message[R]
	GetExecution() *commonpb.WorkflowExecution
}

// on is a verb about an execution. of says which one.
func on[R any, M message[R]](
	s *Service, of func(M) (workflowID string), answer func(*Service, context.Context, schedule.Key, M) (proto.Message, error),
) verb {
	return func(ctx context.Context, at subjects.Request, data []byte) (proto.Message, error) {
		request, err := decode[R, M](at, data)
		if err != nil {
			return nil, err
		}
		key, err := s.keyOf(at, of(request))
		if err != nil {
			return nil, err
		}
		return answer(s, ctx, key, request)
	}
}

// read is a verb that answers a question about an execution.
func read[R any, M reading[R]](s *Service, answer func(*Service, context.Context, schedule.Key, M) (proto.Message, error)) verb {
	return on(s, func(r M) string { return r.GetExecution().GetWorkflowId() }, answer)
}

// startTask starts a task of the backlog for a poll.
func (s *Service) startTask(ctx context.Context, at subjects.Request, data []byte) (proto.Message, error) {
	start, err := offer.ParseStart(data)
	if err != nil {
		return nil, serviceerror.NewInvalidArgument(err.Error())
	}
	if start.Task.Namespace != at.Namespace {
		return nil, serviceerror.NewInvalidArgument("the request was sent to another namespace than its own")
	}
	key, err := s.keyOf(at, start.Task.WorkflowID)
	if err != nil {
		return nil, err
	}
	return nil, s.start(ctx, key, start, "")
}
