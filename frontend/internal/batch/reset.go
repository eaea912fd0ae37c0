package batch

//lint:file-ignore SA1019 clients still use what Temporal has marked as deprecated

import (
	"context"

	"go.temporal.io/api/batch/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/internal/workflows"
)

// reset resets an execution to the point that the operation describes.
func (w work) reset(
	ctx context.Context, job *jobs.Job, of *batch.BatchOperationReset, request *workflowservice.ResetWorkflowExecutionRequest,
) error {
	options := optionsOf(of)
	point, err := w.pointOf(ctx, job.Namespace, request.WorkflowExecution, options)
	if err != nil {
		return err
	}
	request.WorkflowTaskFinishEventId = point
	request.ResetReapplyType, request.ResetReapplyExcludeTypes = options.ResetReapplyType, options.ResetReapplyExcludeTypes
	request.Identity, request.PostResetOperations = of.Identity, of.PostResetOperations
	return w.config.Workflows.Reset(ctx, request)
}

// optionsOf returns what an operation says of each reset, also in the words of older clients.
func optionsOf(of *batch.BatchOperationReset) *common.ResetOptions {
	if of.Options != nil {
		return of.Options
	}
	options := &common.ResetOptions{ResetReapplyType: of.ResetReapplyType}
	switch of.ResetType {
	case enums.RESET_TYPE_FIRST_WORKFLOW_TASK:
		options.Target = &common.ResetOptions_FirstWorkflowTask{}
	case enums.RESET_TYPE_LAST_WORKFLOW_TASK:
		options.Target = &common.ResetOptions_LastWorkflowTask{}
	case enums.RESET_TYPE_UNSPECIFIED:
	}
	return options
}

// pointOf returns the event to which an execution is to be reset. A build ID may lead to an earlier run, which the execution then names.
func (w work) pointOf(ctx context.Context, namespace string, execution *common.WorkflowExecution, options *common.ResetOptions) (int64, error) {
	switch target := options.Target.(type) {
	case *common.ResetOptions_FirstWorkflowTask:
		return workflows.FirstTask(ctx, namespace, execution, w.config.Workflows.History)
	case *common.ResetOptions_LastWorkflowTask:
		return workflows.LastTask(ctx, namespace, execution, w.config.Workflows.HistoryReverse)
	case *common.ResetOptions_WorkflowTaskId:
		return target.WorkflowTaskId, nil
	case *common.ResetOptions_BuildId:
		return w.buildPoint(ctx, namespace, execution, options, target.BuildId)
	}
	return 0, serviceerror.NewInvalidArgument("the reset has no target: use the first or the last workflow task, the ID of one, or a build ID")
}

// buildPoint returns the first event that code with a build ID has completed, in this run or one before it.
func (w work) buildPoint(
	ctx context.Context, namespace string, execution *common.WorkflowExecution, of *common.ResetOptions, build string,
) (int64, error) {
	d, err := w.config.Workflows.Describe(ctx, &workflowservice.DescribeWorkflowExecutionRequest{Namespace: namespace, Execution: execution})
	if err != nil {
		return 0, err
	}
	for _, point := range d.WorkflowExecutionInfo.GetAutoResetPoints().GetPoints() {
		switch {
		case point.BuildId != build:
			continue
		case !point.Resettable:
			return 0, serviceerror.NewFailedPreconditionf("the point of build ID %q cannot be reset to", build)
		case of.CurrentRunOnly && point.RunId != d.WorkflowExecutionInfo.GetExecution().GetRunId():
			return 0, serviceerror.NewFailedPreconditionf("build ID %q is that of an earlier run, and only this one may be reset", build)
		}
		execution.RunId = point.RunId
		return point.FirstWorkflowTaskCompletedId, nil
	}
	return 0, serviceerror.NewFailedPreconditionf("no workflow task was completed by build ID %q", build)
}
