package batch

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/schedule"
)

// work does batch operations. To each execution it does what a request about that execution would do.
type work struct{ *Service }

// Next implements jobs.Work. It returns runs that are meant, in the order of their IDs.
func (w work) Next(ctx context.Context, job *jobs.Job, after string, limit int) ([]string, error) {
	r, of, err := requestOf(job)
	if err != nil {
		return nil, err
	}
	if r.VisibilityQuery == "" {
		return jobs.ItemsAfter(itemsOf(r), after, limit), nil
	}
	if of.Until.IsZero() { // there were none at the start
		return nil, nil
	}
	items, err := w.found(ctx, r, of.Until, after, limit)
	return items, final(err)
}

// Do implements jobs.Work. It does the operation to one execution. One that does not run, or not any more, needs nothing, and
// neither does one without such activities.
func (w work) Do(ctx context.Context, job *jobs.Job, item string) (jobs.ItemResult, error) {
	r, _, err := requestOf(job)
	if err != nil {
		return jobs.ItemResult{}, err
	}
	err = w.operate(ctx, job, r, item)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return jobs.ItemResult{Result: jobs.ItemSkipped, Reason: "there is nothing to do any more"}, nil
	}
	return jobs.ItemResult{}, final(err)
}

func (w work) operate(ctx context.Context, job *jobs.Job, r *workflowservice.StartBatchOperationRequest, item string) error {
	execution, repeat := executionOf(item), request.DerivedID("batch-item/"+job.ID+"/"+item)
	switch of := r.Operation.(type) {
	case *workflowservice.StartBatchOperationRequest_TerminationOperation:
		return w.config.Workflows.Terminate(ctx, &workflowservice.TerminateWorkflowExecutionRequest{
			Namespace: job.Namespace, WorkflowExecution: execution, Reason: r.Reason,
			Details: of.TerminationOperation.GetDetails(), Identity: of.TerminationOperation.GetIdentity(),
		})
	case *workflowservice.StartBatchOperationRequest_CancellationOperation:
		return w.config.Workflows.RequestCancel(ctx, &workflowservice.RequestCancelWorkflowExecutionRequest{
			Namespace: job.Namespace, WorkflowExecution: execution, Reason: r.Reason, RequestId: repeat,
			Identity: of.CancellationOperation.GetIdentity(),
		})
	case *workflowservice.StartBatchOperationRequest_SignalOperation:
		signal := of.SignalOperation
		return w.config.Workflows.Signal(ctx, &workflowservice.SignalWorkflowExecutionRequest{
			Namespace: job.Namespace, WorkflowExecution: execution, SignalName: signal.GetSignal(), Input: signal.GetInput(),
			Header: signal.GetHeader(), Identity: signal.GetIdentity(), RequestId: repeat,
		})
	case *workflowservice.StartBatchOperationRequest_DeletionOperation:
		return w.config.Workflows.Delete(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: job.Namespace, WorkflowExecution: execution,
		})
	case *workflowservice.StartBatchOperationRequest_ResetOperation:
		return w.reset(ctx, job, of.ResetOperation, &workflowservice.ResetWorkflowExecutionRequest{
			Namespace: job.Namespace, WorkflowExecution: execution, Reason: r.Reason, RequestId: repeat,
		})
	case *workflowservice.StartBatchOperationRequest_UnpauseActivitiesOperation:
		return w.config.Workflows.UnpauseActivity(ctx, unpauseRequest(job.Namespace, execution, of.UnpauseActivitiesOperation))
	case *workflowservice.StartBatchOperationRequest_ResetActivitiesOperation:
		return w.config.Workflows.ResetActivity(ctx, resetRequest(job.Namespace, execution, of.ResetActivitiesOperation))
	case *workflowservice.StartBatchOperationRequest_UpdateActivityOptionsOperation:
		return w.config.Workflows.UpdateActivityOptions(ctx, optionsRequest(job.Namespace, execution, of.UpdateActivityOptionsOperation))
	}
	return schedule.Invalid("operation", "%T is not known to this frontend: use terminate, cancel, signal, delete, reset, unpause activities, "+
		"reset activities or update activity options", r.Operation)
}

// final marks an error that another attempt would give again, so that the item is not tried again. The others are those of a request that was
// not carried out, or perhaps not.
func final(err error) error {
	var invalid *serviceerror.InvalidArgument
	var failed *serviceerror.FailedPrecondition
	var missing *serviceerror.NamespaceNotFound
	switch {
	case errors.As(err, &invalid):
		return schedule.Errorf(schedule.CodeInvalidArgument, "%s", invalid.Message)
	case errors.As(err, &failed):
		return schedule.Errorf(schedule.CodeFailedPrecondition, "%s", failed.Message)
	case errors.As(err, &missing):
		return schedule.Errorf(schedule.CodeNotFound, "%s", missing.Message)
	}
	return err
}
