package systemtest

import (
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdkclient "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestVersionedWorker: a worker of the SDK that uses worker versioning gets no tasks, and its log says why. It waits between its attempts.
func TestVersionedWorker(t *testing.T) {
	t.Parallel()
	s := newService(t, natstest.Shared(t).ClientURL(), 1)
	var log natstest.Lines
	client, err := sdkclient.Dial(sdkclient.Options{HostPort: s.address, Logger: sdklog.NewStructuredLogger(log.Logger())})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	w := sdkworker.New(client, workflowQueue, sdkworker.Options{DeploymentOptions: sdkworker.DeploymentOptions{
		UseVersioning: true, Version: sdkworker.WorkerDeploymentVersion{DeploymentName: "greeter", BuildID: "not served"},
		DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}})
	registerWorkflows(w)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	natstest.Eventually(t, natstest.Patience, "both kinds of polls are refused", func() bool {
		return log.Count("worker versioning is not implemented") >= 2
	})

	s.work(sdkworker.Options{})
	run, err := s.ExecuteWorkflow(t.Context(), sdkclient.StartWorkflowOptions{TaskQueue: workflowQueue}, hello, "world")
	require.NoError(t, err)
	var greeting string
	require.NoError(t, run.Get(t.Context(), &greeting))
	for _, event := range s.replay(run) {
		require.NotContains(t, event.String(), "not served", "the versioned worker had a task")
	}
}

// TestWorkerWithBuildID: an unversioned worker may say what build it is. Its code sees the ID, and the history has it.
func TestWorkerWithBuildID(t *testing.T) {
	t.Parallel()
	s := newService(t, natstest.Shared(t).ClientURL(), 1)
	s.work(sdkworker.Options{DeploymentOptions: sdkworker.DeploymentOptions{
		Version: sdkworker.WorkerDeploymentVersion{DeploymentName: "greeter", BuildID: "b1"},
	}})
	run, err := s.ExecuteWorkflow(t.Context(), sdkclient.StartWorkflowOptions{TaskQueue: workflowQueue}, hello, "world")
	require.NoError(t, err)
	var greeting string
	require.NoError(t, run.Get(t.Context(), &greeting))
	described, err := s.DescribeWorkflow(t.Context(), run.GetID(), run.GetRunID())
	require.NoError(t, err)
	builds := described.RawResponse.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields()["BuildIds"]
	require.Equal(t, `["unversioned","unversioned:b1"]`, string(builds.GetData()))
	for _, event := range s.replay(run) {
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			version := event.GetWorkflowTaskCompletedEventAttributes().GetWorkerVersion() //lint:ignore SA1019 workers still send it
			require.Equal(t, "b1", version.GetBuildId())
			require.False(t, version.GetUseVersioning())
			old := event.GetWorkflowTaskCompletedEventAttributes().GetBinaryChecksum() //lint:ignore SA1019 that is the point
			require.Empty(t, old, "it is for services that know no build IDs")
		}
	}
}
