package gateway_test

//lint:file-ignore SA1019 clients still use what Temporal has marked as deprecated

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
)

// offerer offers tasks as history does.
func (in *installation) offerer() *offer.Offerer {
	conn, js := natstest.Connect(in.t, in.server)
	o, err := offer.NewOfferer(
		offer.Config{Conn: bus.Plain{Conn: conn}, Names: in.names, Logger: natstest.Logger(in.t)}, natstest.Bus(in.t, js), metrics.OfferedNew)
	require.NoError(in.t, err)
	in.t.Cleanup(o.Close)
	return o
}

// hand offers a task until a poll takes it, and hands it over.
func (in *installation) hand(o *offer.Offerer, queue offer.Queue, task proto.Message) offer.Poller {
	in.t.Helper()
	data, err := proto.Marshal(task)
	require.NoError(in.t, err)
	var poller offer.Poller
	natstest.Eventually(in.t, patience, "a poll takes the task", func() bool {
		poller, err = o.Offer(in.t.Context(), queue, time.Second)
		return err == nil
	})
	require.NoError(in.t, o.Hand(in.t.Context(), poller, data))
	return poller
}

func queueOf(kind offer.Kind, name string) offer.Queue {
	return offer.Queue{Namespace: "default", Kind: kind, Name: name}
}

func TestPollsGetTheirTasks(t *testing.T) {
	t.Parallel()
	in := install(t)
	o := in.offerer()
	workflow := &workflowservice.PollWorkflowTaskQueueResponse{
		TaskToken: []byte("token"), WorkflowExecution: &common.WorkflowExecution{WorkflowId: w, RunId: "run"}, Attempt: 2,
	}
	polled := make(chan proto.Message, 2)
	go func() {
		got, err := in.PollWorkflowTaskQueue(t.Context(), &workflowservice.PollWorkflowTaskQueueRequest{
			Namespace: "default", Identity: "me", TaskQueue: &taskqueue.TaskQueue{Name: "sticky/1", Kind: enums.TASK_QUEUE_KIND_STICKY},
			WorkerVersionCapabilities: &common.WorkerVersionCapabilities{BuildId: "b1"},
		})
		assert.NoError(t, err)
		polled <- got
	}()
	poller := in.hand(o, queueOf(offer.Workflow, "sticky/1"), workflow)
	assert.True(t, proto.Equal(workflow, <-polled))
	assert.Equal(t, "me", poller.Identity)
	assert.Equal(t, "b1", poller.BuildID)

	activity := &workflowservice.PollActivityTaskQueueResponse{TaskToken: []byte("token"), ActivityId: "a"}
	go func() {
		got, err := in.PollActivityTaskQueue(t.Context(), &workflowservice.PollActivityTaskQueueRequest{
			Namespace: "default", Identity: "me", TaskQueue: &taskqueue.TaskQueue{Name: "q"},
		})
		assert.NoError(t, err)
		polled <- got
	}()
	in.hand(o, queueOf(offer.Activity, "q"), activity)
	assert.True(t, proto.Equal(activity, <-polled))
}

// TestPollsEndEmpty before the time of their client is over.
func TestPollsEndEmpty(t *testing.T) {
	t.Parallel()
	in := install(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	got, err := in.PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{
		Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: "q"},
	})
	require.NoError(t, err)
	assert.Empty(t, got.TaskToken)
}

// pollers returns who polls a queue for workflow tasks.
func (in *installation) pollers(queue string) []*taskqueue.PollerInfo {
	in.t.Helper()
	return in.pollersOf(queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
}

// pollersOf returns who polls a queue for one type of tasks.
func (in *installation) pollersOf(queue string, kind enums.TaskQueueType) []*taskqueue.PollerInfo {
	in.t.Helper()
	d, err := in.DescribeTaskQueue(in.t.Context(), &workflowservice.DescribeTaskQueueRequest{
		Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: queue}, TaskQueueType: kind,
	})
	require.NoError(in.t, err)
	return d.Pollers
}

// TestShutdownWorker ends the polls of one worker and no others. Stopping the gateway ends those.
func TestShutdownWorker(t *testing.T) {
	t.Parallel()
	in := install(t)
	poll := func(queue, identity, instance string) <-chan error {
		ended := make(chan error, 1)
		go func() {
			got, err := in.PollWorkflowTaskQueue(t.Context(), &workflowservice.PollWorkflowTaskQueueRequest{
				Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: queue}, Identity: identity, WorkerInstanceKey: instance,
			})
			assert.Empty(t, got.GetTaskToken())
			ended <- err
		}()
		natstest.Eventually(t, patience, "the poll waits", func() bool {
			for _, p := range in.pollers(queue) {
				if p.Identity == identity {
					return true
				}
			}
			return false
		})
		return ended
	}
	normal, sticky, other := poll("q", "a", "i1"), poll("sticky of a", "a", ""), poll("q", "b", "i2")
	_, err := in.ShutdownWorker(t.Context(), &workflowservice.ShutdownWorkerRequest{
		Namespace: "default", Identity: "a", WorkerInstanceKey: "i1", StickyTaskQueue: "sticky of a",
	})
	require.NoError(t, err)
	assert.NoError(t, <-normal)
	assert.NoError(t, <-sticky)
	assert.Empty(t, other)
	in.stop()
	assert.NoError(t, <-other)
}

