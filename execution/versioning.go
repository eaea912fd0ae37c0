package execution

import (
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
)

// Worker versioning is not here: all workers of a task queue are alike. What a client or a worker says about versions is refused if it would decide
// who gets a task, and else makes no difference.

// CheckVersioningOverride refuses an override for a run that would bind it to a version of its workers: FailedPrecondition, as in Temporal if no
// worker has that version. Without an override, and with one that follows the current version, there is nothing to refuse. An override that says
// nothing is an InvalidArgument.
func CheckVersioningOverride(override *workflowpb.VersioningOverride) error {
	behavior := override.GetBehavior() //lint:ignore SA1019 clients still send it
	switch {
	case override == nil, override.GetAutoUpgrade(), behavior == enumspb.VERSIONING_BEHAVIOR_AUTO_UPGRADE:
		return nil
	case override.GetPinned() != nil, override.GetOneTime() != nil, behavior == enumspb.VERSIONING_BEHAVIOR_PINNED:
		return serviceerror.NewFailedPrecondition("VersioningOverride binds the execution to a version of its workers, and worker versioning is not " +
			"implemented: leave it out, or use auto_upgrade")
	}
	return serviceerror.NewInvalidArgument("VersioningOverride says nothing: leave it out, or use auto_upgrade")
}

// compatible is what is wrong with a command that wants a worker of the version of this one, but from another task queue. It is empty if nothing
// is. Workers of one queue are alike, so from the queue of the workflow any worker will do.
func (tx *transition) compatible(asked interface{ GetTaskQueue() *taskqueuepb.TaskQueue }, isWanted bool) string {
	name := asked.GetTaskQueue().GetName()
	if !isWanted || name == "" || name == tx.run.Attributes.GetTaskQueue().GetName() {
		return ""
	}
	return "a compatible version is only to be had in the task queue of the workflow: use the default version for task queue " + name
}
