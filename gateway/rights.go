package gateway

import (
	"slices"

	"github.com/carillon-scheduler/carillon/subjects"
)

// need is what a caller needs for a method.
type need struct {
	// anyOf are the rights of which one is enough. Without any, whoever is known may call it.
	anyOf []string
	// everywhere says that a right in the whole installation is meant, and not one in the namespace of the request.
	everywhere bool
}

// The kinds of methods, by what they need.
var (
	forAll        = need{}
	forReaders    = need{anyOf: []string{subjects.RightRead}}
	forWriters    = need{anyOf: []string{subjects.RightWrite}}
	forWorkers    = need{anyOf: []string{subjects.RightWork}}
	forAdmins     = need{anyOf: []string{subjects.RightAdmin}}
	forEach       = need{anyOf: []string{subjects.RightRead, subjects.RightWork, subjects.RightWrite, subjects.RightAdmin}}
	readOrWork    = need{anyOf: []string{subjects.RightRead, subjects.RightWork}}
	readOrWrite   = need{anyOf: []string{subjects.RightRead, subjects.RightWrite}}
	readerOfAll   = need{anyOf: []string{subjects.RightRead}, everywhere: true}
	adminOfAll    = need{anyOf: []string{subjects.RightAdmin}, everywhere: true}
	methodsByNeed = []struct {
		need    need
		methods []string
	}{
		{forAll, []string{"GetSystemInfo", "GetClusterInfo", "GetSearchAttributes"}},
		{forEach, []string{"DescribeNamespace"}},
		{forReaders, []string{
			"ListOpenWorkflowExecutions", "ListClosedWorkflowExecutions", "ListWorkflowExecutions", "ListArchivedWorkflowExecutions",
			"ScanWorkflowExecutions", "CountWorkflowExecutions", "QueryWorkflow", "DescribeWorkflowExecution",
			"GetWorkflowExecutionHistoryReverse", "PollWorkflowExecutionTimeSkipping",
			"DescribeSchedule", "ListScheduleMatchingTimes", "ListSchedules", "CountSchedules",
			"DescribeBatchOperation", "ListBatchOperations", "DescribeWorkflowRule", "ListWorkflowRules",
			"ListWorkers", "CountWorkers", "DescribeWorker",
			"DescribeActivityExecution", "PollActivityExecution", "ListActivityExecutions", "CountActivityExecutions",
			"DescribeNexusOperationExecution", "PollNexusOperationExecution", "ListNexusOperationExecutions", "CountNexusOperationExecutions",
			"DescribeDeployment", "ListDeployments", "GetCurrentDeployment", "GetDeploymentReachability",
			"DescribeWorkerDeployment", "DescribeWorkerDeploymentVersion", "ListWorkerDeployments", "ValidateWorkerDeploymentVersionComputeConfig",
			"GetWorkerBuildIdCompatibility", "GetWorkerVersioningRules", "ListSearchAttributes",
		}},
		// Workers read the history of an execution that they do not have in their cache, and look whether their queue has pollers.
		{readOrWork, []string{"GetWorkflowExecutionHistory", "DescribeTaskQueue", "ListTaskQueuePartitions", "GetWorkerTaskReachability"}},
		{readOrWrite, []string{"PollWorkflowExecutionUpdate"}},
		{forWriters, []string{
			"StartWorkflowExecution", "ExecuteMultiOperation", "RequestCancelWorkflowExecution", "SignalWorkflowExecution",
			"SignalWithStartWorkflowExecution", "ResetWorkflowExecution", "TerminateWorkflowExecution", "DeleteWorkflowExecution",
			"UpdateWorkflowExecution", "UpdateWorkflowExecutionOptions", "PauseWorkflowExecution", "UnpauseWorkflowExecution",
			"CreateSchedule", "UpdateSchedule", "PatchSchedule", "DeleteSchedule", "StartBatchOperation", "StopBatchOperation",
			"UpdateActivityOptions", "PauseActivity", "UnpauseActivity", "ResetActivity", "TriggerWorkflowRule",
			"StartActivityExecution", "RequestCancelActivityExecution", "TerminateActivityExecution", "DeleteActivityExecution",
			"PauseActivityExecution", "ResetActivityExecution", "UnpauseActivityExecution", "UpdateActivityExecutionOptions",
			"StartNexusOperationExecution", "RequestCancelNexusOperationExecution", "TerminateNexusOperationExecution",
			"DeleteNexusOperationExecution",
		}},
		// A task token can be guessed, so a right to one task queue would fence nobody: this one is about all queues of the namespace.
		{forWorkers, []string{
			"PollWorkflowTaskQueue", "RespondWorkflowTaskCompleted", "RespondWorkflowTaskFailed", "PollActivityTaskQueue",
			"RecordActivityTaskHeartbeat", "RecordActivityTaskHeartbeatById", "RespondActivityTaskCompleted", "RespondActivityTaskCompletedById",
			"RespondActivityTaskFailed", "RespondActivityTaskFailedById", "RespondActivityTaskCanceled", "RespondActivityTaskCanceledById",
			"RespondQueryTaskCompleted", "ResetStickyTaskQueue", "ShutdownWorker", "RecordWorkerHeartbeat", "FetchWorkerConfig",
			"PollNexusTaskQueue", "RespondNexusTaskCompleted", "RespondNexusTaskFailed",
		}},
		{forAdmins, []string{
			"RegisterNamespace", "UpdateNamespace", "DeprecateNamespace", "DeleteNamespace", "SoftDeleteNamespace", "RestoreNamespace",
			"DescribeNamespaceRestore", "AddSearchAttributes", "RemoveSearchAttributes",
			"CreateWorkflowRule", "DeleteWorkflowRule", "UpdateTaskQueueConfig", "UpdateWorkerConfig",
			"UpdateWorkerBuildIdCompatibility", "UpdateWorkerVersioningRules", "SetCurrentDeployment",
			"CreateWorkerDeployment", "DeleteWorkerDeployment", "CreateWorkerDeploymentVersion", "DeleteWorkerDeploymentVersion",
			"SetWorkerDeploymentCurrentVersion", "SetWorkerDeploymentRampingVersion", "SetWorkerDeploymentManager",
			"UpdateWorkerDeploymentVersionComputeConfig", "UpdateWorkerDeploymentVersionMetadata",
		}},
		{readerOfAll, []string{"ListNamespaces", "ListClusters", "GetNexusEndpoint", "ListNexusEndpoints"}},
		{adminOfAll, []string{
			"AddOrUpdateRemoteCluster", "RemoveRemoteCluster", "CreateNexusEndpoint", "UpdateNexusEndpoint", "DeleteNexusEndpoint",
		}},
	}
	needs = needsOfMethods()
)

// The methods for which a standby does not follow from the rights whether it answers them: those that need workers, the backlogs, or the role archival,
// which are where the installation is active; and those by which workers wait for that site to be this one. They store nothing.
var (
	needActive  = []string{"QueryWorkflow", "DescribeTaskQueue", "ListArchivedWorkflowExecutions"}
	workersWait = []string{"PollWorkflowTaskQueue", "PollActivityTaskQueue", "RecordWorkerHeartbeat", "ShutdownWorker"}
)

// runsAtStandby reports whether a standby answers a method: whatever a caller with the right to read may call. A poll waits, and gets no task.
func runsAtStandby(method string) bool {
	needed, known := needs[method]
	isRead := known && (len(needed.anyOf) == 0 || slices.Contains(needed.anyOf, subjects.RightRead))
	return isRead && !slices.Contains(needActive, method) || slices.Contains(workersWait, method)
}

func needsOfMethods() map[string]need {
	all := map[string]need{}
	for _, each := range methodsByNeed {
		for _, method := range each.methods {
			all[method] = each.need
		}
	}
	return all
}
