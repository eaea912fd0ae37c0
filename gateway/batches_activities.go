package gateway

import (
	"cmp"

	"go.temporal.io/api/batch/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/types/known/durationpb"
)

// batchOfActivities is a batch operation on the pending activities of each execution: those of a type, or all.
type batchOfActivities interface {
	GetIdentity() string
	GetType() string
	GetMatchAll() bool
}

// checkBatchActivities refuses an operation that names no activities, or that cannot be carried out.
func checkBatchActivities(of batchOfActivities) error {
	if of.GetType() == "" && !of.GetMatchAll() {
		return serviceerror.NewInvalidArgument("Either activity type must be set, or match all should be set to true")
	}
	if waits, ok := of.(interface{ GetJitter() *durationpb.Duration }); ok && waits.GetJitter().AsDuration() < 0 {
		return serviceerror.NewInvalidArgument("Jitter is negative.")
	}
	return cmp.Or(checkLength("ActivityType", of.GetType()), checkLength("Identity", of.GetIdentity()))
}

// checkBatchOptions refuses an operation that changes no options, or changes them and takes the changes back.
func checkBatchOptions(of *batch.BatchOperationUpdateActivityOptions) error {
	options, paths, restores := of.GetActivityOptions(), of.GetUpdateMask().GetPaths(), of.GetRestoreOriginal()
	switch {
	case restores && len(paths) > 0: // clients send options without a mask with it
		return serviceerror.NewInvalidArgument("Both UpdateMask and RestoreOriginal are provided.")
	case !restores && options == nil:
		return serviceerror.NewInvalidArgument("ActivityOptions are not provided: set them, or RestoreOriginal to true")
	case !restores && len(paths) == 0:
		return serviceerror.NewInvalidArgument("UpdateMask is not provided: it names the options to change")
	}
	return checkLength("TaskQueue", options.GetTaskQueue().GetName())
}
