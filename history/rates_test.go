package history

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestTasksAreCounted: a task that a waiting poll gets at once has been added and dispatched; one that goes to the backlog has been added. A first
// workflow task and an activity that a worker gets without a poll never come to the queue.
func TestTasksAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := time.Now()
	b.run(func(c *Config) { c.Now = func() time.Time { return now } }) // all of it happens in the first second

	eager := startRequest("eager")
	eager.RequestEagerExecution = true
	started, err := ask[workflowservice.StartWorkflowExecutionResponse](b, subjects.VerbStart, "eager", eager)
	require.NoError(t, err)
	got := b.complete(started.GetEagerWorkflowTask(), activity("a", func(c *commandpb.ScheduleActivityTaskCommandAttributes) {
		c.RequestEagerExecution = true
	}))
	require.Len(t, got.GetActivityTasks(), 1)
	b.requireCounted(offer.Workflow, 3, 0, 0)
	b.requireCounted(offer.Activity, 3, 0, 0)

	polled := make(chan *workflowservice.PollWorkflowTaskQueueResponse, 1)
	go func() { polled <- b.pollWorkflow() }()
	b.awaitPoll(queue)
	b.start("at once")
	task := <-polled
	b.requireCounted(offer.Workflow, 3, 1, 1)

	b.complete(task, activity("urgent", func(c *commandpb.ScheduleActivityTaskCommandAttributes) {
		c.Priority = &commonpb.Priority{PriorityKey: 1}
	}))
	b.requireCounted(offer.Activity, 1, 1, 0) // it waits in the backlog, from where matching takes it
	b.requireCounted(offer.Activity, 3, 0, 0)
}

// requireCounted waits until history has counted so many tasks of a queue.
func (b *bundle) requireCounted(kind offer.Kind, priority, added, dispatched int) {
	b.Helper()
	counted := func(rate float64) int { return int(math.Round(rate * 15 * -math.Expm1(-1./15))) }
	natstest.Eventually(b, natstest.Patience, "history has counted the tasks", func() bool {
		ctx, cancel := context.WithTimeout(b.Context(), 100*time.Millisecond)
		defer cancel()
		rates, err := offer.AskRates(ctx, b.conn, b.names, offer.Queue{Namespace: space, Kind: kind, Name: queue})
		require.NoError(b, err)
		return counted(rates[priority].Added) == added && counted(rates[priority].Dispatched) == dispatched
	})
}
