package history

import (
	"context"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/eventpage"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// update admits an update, and answers how far it has come.
func (s *Service) update(
	ctx context.Context, key schedule.Key, r *workflowservice.UpdateWorkflowExecutionRequest,
) (proto.Message, error) {
	_, found, err := s.admit(ctx, key, execution.UpdateWorkflow{Request: r}, r.GetRequest().GetMeta().GetUpdateId())
	if err != nil {
		return nil, err
	}
	return &workflowservice.UpdateWorkflowExecutionResponse{Stage: found.Stage, Outcome: found.Outcome, UpdateRef: found.UpdateRef}, nil
}

// admit lets an input happen that brings an update, and returns its reply and how far the update has come then.
func (s *Service) admit(
	ctx context.Context, key schedule.Key, in execution.Input, id string,
) (reply proto.Message, found *workflowservice.PollWorkflowExecutionUpdateResponse, err error) {
	err = s.with(ctx, key, func(of *slot) (err error) {
		if reply, err = s.change(ctx, of, in); err == nil {
			found, err = s.progress(ctx, of, of.state, id)
		}
		return err
	})
	return reply, found, err
}

// pollUpdate answers how far an update has come.
func (s *Service) pollUpdate(
	ctx context.Context, key schedule.Key, r *workflowservice.PollWorkflowExecutionUpdateRequest,
) (reply proto.Message, err error) {
	update := r.GetUpdateRef()
	err = s.onRun(ctx, key, update.GetWorkflowExecution().GetRunId(), func(of *slot, state *execution.State) (err error) {
		reply, err = s.progress(ctx, of, state, update.GetUpdateId())
		return err
	})
	return reply, err
}

// progress returns how far an update of a run has come. The caller has the turn.
func (s *Service) progress(
	ctx context.Context, of *slot, state *execution.State, id string,
) (*workflowservice.PollWorkflowExecutionUpdateResponse, error) {
	run := state.Run
	found, err := run.FindUpdate(id, s.config.Now())
	if err != nil {
		return nil, err
	}
	if found.Event > 0 {
		p, err := s.page(ctx, of, state, eventpage.Token{RunID: run.ID, Next: found.Event}, found.Event, 1)
		if err != nil {
			return nil, err
		}
		found.Outcome = p.events[0].GetWorkflowExecutionUpdateCompletedEventAttributes().GetOutcome()
	}
	return &workflowservice.PollWorkflowExecutionUpdateResponse{
		Stage: found.Stage, Outcome: found.Outcome, UpdateRef: &updatepb.UpdateRef{
			WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: of.key.ID, RunId: run.ID}, UpdateId: id,
		},
	}, nil
}

// updateWithStart starts an execution, unless there is one, and admits an update.
func (s *Service) updateWithStart(ctx context.Context, at subjects.Request, data []byte) (proto.Message, error) {
	request, err := decode[workflowservice.ExecuteMultiOperationRequest](at, data)
	if err != nil {
		return nil, err
	}
	start, update, err := startAndUpdate(request)
	if err != nil {
		return nil, err
	}
	key, err := s.keyOf(at, start.GetWorkflowId())
	if err != nil {
		return nil, err
	}
	in := execution.UpdateWithStart{
		Start: execution.Start{Request: start, RunID: s.config.NewID()}, Update: execution.UpdateWorkflow{Request: update},
	}
	started, found, err := s.admit(ctx, key, in, update.GetRequest().GetMeta().GetUpdateId())
	if err != nil {
		return nil, err
	}
	return multiOperation(started.(*workflowservice.StartWorkflowExecutionResponse), &workflowservice.UpdateWorkflowExecutionResponse{
		Stage: found.GetStage(), Outcome: found.GetOutcome(), UpdateRef: found.GetUpdateRef(),
	}), nil
}

func startAndUpdate(
	r *workflowservice.ExecuteMultiOperationRequest,
) (*workflowservice.StartWorkflowExecutionRequest, *workflowservice.UpdateWorkflowExecutionRequest, error) {
	if len(r.GetOperations()) != 2 {
		return nil, nil, serviceerror.NewInvalidArgument("Operations have to be exactly [Start, Update].")
	}
	return r.GetOperations()[0].GetStartWorkflow(), r.GetOperations()[1].GetUpdateWorkflow(), nil
}

func multiOperation(
	started *workflowservice.StartWorkflowExecutionResponse, updated *workflowservice.UpdateWorkflowExecutionResponse,
) *workflowservice.ExecuteMultiOperationResponse {
	type response = workflowservice.ExecuteMultiOperationResponse_Response
	return &workflowservice.ExecuteMultiOperationResponse{Responses: []*response{
		{Response: &workflowservice.ExecuteMultiOperationResponse_Response_StartWorkflow{StartWorkflow: started}},
		{Response: &workflowservice.ExecuteMultiOperationResponse_Response_UpdateWorkflow{UpdateWorkflow: updated}},
	}}
}
