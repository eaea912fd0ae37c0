package gateway

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// StartWorkflowExecution starts an execution.
func (s *workflowService) StartWorkflowExecution(
	ctx context.Context, r *workflowservice.StartWorkflowExecutionRequest,
) (*workflowservice.StartWorkflowExecutionResponse, error) {
	if err := s.checkStart(ctx, r); err != nil {
		return nil, err
	}
	r.RequestId = cmp.Or(r.RequestId, uuid.NewString())
	return route[workflowservice.StartWorkflowExecutionResponse](ctx, s.Gateway, subjects.VerbStart, schedule.Key{Namespace: r.Namespace, ID: r.WorkflowId}, r)
}

// checkStart refuses what no start can be, and completes its search attributes.
func (g *Gateway) checkStart(ctx context.Context, r *workflowservice.StartWorkflowExecutionRequest) error {
	err := cmp.Or(
		checkCommon(r), checkName("WorkflowId", r.WorkflowId), checkName("WorkflowType", r.GetWorkflowType().GetName()), checkQueue(r.TaskQueue),
		checkLength("RequestId", r.RequestId), checkBlobs(r.Input, r.LastCompletionResult, r.Header), checkMemo(r.Memo),
		checkPolicies(r.WorkflowIdReusePolicy, r.WorkflowIdConflictPolicy), execution.CheckVersioningOverride(r.VersioningOverride),
	)
	if err != nil {
		return err
	}
	return g.completeAttributes(ctx, r.Namespace, r.SearchAttributes)
}

// SignalWithStartWorkflowExecution signals an execution, and starts it first if it does not run.
func (s *workflowService) SignalWithStartWorkflowExecution(
	ctx context.Context, r *workflowservice.SignalWithStartWorkflowExecutionRequest,
) (*workflowservice.SignalWithStartWorkflowExecutionResponse, error) {
	err := cmp.Or(
		checkName("WorkflowId", r.WorkflowId), checkName("SignalName", r.SignalName),
		checkName("WorkflowType", r.GetWorkflowType().GetName()), checkQueue(r.TaskQueue),
		checkLength("RequestId", r.RequestId), checkBlobs(r.Input, r.SignalInput, r.Header), checkMemo(r.Memo),
		checkPolicies(r.WorkflowIdReusePolicy, r.WorkflowIdConflictPolicy), execution.CheckVersioningOverride(r.VersioningOverride),
	)
	if err != nil {
		return nil, err
	}
	if r.WorkflowIdConflictPolicy == enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL {
		return nil, serviceerror.NewInvalidArgument("WorkflowIdConflictPolicy Fail is not possible with a signal.")
	}
	if err := s.completeAttributes(ctx, r.Namespace, r.SearchAttributes); err != nil {
		return nil, err
	}
	r.RequestId = cmp.Or(r.RequestId, uuid.NewString())
	return route[workflowservice.SignalWithStartWorkflowExecutionResponse](
		ctx, s.Gateway, subjects.VerbSignalWithStart, schedule.Key{Namespace: r.Namespace, ID: r.WorkflowId}, r)
}

// SignalWorkflowExecution signals an execution.
func (s *workflowService) SignalWorkflowExecution(
	ctx context.Context, r *workflowservice.SignalWorkflowExecutionRequest,
) (*workflowservice.SignalWorkflowExecutionResponse, error) {
	err := cmp.Or(
		checkExecution(r.WorkflowExecution), checkName("SignalName", r.SignalName), checkLength("RequestId", r.RequestId),
		checkBlobs(r.Input, r.Header),
	)
	if err != nil {
		return nil, err
	}
	return route[workflowservice.SignalWorkflowExecutionResponse](
		ctx, s.Gateway, subjects.VerbSignal, schedule.Key{Namespace: r.Namespace, ID: r.WorkflowExecution.WorkflowId}, r)
}

// RequestCancelWorkflowExecution asks an execution to end.
func (s *workflowService) RequestCancelWorkflowExecution(
	ctx context.Context, r *workflowservice.RequestCancelWorkflowExecutionRequest,
) (*workflowservice.RequestCancelWorkflowExecutionResponse, error) {
	err := cmp.Or(checkExecution(r.WorkflowExecution), checkRunID(r.FirstExecutionRunId), checkLength("RequestId", r.RequestId))
	if err != nil {
		return nil, err
	}
	return route[workflowservice.RequestCancelWorkflowExecutionResponse](
		ctx, s.Gateway, subjects.VerbRequestCancel, schedule.Key{Namespace: r.Namespace, ID: r.WorkflowExecution.WorkflowId}, r)
}