// TestShutdownWorkerReachesAllGateways: a worker that has connected anew has polls at another gateway, too.
func TestShutdownWorkerReachesAllGateways(t *testing.T) {
	t.Parallel()
	in := install(t)
	other := in.another()
	ended, longer := make(chan error, 1), make(chan error, 1)
	poll := func(gateway workflowservice.WorkflowServiceClient, instance string) error {
		got, err := gateway.PollActivityTaskQueue(t.Context(), &workflowservice.PollActivityTaskQueueRequest{
			Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: "q"}, WorkerInstanceKey: instance,
		})
		assert.Empty(t, got.GetTaskToken())
		return err
	}
	go func() { longer <- poll(other, "i2") }() // it began before the others, so it would end before them
	natstest.Eventually(t, patience, "it waits", func() bool { return len(in.pollersOf("q", enums.TASK_QUEUE_TYPE_ACTIVITY)) == 1 })
	go func() { ended <- poll(other, "i1") }()
	natstest.Eventually(t, patience, "the poll at the other gateway ends", func() bool {
		_, err := in.ShutdownWorker(t.Context(), &workflowservice.ShutdownWorkerRequest{Namespace: "default", WorkerInstanceKey: "i1"})
		require.NoError(t, err)
		return len(ended) == 1
	})
	require.NoError(t, <-ended)
	// a poll that was on its way
	require.NoError(t, poll(in, "i1"))
	require.NoError(t, poll(other, "i1"))
	assert.Empty(t, longer, "the poll of another worker waits")
	info, err := other.DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "default"})
	require.NoError(t, err)
	assert.True(t, info.NamespaceInfo.Capabilities.WorkerPollCompleteOnShutdown)
}

func TestDescribeTaskQueue(t *testing.T) {
	t.Parallel()
	in := install(t)
	o := in.offerer()
	for i := range 3 {
		require.NoError(t, o.Store(t.Context(), queueOf(offer.Activity, "q"), offer.Task{
			Namespace: "default", WorkflowID: w, RunID: "run", Kind: offer.Activity, EventID: int64(i + 1), Attempt: 1, Priority: i / 2 * 5,
		}))
	}
	d, err := in.DescribeTaskQueue(t.Context(), &workflowservice.DescribeTaskQueueRequest{
		Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: "q"}, TaskQueueType: enums.TASK_QUEUE_TYPE_ACTIVITY,
		ReportStats: true, IncludeTaskQueueStatus: true,
	})
	require.NoError(t, err)
	assert.EqualValues(t, 3, d.Stats.ApproximateBacklogCount)
	assert.EqualValues(t, 3, d.TaskQueueStatus.BacklogCountHint)
	assert.Len(t, d.StatsByPriorityKey, 2)
	assert.EqualValues(t, 2, d.StatsByPriorityKey[3].ApproximateBacklogCount)
	assert.EqualValues(t, 1, d.StatsByPriorityKey[5].ApproximateBacklogCount)
	assert.Empty(t, d.Pollers)
	d, err = in.DescribeTaskQueue(t.Context(), &workflowservice.DescribeTaskQueueRequest{
		Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: "q"}, ApiMode: enums.DESCRIBE_TASK_QUEUE_MODE_ENHANCED,
	})
	require.NoError(t, err)
	types := d.VersionsInfo[""].TypesInfo
	assert.EqualValues(t, 3, types[int32(enums.TASK_QUEUE_TYPE_ACTIVITY)].Stats.ApproximateBacklogCount)
	assert.EqualValues(t, 0, types[int32(enums.TASK_QUEUE_TYPE_WORKFLOW)].Stats.ApproximateBacklogCount)

	d, err = in.DescribeTaskQueue(t.Context(), &workflowservice.DescribeTaskQueueRequest{
		Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: "q"}, TaskQueueType: enums.TASK_QUEUE_TYPE_NEXUS,
	})
	require.NoError(t, err)
	assert.Empty(t, d.Pollers)
	partitions, err := in.ListTaskQueuePartitions(t.Context(), &workflowservice.ListTaskQueuePartitionsRequest{
		Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: "q"},
	})
	require.NoError(t, err)
	require.Len(t, partitions.WorkflowTaskQueuePartitions, 1)
	require.Len(t, partitions.ActivityTaskQueuePartitions, 1)
	assert.Equal(t, "q", partitions.ActivityTaskQueuePartitions[0].Key)
}
