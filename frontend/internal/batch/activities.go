package batch

import (
	"go.temporal.io/api/batch/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// The requests here are about the pending activities of one execution: those of a type, or all. None has an ID by which a repeat is known. To unpause
// activities or to set their options again changes nothing; to reset them again counts their attempts anew once more.

func unpauseRequest(
	namespace string, execution *common.WorkflowExecution, of *batch.BatchOperationUnpauseActivities,
) *workflowservice.UnpauseActivityRequest {
	r := &workflowservice.UnpauseActivityRequest{
		Namespace: namespace, Execution: execution, Identity: of.GetIdentity(), Jitter: of.GetJitter(),
		ResetAttempts: of.GetResetAttempts(), ResetHeartbeat: of.GetResetHeartbeat(),
		Activity: &workflowservice.UnpauseActivityRequest_UnpauseAll{UnpauseAll: of.GetMatchAll()},
	}
	if !of.GetMatchAll() {
		r.Activity = &workflowservice.UnpauseActivityRequest_Type{Type: of.GetType()}
	}
	return r
}

func resetRequest(
	namespace string, execution *common.WorkflowExecution, of *batch.BatchOperationResetActivities,
) *workflowservice.ResetActivityRequest {
	r := &workflowservice.ResetActivityRequest{
		Namespace: namespace, Execution: execution, Identity: of.GetIdentity(), Jitter: of.GetJitter(), ResetHeartbeat: of.GetResetHeartbeat(),
		KeepPaused: of.GetKeepPaused(), RestoreOriginalOptions: of.GetRestoreOriginalOptions(),
		Activity: &workflowservice.ResetActivityRequest_MatchAll{MatchAll: of.GetMatchAll()},
	}
	if !of.GetMatchAll() {
		r.Activity = &workflowservice.ResetActivityRequest_Type{Type: of.GetType()}
	}
	return r
}

func optionsRequest(
	namespace string, execution *common.WorkflowExecution, of *batch.BatchOperationUpdateActivityOptions,
) *workflowservice.UpdateActivityOptionsRequest {
	r := &workflowservice.UpdateActivityOptionsRequest{
		Namespace: namespace, Execution: execution, Identity: of.GetIdentity(), ActivityOptions: of.GetActivityOptions(),
		UpdateMask: of.GetUpdateMask(), RestoreOriginal: of.GetRestoreOriginal(),
		Activity: &workflowservice.UpdateActivityOptionsRequest_MatchAll{MatchAll: of.GetMatchAll()},
	}
	if !of.GetMatchAll() {
		r.Activity = &workflowservice.UpdateActivityOptionsRequest_Type{Type: of.GetType()}
	}
	return r
}