// TerminateWorkflowExecution ends an execution.
func (s *workflowService) TerminateWorkflowExecution(
	ctx context.Context, r *workflowservice.TerminateWorkflowExecutionRequest,
) (*workflowservice.TerminateWorkflowExecutionResponse, error) {
	err := cmp.Or(checkExecution(r.WorkflowExecution), checkRunID(r.FirstExecutionRunId), checkBlobs(r.Details))
	if err != nil {
		return nil, err
	}
	return route[workflowservice.TerminateWorkflowExecutionResponse](
		ctx, s.Gateway, subjects.VerbTerminate, schedule.Key{Namespace: r.Namespace, ID: r.WorkflowExecution.WorkflowId}, r)
}

// DeleteWorkflowExecution removes a run, and ends it first if it is in progress.
func (s *workflowService) DeleteWorkflowExecution(
	ctx context.Context, r *workflowservice.DeleteWorkflowExecutionRequest,
) (*workflowservice.DeleteWorkflowExecutionResponse, error) {
	if err := checkExecution(r.WorkflowExecution); err != nil {
		return nil, err
	}
	return route[workflowservice.DeleteWorkflowExecutionResponse](
		ctx, s.Gateway, subjects.VerbDelete, schedule.Key{Namespace: r.Namespace, ID: r.WorkflowExecution.WorkflowId}, r)
}

// ResetWorkflowExecution lets an execution go on from an earlier point, in a new run.
func (s *workflowService) ResetWorkflowExecution(
	ctx context.Context, r *workflowservice.ResetWorkflowExecutionRequest,
) (*workflowservice.ResetWorkflowExecutionResponse, error) {
	kind := r.GetResetReapplyType() //lint:ignore SA1019 clients still send it
	err := cmp.Or(checkExecution(r.WorkflowExecution), checkName("RequestId", r.RequestId), checkReapply(int32(kind), r.GetResetReapplyExcludeTypes()))
	if err != nil {
		return nil, err
	}
	return route[workflowservice.ResetWorkflowExecutionResponse](
		ctx, s.Gateway, subjects.VerbReset, schedule.Key{Namespace: r.Namespace, ID: r.WorkflowExecution.WorkflowId}, r)
}

// checkReapply refuses what no reset can ask to apply again.
func checkReapply(kind int32, excluded []enums.ResetReapplyExcludeType) error {
	if _, known := enums.ResetReapplyType_name[kind]; !known {
		return serviceerror.NewInvalidArgument(fmt.Sprintf("ResetReapplyType is %d: it must be from 0 to %d.", kind, len(enums.ResetReapplyType_name)-1))
	}
	for _, kind := range excluded {
		if _, known := enums.ResetReapplyExcludeType_name[int32(kind)]; !known {
			return serviceerror.NewInvalidArgument(fmt.Sprintf(
				"ResetReapplyExcludeTypes has %d: each must be from 0 to %d.", kind, len(enums.ResetReapplyExcludeType_name)-1))
		}
	}
	return nil
}

// DescribeWorkflowExecution describes an execution.
func (s *workflowService) DescribeWorkflowExecution(
	ctx context.Context, r *workflowservice.DescribeWorkflowExecutionRequest,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if err := checkExecution(r.Execution); err != nil {
		return nil, err
	}
	described, err := routeRead[workflowservice.DescribeWorkflowExecutionResponse](
		ctx, s.Gateway, subjects.VerbDescribe, schedule.Key{Namespace: r.Namespace, ID: r.Execution.WorkflowId}, r)
	if info := described.GetWorkflowExecutionInfo(); info.GetParentExecution() != nil {
		info.ParentNamespaceId = s.identify(r.Namespace) // parents are in the namespaces of their children
	}
	return described, err
}

// ResetStickyTaskQueue makes an execution forget the worker that has it in its cache.
func (s *workflowService) ResetStickyTaskQueue(
	ctx context.Context, r *workflowservice.ResetStickyTaskQueueRequest,
) (*workflowservice.ResetStickyTaskQueueResponse, error) {
	if err := checkExecution(r.Execution); err != nil {
		return nil, err
	}
	return route[workflowservice.ResetStickyTaskQueueResponse](
		ctx, s.Gateway, subjects.VerbResetSticky, schedule.Key{Namespace: r.Namespace, ID: r.Execution.WorkflowId}, r)
}
