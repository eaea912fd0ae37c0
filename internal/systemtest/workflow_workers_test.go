package systemtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
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

// TestRatesOfATaskQueue: Temporal's SDK sees how many tasks come and go, from any process. Activities that the worker gets with the answer to its
// workflow task do not come to the queue.
func TestRatesOfATaskQueue(t *testing.T) {
	t.Parallel()
	s := newService(t, natstest.Shared(t).ClientURL(), 1)
	other := &service{t: t, names: s.names, urls: s.urls}
	other.address = other.run(1)
	other.Client = other.dial()
	greetings := func() {
		for range 5 {
			run, err := s.ExecuteWorkflow(t.Context(), sdkclient.StartWorkflowOptions{TaskQueue: workflowQueue}, hello, "world")
			require.NoError(t, err)
			require.NoError(t, run.Get(t.Context(), nil))
		}
	}
	eager := s.work(sdkworker.Options{})
	greetings()
	other.awaitStats(enumspb.TASK_QUEUE_TYPE_WORKFLOW, func(stats *taskqueuepb.TaskQueueStats) bool {
		return stats.GetTasksAddRate() > 0 && stats.GetTasksDispatchRate() > 0
	})
	other.awaitStats(enumspb.TASK_QUEUE_TYPE_ACTIVITY, func(stats *taskqueuepb.TaskQueueStats) bool { return stats.GetTasksAddRate() == 0 })
	eager.Stop()
	s.work(sdkworker.Options{DisableEagerActivities: true})
	greetings()
	other.awaitStats(enumspb.TASK_QUEUE_TYPE_ACTIVITY, func(stats *taskqueuepb.TaskQueueStats) bool {
		return stats.GetTasksAddRate() > 0 && stats.GetTasksDispatchRate() > 0
	})
}

// awaitStats waits until the description of the task queue says something about one type of tasks.
func (s *service) awaitStats(kind enumspb.TaskQueueType, says func(*taskqueuepb.TaskQueueStats) bool) {
	s.t.Helper()
	natstest.Eventually(s.t, natstest.Patience, "the stats are as they should be", func() bool {
		d, err := s.WorkflowService().DescribeTaskQueue(s.t.Context(), &workflowservice.DescribeTaskQueueRequest{
			Namespace: "default", TaskQueue: &taskqueuepb.TaskQueue{Name: workflowQueue}, TaskQueueType: kind, ReportStats: true,
		})
		require.NoError(s.t, err)
		return says(d.GetStats())
	})
}
