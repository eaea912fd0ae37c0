package gateway_test

//lint:file-ignore SA1019 clients still use what Temporal has marked as deprecated

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/offer"
)

// TestVersionedWorkersAreRefused: a worker that wants tasks for its version gets none, and learns why.
func TestVersionedWorkersAreRefused(t *testing.T) {
	t.Parallel()
	in := install(t)
	old := &common.WorkerVersionCapabilities{BuildId: "b1", UseVersioning: true}
	versioned := &deployment.WorkerDeploymentOptions{
		DeploymentName: "d", BuildId: "b1", WorkerVersioningMode: enums.WORKER_VERSIONING_MODE_VERSIONED,
	}
	for _, sticky := range []bool{false, true} {
		queue := &taskqueue.TaskQueue{Name: "q"}
		if sticky {
			queue = &taskqueue.TaskQueue{Name: "sticky", Kind: enums.TASK_QUEUE_KIND_STICKY, NormalName: "q"}
		}
		_, err := in.PollWorkflowTaskQueue(t.Context(), &workflowservice.PollWorkflowTaskQueueRequest{
			Namespace: "default", TaskQueue: queue, WorkerVersionCapabilities: old,
		})
		requireNoVersions(t, err, "WorkerVersionCapabilities.UseVersioning")
		_, err = in.PollWorkflowTaskQueue(t.Context(), &workflowservice.PollWorkflowTaskQueueRequest{
			Namespace: "default", TaskQueue: queue, DeploymentOptions: versioned,
		})
		requireNoVersions(t, err, "DeploymentOptions.WorkerVersioningMode")
	}
	_, err := in.PollActivityTaskQueue(t.Context(), &workflowservice.PollActivityTaskQueueRequest{
		Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: "q"}, WorkerVersionCapabilities: old,
	})
	requireNoVersions(t, err, "WorkerVersionCapabilities.UseVersioning")
	_, err = in.PollActivityTaskQueue(t.Context(), &workflowservice.PollActivityTaskQueueRequest{
		Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: "q"}, DeploymentOptions: versioned,
	})
	requireNoVersions(t, err, "DeploymentOptions.WorkerVersioningMode")
}

// requireNoVersions: SDKs end a worker that gets an InvalidArgument for long.
func requireNoVersions(t *testing.T, err error, field string) {
	t.Helper()
	var invalid *serviceerror.InvalidArgument
	require.ErrorAs(t, err, &invalid)
	assert.Contains(t, invalid.Message, field)
	assert.Contains(t, invalid.Message, "worker versioning is not implemented")
}

// TestWorkersMayTellTheirBuildID: it is for people, whether or not there is a name of a deployment beside it.
func TestWorkersMayTellTheirBuildID(t *testing.T) {
	t.Parallel()
	in := install(t)
	o := in.offerer()
	for _, options := range []*deployment.WorkerDeploymentOptions{
		{BuildId: "b1"},
		{BuildId: "b1", DeploymentName: "d", WorkerVersioningMode: enums.WORKER_VERSIONING_MODE_UNVERSIONED},
	} {
		polled := make(chan error, 1)
		go func() {
			got, err := in.PollWorkflowTaskQueue(t.Context(), &workflowservice.PollWorkflowTaskQueueRequest{
				Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: "q"}, DeploymentOptions: options,
				WorkerVersionCapabilities: &common.WorkerVersionCapabilities{BuildId: "b1"},
			})
			assert.Equal(t, "token", string(got.GetTaskToken()))
			polled <- err
		}()
		poller := in.hand(o, queueOf(offer.Workflow, "q"), &workflowservice.PollWorkflowTaskQueueResponse{TaskToken: []byte("token")})
		assert.Equal(t, "b1", poller.BuildID)
		require.NoError(t, <-polled)
	}
}

// TestVersionedCompletionsAreRefused: no execution is bound to the version of a worker.
func TestVersionedCompletionsAreRefused(t *testing.T) {
	t.Parallel()
	in := install(t)
	requests := in.owners(func(request) (proto.Message, error) { return nil, nil })
	completed := routed()["RespondWorkflowTaskCompleted"].request.(*workflowservice.RespondWorkflowTaskCompletedRequest)
	pinned := proto.CloneOf(completed)
	pinned.VersioningBehavior = enums.VERSIONING_BEHAVIOR_PINNED
	_, err := in.RespondWorkflowTaskCompleted(t.Context(), pinned)
	requireNoVersions(t, err, "VersioningBehavior")
	versioned := proto.CloneOf(completed)
	versioned.DeploymentOptions = &deployment.WorkerDeploymentOptions{WorkerVersioningMode: enums.WORKER_VERSIONING_MODE_VERSIONED}
	_, err = in.RespondWorkflowTaskCompleted(t.Context(), versioned)
	requireNoVersions(t, err, "DeploymentOptions.WorkerVersioningMode")
	assert.Empty(t, requests)
}

// TestVersioningOverrides: a start cannot bind a run to a version. One that follows the current version is as good as none.
func TestVersioningOverrides(t *testing.T) {
	t.Parallel()
	in := install(t)
	requests := in.owners(func(request) (proto.Message, error) { return nil, nil })
	start := proto.CloneOf(routed()["StartWorkflowExecution"].request.(*workflowservice.StartWorkflowExecutionRequest))
	signal := proto.CloneOf(routed()["SignalWithStartWorkflowExecution"].request.(*workflowservice.SignalWithStartWorkflowExecutionRequest))
	start.VersioningOverride = &workflow.VersioningOverride{Override: &workflow.VersioningOverride_Pinned{Pinned: &workflow.VersioningOverride_PinnedOverride{
		Behavior: workflow.VersioningOverride_PINNED_OVERRIDE_BEHAVIOR_PINNED,
		Version:  &deployment.WorkerDeploymentVersion{DeploymentName: "d", BuildId: "b"},
	}}}
	signal.VersioningOverride = start.VersioningOverride
	var refused *serviceerror.FailedPrecondition
	_, err := in.StartWorkflowExecution(t.Context(), start)
	require.ErrorAs(t, err, &refused)
	assert.Contains(t, refused.Message, "worker versioning is not implemented")
	_, err = in.SignalWithStartWorkflowExecution(t.Context(), signal)
	require.ErrorAs(t, err, &refused)
	assert.Empty(t, requests)
	start.VersioningOverride = &workflow.VersioningOverride{Override: &workflow.VersioningOverride_AutoUpgrade{AutoUpgrade: true}}
	_, err = in.StartWorkflowExecution(t.Context(), start)
	require.NoError(t, err)
	assert.Len(t, requests, 1)
}
