package gateway

import "go.temporal.io/api/serviceerror"

// missing is a feature of Temporal that Carillon does not have.
type missing struct {
	// feature names it for people.
	feature string
	// sentence is what a client is told. It says what to do instead. SDKs look for the words "not implemented" in it.
	sentence string
	// methods are those that the feature has of its own.
	methods []string
}

const standaloneActivities = "standalone activities are not implemented: start a workflow that runs the activity; for an activity of a workflow, WorkflowId must name the workflow"

// missingFeatures has each method of Temporal's services that is not here.
var missingFeatures = []missing{
	{"standalone activities", standaloneActivities, []string{
		"StartActivityExecution", "DescribeActivityExecution", "PollActivityExecution", "ListActivityExecutions", "CountActivityExecutions",
		"RequestCancelActivityExecution", "TerminateActivityExecution", "DeleteActivityExecution",
	}},
	{"Nexus", "Nexus is not implemented: let a workflow or an activity call the other service", []string{
		"StartNexusOperationExecution", "DescribeNexusOperationExecution", "PollNexusOperationExecution", "ListNexusOperationExecutions",
		"CountNexusOperationExecutions", "RequestCancelNexusOperationExecution", "TerminateNexusOperationExecution", "DeleteNexusOperationExecution",
		"PollNexusTaskQueue", "RespondNexusTaskCompleted", "RespondNexusTaskFailed",
		"CreateNexusEndpoint", "UpdateNexusEndpoint", "DeleteNexusEndpoint", "GetNexusEndpoint", "ListNexusEndpoints",
	}},
	{"worker deployments", "worker deployments are not implemented: give each version of a worker a task queue of its own, " +
		"or keep the versions apart with the patches of the SDK", []string{
		"CreateWorkerDeployment", "DescribeWorkerDeployment", "ListWorkerDeployments", "DeleteWorkerDeployment", "SetWorkerDeploymentManager",
		"CreateWorkerDeploymentVersion", "DescribeWorkerDeploymentVersion", "DeleteWorkerDeploymentVersion",
		"SetWorkerDeploymentCurrentVersion", "SetWorkerDeploymentRampingVersion",
		"UpdateWorkerDeploymentVersionMetadata", "UpdateWorkerDeploymentVersionComputeConfig", "ValidateWorkerDeploymentVersionComputeConfig",
		"DescribeDeployment", "ListDeployments", "GetCurrentDeployment", "SetCurrentDeployment", "GetDeploymentReachability",
	}},
	{"worker versioning by build ID", "worker versioning by build ID is not implemented: give each version of a worker a task queue of its own, " +
		"or keep the versions apart with the patches of the SDK", []string{
		"UpdateWorkerBuildIdCompatibility", "GetWorkerBuildIdCompatibility", "UpdateWorkerVersioningRules", "GetWorkerVersioningRules",
		"GetWorkerTaskReachability",
	}},
	{"pause of executions", "pausing an execution is not implemented: pause its activities, or let the workflow wait for a signal", []string{
		"PauseWorkflowExecution", "UnpauseWorkflowExecution",
	}},
	{"other options of executions", "changing the options of an execution is not implemented: reset it, or cancel it and start it anew", []string{
		"UpdateWorkflowExecutionOptions",
	}},
	{"skipping of time", "skipping time is not implemented: use the test environment of the SDK", []string{"PollWorkflowExecutionTimeSkipping"}},
	{"workflow rules", "workflow rules are not implemented: pause activities by their type, or use a batch operation", []string{
		"CreateWorkflowRule", "DescribeWorkflowRule", "DeleteWorkflowRule", "ListWorkflowRules", "TriggerWorkflowRule",
	}},
	{"settings of task queues", "the settings of a task queue are not implemented: workers set the rate of its activities (TaskQueueActivitiesPerSecond)", []string{
		"UpdateTaskQueueConfig",
	}},
	{"remote settings of workers", "settings of workers are not implemented: set them where the worker is started", []string{
		"FetchWorkerConfig", "UpdateWorkerConfig",
	}},
	{"deprecation and restoring of namespaces", "deprecating and restoring a namespace are not implemented: DeleteNamespace deletes it for good", []string{
		"DeprecateNamespace", "SoftDeleteNamespace", "RestoreNamespace", "DescribeNamespaceRestore",
	}},
	{"remote clusters", "remote clusters are not implemented: a cluster of NATS servers keeps the replicas", []string{
		"AddOrUpdateRemoteCluster", "RemoveRemoteCluster",
	}},
}

// refusals are the answers to the methods of missingFeatures, by the name of the method.
var refusals = refusalsOfMethods()

func refusalsOfMethods() map[string]error {
	all := map[string]error{}
	for _, each := range missingFeatures {
		for _, method := range each.methods {
			all[method] = serviceerror.NewUnimplemented(each.sentence)
		}
	}
	return all
}
