package batch

//lint:file-ignore SA1019 clients still use what Temporal has marked as deprecated

import (
	"context"
	"errors"

	"go.temporal.io/api/batch/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/internal/jobs"
)

// Stop ends a batch operation. What it has done stays done.
func (s *Service) Stop(
	ctx context.Context, r *workflowservice.StopBatchOperationRequest,
) (*workflowservice.StopBatchOperationResponse, error) {
	_, err := s.config.Jobs.Cancel(ctx, r.Namespace, jobID(r.Namespace, r.JobId), r.Identity, s.config.Now().UTC())
	switch {
	case errors.Is(err, jobs.ErrNone):
		return nil, errNone(r.JobId)
	case errors.Is(err, jobs.ErrEnded):
		return nil, serviceerror.NewNotFoundf("batch operation %q has ended already", r.JobId)
	case err != nil:
		return nil, err
	}
	s.config.Logger.InfoContext(ctx, "batch operation stopped", "namespace", r.Namespace, "job_id", r.JobId, "identity", r.Identity, "reason", r.Reason)
	return &workflowservice.StopBatchOperationResponse{}, nil
}

func errNone(id string) error {
	return serviceerror.NewNotFoundf("batch operation %q not found; those that have ended are kept for %d days", id, int(jobs.Retention.Hours()/24))
}

// Describe returns a batch operation, and how far it has come.
func (s *Service) Describe(
	ctx context.Context, r *workflowservice.DescribeBatchOperationRequest,
) (*workflowservice.DescribeBatchOperationResponse, error) {
	job, err := s.config.Jobs.Get(ctx, r.Namespace, jobID(r.Namespace, r.JobId))
	if errors.Is(err, jobs.ErrNone) {
		return nil, errNone(r.JobId)
	}
	if err != nil {
		return nil, err
	}
	start, _, err := requestOf(&job)
	if err != nil {
		return nil, err
	}
	complete := job.Done + job.Skipped
	total := max(job.Total, complete+job.Failed)
	if job.Status == jobs.Done { // some were gone before their turn came
		total = complete + job.Failed
	}
	info := infoOf(&job, start)
	return &workflowservice.DescribeBatchOperationResponse{
		OperationType: info.OperationType, JobId: info.JobId, State: info.State, StartTime: info.StartTime, CloseTime: info.CloseTime,
		TotalOperationCount: int64(total), CompleteOperationCount: int64(complete), FailureOperationCount: int64(job.Failed),
		Identity: job.Identity, Reason: start.Reason, Query: start.VisibilityQuery, Executions: namedBy(start),
	}, nil
}

// namedBy returns the executions that a request names, as it has them.
func namedBy(r *workflowservice.StartBatchOperationRequest) []*common.Execution {
	named := r.TargetExecutions
	for _, execution := range r.Executions {
		named = append(named, &common.Execution{
			Type: enums.EXECUTION_TYPE_WORKFLOW, BusinessId: execution.WorkflowId, RunId: execution.RunId,
		})
	}
	return named
}

// infoOf returns what a list shows of a job.
func infoOf(job *jobs.Job, r *workflowservice.StartBatchOperationRequest) *batch.BatchOperationInfo {
	of, _ := operationOf(r)
	info := &batch.BatchOperationInfo{JobId: r.JobId, State: stateOf(job.Status), StartTime: timestamppb.New(job.CreateTime), OperationType: of}
	if job.Ended() {
		info.CloseTime = timestamppb.New(job.EndTime)
	}
	return info
}

// stateOf returns Temporal's word for the state of a job. One that was stopped has failed.
func stateOf(status jobs.Status) enums.BatchOperationState {
	switch status {
	case jobs.Running:
		return enums.BATCH_OPERATION_STATE_RUNNING
	case jobs.Done:
		return enums.BATCH_OPERATION_STATE_COMPLETED
	case jobs.Canceled, jobs.Failed:
	}
	return enums.BATCH_OPERATION_STATE_FAILED
}

// operationOf returns what a request does to each execution, and who asks for it.
func operationOf(r *workflowservice.StartBatchOperationRequest) (of enums.BatchOperationType, identity string) {
	switch operation := r.Operation.(type) {
	case *workflowservice.StartBatchOperationRequest_TerminationOperation:
		return enums.BATCH_OPERATION_TYPE_TERMINATE_WORKFLOW, operation.TerminationOperation.GetIdentity()
	case *workflowservice.StartBatchOperationRequest_CancellationOperation:
		return enums.BATCH_OPERATION_TYPE_CANCEL_WORKFLOW, operation.CancellationOperation.GetIdentity()
	case *workflowservice.StartBatchOperationRequest_SignalOperation:
		return enums.BATCH_OPERATION_TYPE_SIGNAL_WORKFLOW, operation.SignalOperation.GetIdentity()
	case *workflowservice.StartBatchOperationRequest_DeletionOperation:
		return enums.BATCH_OPERATION_TYPE_DELETE_WORKFLOW, operation.DeletionOperation.GetIdentity()
	case *workflowservice.StartBatchOperationRequest_ResetOperation:
		return enums.BATCH_OPERATION_TYPE_RESET_WORKFLOW, operation.ResetOperation.GetIdentity()
	case *workflowservice.StartBatchOperationRequest_UnpauseActivitiesOperation:
		return enums.BATCH_OPERATION_TYPE_UNPAUSE_ACTIVITY, operation.UnpauseActivitiesOperation.GetIdentity()
	case *workflowservice.StartBatchOperationRequest_ResetActivitiesOperation:
		return enums.BATCH_OPERATION_TYPE_RESET_ACTIVITY, operation.ResetActivitiesOperation.GetIdentity()
	case *workflowservice.StartBatchOperationRequest_UpdateActivityOptionsOperation:
		return enums.BATCH_OPERATION_TYPE_UPDATE_ACTIVITY_OPTIONS, operation.UpdateActivityOptionsOperation.GetIdentity()
	}
	return enums.BATCH_OPERATION_TYPE_UNSPECIFIED, ""
}

// List returns one page of the batch operations of a namespace, the newest first.
func (s *Service) List(
	ctx context.Context, r *workflowservice.ListBatchOperationsRequest,
) (*workflowservice.ListBatchOperationsResponse, error) {
	after, err := listing.DecodePageToken(string(r.NextPageToken))
	if err != nil {
		return nil, serviceerror.NewInvalidArgument("Invalid NextPageToken.")
	}
	all, err := s.config.Jobs.ListKind(ctx, r.Namespace, kindPrefix)
	if err != nil {
		return nil, err
	}
	size := listing.DefaultPageSize
	if r.PageSize > 0 {
		size = min(int(r.PageSize), listing.DefaultPageSize)
	}
	page, next := jobs.Page(all, after, size)
	response := &workflowservice.ListBatchOperationsResponse{}
	if next != "" {
		response.NextPageToken = []byte(listing.EncodePageToken(next))
	}
	for i := range page {
		start, _, err := requestOf(&page[i])
		if err != nil {
			return nil, err
		}
		response.OperationInfo = append(response.OperationInfo, infoOf(&page[i], start))
	}
	return response, nil
}
