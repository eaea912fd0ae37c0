package gateway

//lint:file-ignore SA1019 clients still use what Temporal has marked as deprecated

import (
	"cmp"
	"context"
	"math"

	"go.temporal.io/api/batch/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/subjects"
)

// The methods here are about batch operations: one request for many executions. A frontend with a search index answers, and the frontends carry
// the operation out in the background.

var errNoReason = serviceerror.NewInvalidArgument("Reason is not set on request.")

// StartBatchOperation starts a batch operation. A repeat of the request changes nothing.
func (s *workflowService) StartBatchOperation(
	ctx context.Context, r *workflowservice.StartBatchOperationRequest,
) (*workflowservice.StartBatchOperationResponse, error) {
	if err := cmp.Or(checkBatch(r), checkOperation(r), checkTargets(r)); err != nil {
		return nil, err
	}
	response := &workflowservice.StartBatchOperationResponse{}
	return response, s.askIndex(ctx, r.Namespace, subjects.VerbStartBatch, r, response)
}

// checkBatch refuses a request that lacks something, or has two things of which it may have one.
func checkBatch(r *workflowservice.StartBatchOperationRequest) error {
	targets := 0
	for _, given := range []bool{r.VisibilityQuery != "", len(r.Executions) > 0, len(r.TargetExecutions) > 0} {
		if given {
			targets++
		}
	}
	switch {
	case r.Operation == nil, r.Reason == "", targets == 0:
		return serviceerror.NewInvalidArgument(
			"must provide required parameters: BatchType,Reason,Namespace, AND one of (Query OR Executions OR TargetExecutions)")
	case targets > 1:
		return serviceerror.NewInvalidArgument("visibility query, executions, and target executions are mutually exclusive")
	case !(r.MaxOperationsPerSecond >= 0) || math.IsInf(float64(r.MaxOperationsPerSecond), 1): // NaN is neither
		return serviceerror.NewInvalidArgument("MaxOperationsPerSecond must be 0, for the default, or greater.")
	}
	return cmp.Or(checkName("JobId", r.JobId), checkLength("Reason", r.Reason))
}

// checkTargets refuses what names no execution of a workflow.
func checkTargets(r *workflowservice.StartBatchOperationRequest) error {
	for _, execution := range r.Executions {
		if err := checkExecution(execution); err != nil {
			return err
		}
	}
	for i, execution := range r.TargetExecutions {
		if execution.GetType() != enums.EXECUTION_TYPE_WORKFLOW {
			return serviceerror.NewInvalidArgumentf("target_executions[%d] has type %v, and only %v is possible",
				i, execution.GetType(), enums.EXECUTION_TYPE_WORKFLOW)
		}
		if err := checkExecution(&common.WorkflowExecution{WorkflowId: execution.BusinessId, RunId: execution.RunId}); err != nil {
			return err
		}
	}
	return nil
}

// checkOperation refuses an operation for which there is no request about one execution.
func checkOperation(r *workflowservice.StartBatchOperationRequest) error {
	kind := ""
	switch of := r.Operation.(type) {
	case *workflowservice.StartBatchOperationRequest_TerminationOperation:
		return cmp.Or(checkLength("Identity", of.TerminationOperation.GetIdentity()), checkBlobs(of.TerminationOperation.GetDetails()))
	case *workflowservice.StartBatchOperationRequest_CancellationOperation:
		return checkLength("Identity", of.CancellationOperation.GetIdentity())
	case *workflowservice.StartBatchOperationRequest_SignalOperation:
		signal := of.SignalOperation
		return cmp.Or(checkName("SignalName", signal.GetSignal()), checkLength("Identity", signal.GetIdentity()),
			checkBlobs(signal.GetInput(), signal.GetHeader()))
	case *workflowservice.StartBatchOperationRequest_DeletionOperation:
		return checkLength("Identity", of.DeletionOperation.GetIdentity())
	case *workflowservice.StartBatchOperationRequest_ResetOperation:
		return checkBatchReset(of.ResetOperation)
	case *workflowservice.StartBatchOperationRequest_UnpauseActivitiesOperation:
		return checkBatchActivities(of.UnpauseActivitiesOperation)
	case *workflowservice.StartBatchOperationRequest_ResetActivitiesOperation:
		return checkBatchActivities(of.ResetActivitiesOperation)
	case *workflowservice.StartBatchOperationRequest_UpdateActivityOptionsOperation:
		return cmp.Or(checkBatchActivities(of.UpdateActivityOptionsOperation), checkBatchOptions(of.UpdateActivityOptionsOperation))
	case *workflowservice.StartBatchOperationRequest_UpdateWorkflowOptionsOperation:
		kind = "update workflow options"
	case *workflowservice.StartBatchOperationRequest_CancelActivitiesOperation:
		kind = "cancel activities"
	case *workflowservice.StartBatchOperationRequest_TerminateActivitiesOperation:
		kind = "terminate activities"
	case *workflowservice.StartBatchOperationRequest_DeleteActivitiesOperation:
		kind = "delete activities"
	}
	return serviceerror.NewUnimplementedf("batch operation %q is not implemented: use terminate, cancel, signal, delete, reset, "+
		"unpause activities, reset activities or update activity options", kind)
}

// checkBatchReset refuses a reset without a point.
func checkBatchReset(of *batch.BatchOperationReset) error {
	options, reapplied, hasTarget := of.GetOptions(), of.GetResetReapplyType(), of.GetResetType() != enums.RESET_TYPE_UNSPECIFIED
	if options != nil {
		reapplied, hasTarget = options.ResetReapplyType, options.Target != nil
	}
	if !hasTarget {
		return serviceerror.NewInvalidArgument(
			"ResetOperation.Options.Target is not set on request: use the first or the last workflow task, the ID of one, or a build ID")
	}
	return cmp.Or(checkLength("Identity", of.GetIdentity()), checkReapply(int32(reapplied), options.GetResetReapplyExcludeTypes()))
}

// StopBatchOperation ends a batch operation. What it has done stays done.
func (s *workflowService) StopBatchOperation(
	ctx context.Context, r *workflowservice.StopBatchOperationRequest,
) (*workflowservice.StopBatchOperationResponse, error) {
	if err := cmp.Or(checkName("JobId", r.JobId), checkLength("Reason", r.Reason), checkLength("Identity", r.Identity)); err != nil {
		return nil, err
	}
	if r.Reason == "" {
		return nil, errNoReason
	}
	response := &workflowservice.StopBatchOperationResponse{}
	return response, s.askIndex(ctx, r.Namespace, subjects.VerbStopBatch, r, response)
}

// DescribeBatchOperation describes a batch operation, and says how far it has come.
func (s *workflowService) DescribeBatchOperation(
	ctx context.Context, r *workflowservice.DescribeBatchOperationRequest,
) (*workflowservice.DescribeBatchOperationResponse, error) {
	if err := checkName("JobId", r.JobId); err != nil {
		return nil, err
	}
	response := &workflowservice.DescribeBatchOperationResponse{}
	return response, s.askIndex(ctx, r.Namespace, subjects.VerbDescribeBatch, r, response)
}

// ListBatchOperations returns a page of the batch operations of a namespace, the newest first.
func (s *workflowService) ListBatchOperations(
	ctx context.Context, r *workflowservice.ListBatchOperationsRequest,
) (*workflowservice.ListBatchOperationsResponse, error) {
	response := &workflowservice.ListBatchOperationsResponse{}
	return response, s.askIndex(ctx, r.Namespace, subjects.VerbListBatches, r, response)
}
