package gateway

import (
	"cmp"
	"context"
	"errors"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// UpdateWorkflowExecution asks the code of an execution for an update, and waits until the update has come as far as the request says, or the time
// for a wait is over. A repeat with the same update ID is the same update.
func (s *workflowService) UpdateWorkflowExecution(
	ctx context.Context, r *workflowservice.UpdateWorkflowExecutionRequest,
) (*workflowservice.UpdateWorkflowExecutionResponse, error) {
	if err := checkUpdate(r); err != nil {
		return nil, err
	}
	workflow := schedule.Key{Namespace: r.Namespace, ID: r.WorkflowExecution.WorkflowId}
	found, err := s.awaitUpdate(ctx, workflow, r.WaitPolicy, func(ctx context.Context) (*updateProgress, error) {
		return asProgress(routeRead[workflowservice.UpdateWorkflowExecutionResponse](ctx, s.Gateway, subjects.VerbUpdate, workflow, r))
	})
	if err != nil {
		return nil, err
	}
	return &workflowservice.UpdateWorkflowExecutionResponse{Stage: found.stage, Outcome: found.outcome, UpdateRef: found.ref}, nil
}

// PollWorkflowExecutionUpdate waits until an update has come as far as the request says, or the time for a wait is over.
func (s *workflowService) PollWorkflowExecutionUpdate(
	ctx context.Context, r *workflowservice.PollWorkflowExecutionUpdateRequest,
) (*workflowservice.PollWorkflowExecutionUpdateResponse, error) {
	of := r.GetUpdateRef().GetWorkflowExecution()
	if err := cmp.Or(checkExecution(of), checkName("UpdateId", r.GetUpdateRef().GetUpdateId())); err != nil {
		return nil, err
	}
	workflow := schedule.Key{Namespace: r.Namespace, ID: of.GetWorkflowId()}
	found, err := s.awaitUpdate(ctx, workflow, r.WaitPolicy, func(ctx context.Context) (*updateProgress, error) {
		return asProgress(routeRead[workflowservice.PollWorkflowExecutionUpdateResponse](ctx, s.Gateway, subjects.VerbPollUpdate, workflow, r))
	})
	if err != nil {
		return nil, err
	}
	return &workflowservice.PollWorkflowExecutionUpdateResponse{Stage: found.stage, Outcome: found.outcome, UpdateRef: found.ref}, nil
}

// ExecuteMultiOperation starts an execution, unless it runs, and asks its code for an update. No other operations go together.
func (s *workflowService) ExecuteMultiOperation(
	ctx context.Context, r *workflowservice.ExecuteMultiOperationRequest,
) (*workflowservice.ExecuteMultiOperationResponse, error) {
	start, asked, err := s.startAndUpdate(ctx, r)
	if err != nil {
		return nil, err
	}
	start.RequestId = cmp.Or(start.RequestId, uuid.NewString())
	all, err := s.updateWithStart(ctx, r, start.WorkflowId, asked.WaitPolicy)
	if !abortedByEnd(all, err) {
		return all, updateFailed(all, err)
	}
	if all, err = s.updateWithStart(ctx, r, start.WorkflowId, asked.WaitPolicy); abortedByEnd(all, err) {
		err = serviceerror.NewAborted(err.Error()) // so that the client tries again
	}
	return all, updateFailed(all, err)
}

// updateWithStart carries out a start and an update, and waits for the update. If there is a response beside the error, both were taken.
func (s *workflowService) updateWithStart(
	ctx context.Context, r *workflowservice.ExecuteMultiOperationRequest, id string, policy *update.WaitPolicy,
) (all *workflowservice.ExecuteMultiOperationResponse, err error) {
	workflow := schedule.Key{Namespace: r.Namespace, ID: id}
	found, err := s.awaitUpdate(ctx, workflow, policy, func(ctx context.Context) (_ *updateProgress, err error) {
		if all, err = routeRead[workflowservice.ExecuteMultiOperationResponse](ctx, s.Gateway, subjects.VerbUpdateWithStart, workflow, r); err != nil {
			return nil, err
		}
		return asProgress(all.Responses[1].GetUpdateWorkflow(), nil)
	})
	if err != nil {
		return all, err
	}
	updated := all.Responses[1].GetUpdateWorkflow()
	updated.Stage, updated.Outcome = found.stage, found.outcome
	return all, nil
}

// abortedByEnd reports whether an update was aborted by the end of a run that was there before the start. Another attempt may begin a run.
func abortedByEnd(all *workflowservice.ExecuteMultiOperationResponse, err error) bool {
	if all == nil || err == nil || all.Responses[0].GetStartWorkflow().GetStarted() {
		return false
	}
	return err.Error() == execution.ErrUpdateAborted.Error()
}

// updateFailed is the error of an update with start if the start went well, and the update did not.
func updateFailed(all *workflowservice.ExecuteMultiOperationResponse, err error) error {
	var refused serviceerror.ServiceError
	if all == nil || !errors.As(err, &refused) {
		return err
	}
	return serviceerror.NewMultiOperationExecution("Update-with-Start could not be executed: "+err.Error(),
		[]error{serviceerror.NewMultiOperationAborted("Operation was aborted."), err})
}

// startAndUpdate returns the operations of a request. The error is MultiOperationExecution if one of them is refused.
func (g *Gateway) startAndUpdate(
	ctx context.Context, r *workflowservice.ExecuteMultiOperationRequest,
) (*workflowservice.StartWorkflowExecutionRequest, *workflowservice.UpdateWorkflowExecutionRequest, error) {
	if len(r.Operations) != 2 || r.Operations[0].GetStartWorkflow() == nil || r.Operations[1].GetUpdateWorkflow() == nil {
		return nil, nil, serviceerror.NewInvalidArgument("Operations have to be exactly [Start, Update].")
	}
	start, asked := r.Operations[0].GetStartWorkflow(), r.Operations[1].GetUpdateWorkflow()
	startErr, updateErr := g.checkStart(ctx, start), checkUpdate(asked)
	switch {
	case start.Namespace != r.Namespace || asked.Namespace != r.Namespace:
		return nil, nil, serviceerror.NewInvalidArgument("the operations are not in the namespace of the request.")
	case startErr == nil && updateErr == nil && asked.WorkflowExecution.WorkflowId != start.WorkflowId:
		updateErr = serviceerror.NewInvalidArgument("WorkflowId is not consistent with previous operation(s)")
	case startErr == nil && start.RequestEagerExecution:
		startErr = serviceerror.NewInvalidArgument("RequestEagerExecution is not supported.")
	case startErr == nil && updateErr == nil && asked.WorkflowExecution.RunId != "":
		updateErr = serviceerror.NewInvalidArgument("RunId cannot be set.")
	}
	if startErr == nil && updateErr == nil {
		return start, asked, nil
	}
	aborted := serviceerror.NewMultiOperationAborted("Operation was aborted.")
	return nil, nil, serviceerror.NewMultiOperationExecution("Update-with-Start could not be executed.",
		[]error{cmp.Or[error](startErr, aborted), cmp.Or[error](updateErr, aborted)})
}

// checkUpdate refuses what no update can be, and fills in what a request leaves open.
func checkUpdate(r *workflowservice.UpdateWorkflowExecutionRequest) error {
	if r.GetRequest().GetMeta() == nil || r.GetRequest().GetInput() == nil {
		return serviceerror.NewInvalidArgument("Request is not complete: Meta and Input have to be set.")
	}
	r.Request.Meta.UpdateId = cmp.Or(r.Request.Meta.UpdateId, uuid.NewString())
	if r.GetWaitPolicy().GetLifecycleStage() == enums.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_UNSPECIFIED {
		r.WaitPolicy = &update.WaitPolicy{LifecycleStage: enums.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED}
	}
	return cmp.Or(
		checkExecution(r.WorkflowExecution), checkRunID(r.FirstExecutionRunId), checkLength("UpdateId", r.Request.Meta.UpdateId),
		checkLength("Identity", r.Request.Meta.Identity),
		checkName("the name of the update", r.Request.Input.Name), checkBlobs(r.Request.Input.Args, r.Request.Input.Header),
	)
}

// updateProgress is how far an update has come.
type updateProgress struct {
	stage   enums.UpdateWorkflowExecutionLifecycleStage
	outcome *update.Outcome
	ref     *update.UpdateRef
}

func asProgress(response interface {
	GetStage() enums.UpdateWorkflowExecutionLifecycleStage
	GetOutcome() *update.Outcome
	GetUpdateRef() *update.UpdateRef
}, err error,
) (*updateProgress, error) {
	if err != nil {
		return nil, err
	}
	return &updateProgress{response.GetStage(), response.GetOutcome(), response.GetUpdateRef()}, nil
}

// awaitUpdate begins by first, and asks the owner until an update has come far enough, or the wait is over. A poll without a policy awaits
// nothing.
func (s *workflowService) awaitUpdate(
	ctx context.Context, workflow schedule.Key, policy *update.WaitPolicy, first func(context.Context) (*updateProgress, error),
) (*updateProgress, error) {
	ask, wanted := first, policy.GetLifecycleStage()
	var last *updateProgress
	err := s.await(ctx, workflow, false, func() (found bool, err error) {
		if last, err = ask(ctx); err != nil {
			return false, err
		}
		ask = func(ctx context.Context) (*updateProgress, error) {
			return asProgress(routeRead[workflowservice.PollWorkflowExecutionUpdateResponse](ctx, s.Gateway, subjects.VerbPollUpdate, workflow,
				&workflowservice.PollWorkflowExecutionUpdateRequest{Namespace: workflow.Namespace, UpdateRef: last.ref}))
		}
		return last.stage >= wanted, nil
	})
	if err != nil {
		return nil, err
	}
	return last, nil
}
