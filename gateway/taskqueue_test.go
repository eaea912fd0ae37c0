package gateway_test

//lint:file-ignore SA1019 clients still use what Temporal has marked as deprecated

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
)

// TestRatesOfTaskQueues: both forms of the description add up what the processes have counted, also of priorities without a backlog.
func TestRatesOfTaskQueues(t *testing.T) {
	t.Parallel()
	in := install(t)
	queue := queueOf(offer.Activity, "q")
	first, second := in.offerer(), in.offerer()
	for range 30 {
		first.Count(queue, 1, 1, 0)
		second.Count(queue, 0, 1, 0)
		second.Count(queue, 0, 0, 1)
	}
	var d *workflowservice.DescribeTaskQueueResponse
	natstest.Eventually(t, patience, "both processes answer", func() (both bool) {
		var err error
		d, err = in.DescribeTaskQueue(t.Context(), &workflowservice.DescribeTaskQueueRequest{
			Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: "q"}, TaskQueueType: enums.TASK_QUEUE_TYPE_ACTIVITY, ReportStats: true,
		})
		require.NoError(t, err)
		return len(d.StatsByPriorityKey) == 2
	})
	urgent, usual := d.StatsByPriorityKey[1], d.StatsByPriorityKey[3]
	assert.Positive(t, urgent.TasksAddRate)
	assert.Zero(t, urgent.TasksDispatchRate)
	assert.Positive(t, usual.TasksAddRate)
	assert.InDelta(t, usual.TasksAddRate, usual.TasksDispatchRate, 0.01*float64(usual.TasksAddRate))
	assert.InDelta(t, d.Stats.TasksAddRate, urgent.TasksAddRate+usual.TasksAddRate, 1e-3)
	assert.Equal(t, d.Stats.TasksDispatchRate, usual.TasksDispatchRate)
	assert.Zero(t, d.Stats.ApproximateBacklogCount)
	assert.False(t, d.Stats.RateLimitingActive)

	enhanced, err := in.DescribeTaskQueue(t.Context(), &workflowservice.DescribeTaskQueueRequest{
		Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: "q"}, ApiMode: enums.DESCRIBE_TASK_QUEUE_MODE_ENHANCED, ReportStats: true,
	})
	require.NoError(t, err)
	types := enhanced.VersionsInfo[""].TypesInfo
	assert.Positive(t, types[int32(enums.TASK_QUEUE_TYPE_ACTIVITY)].Stats.TasksDispatchRate)
	assert.Zero(t, types[int32(enums.TASK_QUEUE_TYPE_WORKFLOW)].Stats.TasksDispatchRate)
}
