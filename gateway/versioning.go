package gateway

//lint:file-ignore SA1019 clients still use what Temporal has marked as deprecated

import (
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
)

// The errors of versioned workers. Such a worker must not get tasks as if it were another one: executions that are pinned to an older version would
// run in its code. With InvalidArgument, SDKs end the worker after some minutes, rather than let it try forever.
var (
	errVersionedDeployment = serviceerror.NewInvalidArgument("DeploymentOptions.WorkerVersioningMode is VERSIONED, and worker versioning is not " +
		"implemented: use UNVERSIONED, and give each version of the worker a task queue of its own")
	errVersionedBuildID = serviceerror.NewInvalidArgument("WorkerVersionCapabilities.UseVersioning is true, and worker versioning is not " +
		"implemented: use false, and give each version of the worker a task queue of its own")
	errVersionedCode = serviceerror.NewInvalidArgument("VersioningBehavior is set, and worker versioning is not implemented: leave it unspecified")
)

// checkUnversioned refuses a worker that wants only tasks for its version. One that merely tells its build ID is welcome.
func checkUnversioned(capabilities *common.WorkerVersionCapabilities, options *deployment.WorkerDeploymentOptions) error {
	switch {
	case options.GetWorkerVersioningMode() == enums.WORKER_VERSIONING_MODE_VERSIONED:
		return errVersionedDeployment
	case capabilities.GetUseVersioning():
		return errVersionedBuildID
	}
	return nil
}

// checkCompletion refuses a completed workflow task that binds the execution to the version of its worker.
func checkCompletion(r *workflowservice.RespondWorkflowTaskCompletedRequest) error {
	if r.GetVersioningBehavior() != enums.VERSIONING_BEHAVIOR_UNSPECIFIED {
		return errVersionedCode
	}
	return checkUnversioned(nil, r.GetDeploymentOptions())
}
