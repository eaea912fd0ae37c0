package systemtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestWorkersAreListed: a worker of the SDK sends heartbeats to one process, and another one lists it. It says when it stops.
func TestWorkersAreListed(t *testing.T) {
	t.Parallel()
	s := newService(t, natstest.Shared(t).ClientURL(), 1)
	other := &service{t: t, names: s.names, urls: s.urls}
	other.address = other.run(1)
	other.Client = other.dial()
	var log natstest.Lines
	client, err := sdkclient.Dial(sdkclient.Options{
		HostPort: s.address, WorkerHeartbeatInterval: time.Second, Identity: "ann", Logger: sdklog.NewStructuredLogger(log.Logger()),
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	w := sdkworker.New(client, workflowQueue, sdkworker.Options{})
	registerWorkflows(w)
	require.NoError(t, w.Start())

	found := other.awaitWorker("WorkerIdentity = 'ann' and TaskQueue = '" + workflowQueue + "' and Status = 'Running' and SdkName = 'temporal-go'")
	described, err := other.WorkflowService().DescribeWorker(t.Context(), &workflowservice.DescribeWorkerRequest{
		Namespace: "default", WorkerInstanceKey: found.WorkerInstanceKey,
	})
	require.NoError(t, err)
	beat := described.GetWorkerInfo().GetWorkerHeartbeat()
	require.Equal(t, found.ProcessId, beat.GetHostInfo().GetProcessId())
	require.NotZero(t, beat.GetWorkflowTaskSlotsInfo().GetCurrentAvailableSlots())

	w.Stop()
	stopped := other.awaitWorker("WorkerIdentity = 'ann' and Status != 'Running'")
	require.Equal(t, enumspb.WORKER_STATUS_SHUTTING_DOWN, stopped.GetStatus())
	require.Zero(t, log.Count("heartbeat"), "the SDK has nothing to complain about")
}

// awaitWorker waits until a worker is listed for which a query holds.
func (s *service) awaitWorker(query string) (found *workerpb.WorkerListInfo) {
	s.t.Helper()
	natstest.Eventually(s.t, natstest.Patience, "a worker is listed: "+query, func() bool {
		list, err := s.WorkflowService().ListWorkers(s.t.Context(), &workflowservice.ListWorkersRequest{Namespace: "default", Query: query})
		require.NoError(s.t, err)
		if len(list.GetWorkers()) == 1 {
			found = list.GetWorkers()[0]
		}
		return found != nil
	})
	return found
}
