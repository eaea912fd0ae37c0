package execution

import (
	"testing"

	"github.com/stretchr/testify/require"
	deploymentpb "go.temporal.io/api/deployment/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
)

// overrides are those of a version for a run, by what they say about it.
var overrides = map[string]*workflowpb.VersioningOverride{
	"nothing": {},
	"follow":  {Override: &workflowpb.VersioningOverride_AutoUpgrade{AutoUpgrade: true}},
	"bind": {Override: &workflowpb.VersioningOverride_Pinned{Pinned: &workflowpb.VersioningOverride_PinnedOverride{
		Behavior: workflowpb.VersioningOverride_PINNED_OVERRIDE_BEHAVIOR_PINNED,
		Version:  &deploymentpb.WorkerDeploymentVersion{DeploymentName: "d", BuildId: "b"},
	}}},
	"bind-once": {Override: &workflowpb.VersioningOverride_OneTime{OneTime: &workflowpb.VersioningOverride_OneTimeOverride{
		TargetDeploymentVersion: &deploymentpb.WorkerDeploymentVersion{DeploymentName: "d", BuildId: "b"},
	}}},
	"older-follow": {Behavior: enumspb.VERSIONING_BEHAVIOR_AUTO_UPGRADE},
	"older-bind":   {Behavior: enumspb.VERSIONING_BEHAVIOR_PINNED, PinnedVersion: "d.b"},
}

func TestCheckVersioningOverride(t *testing.T) {
	t.Parallel()
	require.NoError(t, CheckVersioningOverride(nil))
	require.NoError(t, CheckVersioningOverride(overrides["follow"]))
	require.NoError(t, CheckVersioningOverride(overrides["older-follow"]))
	for _, binding := range []string{"bind", "bind-once", "older-bind"} {
		var refused *serviceerror.FailedPrecondition
		require.ErrorAs(t, CheckVersioningOverride(overrides[binding]), &refused, binding)
		require.ErrorContains(t, refused, "worker versioning")
	}
	var empty *serviceerror.InvalidArgument
	require.ErrorAs(t, CheckVersioningOverride(overrides["nothing"]), &empty)
}
