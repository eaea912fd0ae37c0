package systemtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	sdkclient "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/carillon-scheduler/carillon/internal/chaos"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// Payment is a signal.
type Payment struct {
	Number int
	Try    string
}

// trip books, waits for its payments, each one followed by a pause, and ships.
func trip(ctx workflow.Context) (string, error) {
	paid := map[int]bool{}
	if err := workflow.SetQueryHandler(ctx, "paid", func() (int, error) { return len(paid), nil }); err != nil {
		return "", err
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var p Payment
			workflow.GetSignalChannel(ctx, "pay").Receive(ctx, &p)
			paid[p.Number] = true
		}
	})
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 20 * time.Second, HeartbeatTimeout: 5 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 50 * time.Millisecond, MaximumInterval: time.Second},
	})
	var booked, shipped string
	if err := workflow.ExecuteActivity(ctx, book).Get(ctx, &booked); err != nil {
		return "", err
	}
	for i := range payments {
		if err := workflow.Await(ctx, func() bool { return len(paid) > i }); err != nil {
			return "", err
		}
		if err := workflow.Sleep(ctx, 100*time.Millisecond); err != nil {
			return "", err
		}
	}
	if err := workflow.ExecuteActivity(ctx, ship).Get(ctx, &shipped); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %d paid, %s", booked, len(paid), shipped), nil
}

// book fails at the first attempt.
func book(ctx context.Context) (string, error) {
	if activity.GetInfo(ctx).Attempt == 1 {
		return "", errors.New("nothing free")
	}
	return "booked", nil
}

// ship reports its progress.
func ship(ctx context.Context) (string, error) {
	for i := range 3 {
		activity.RecordHeartbeat(ctx, i)
		wait(ctx, 20*time.Millisecond)
	}
	return "shipped", ctx.Err()
}

func registerTrips(r registry) {
	r.RegisterWorkflow(trip)
	r.RegisterActivity(book)
	r.RegisterActivity(ship)
}

// runTripWorker is the life of a worker process. It ends by SIGKILL.
func runTripWorker(addresses string) {
	c, err := sdkclient.NewLazyClient(chaos.GatewaysAt(strings.Split(addresses, ","), slog.Default()))
	for err == nil {
		w := sdkworker.New(c, tripQueue, sdkworker.Options{})
		registerTrips(w)
		if failed := w.Run(nil); failed != nil { // no gateway is up
			_, _ = fmt.Fprintln(os.Stderr, failed)
		}
	}
	_, _ = fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// check requires that a workflow has run once, and that its history is whole.
func (k *killed) check(id string) {
	k.t.Helper()
	answer, err := k.DescribeWorkflow(k.ctx, id, "")
	require.NoError(k.t, err, id)
	described := answer.RawResponse
	assert.Equal(k.t, k.runs[id], described.GetWorkflowExecutionInfo().GetExecution().GetRunId(), "%s has run again", id)
	assert.Empty(k.t, described.GetPendingActivities(), id)
	assert.Nil(k.t, described.GetPendingWorkflowTask(), id)
	var events []*historypb.HistoryEvent
	for all := k.GetWorkflowHistory(k.ctx, id, k.runs[id], false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); all.HasNext(); {
		event, err := all.Next()
		require.NoError(k.t, err, id)
		assert.EqualValues(k.t, len(events)+1, event.GetEventId(), id)
		events = append(events, event)
	}
	replayer := sdkworker.NewWorkflowReplayer()
	registerTrips(workflowsOnly{replayer})
	assert.NoError(k.t, replayer.ReplayWorkflowHistory(sdklog.NewStructuredLogger(natstest.Logger(k.t)), &historypb.History{Events: events}), id)
	k.checkEvents(id, events)
}

// checkEvents requires that everything that begins in a history ends in it once, and that the signals are those that were sent.
func (k *killed) checkEvents(id string, events []*historypb.HistoryEvent) {
	k.t.Helper()
	begun, ended, signals := map[int64]int{}, map[int64]int{}, map[string]int{}
	for _, e := range events {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
			enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_TIMER_STARTED:
			begun[e.GetEventId()] = 1
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
			var p Payment
			assert.NoError(k.t, converter.GetDefaultDataConverter().FromPayloads(e.GetWorkflowExecutionSignaledEventAttributes().GetInput(), &p), id)
			signals[p.Try]++
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		default:
			ended[endedBy(e)]++
		}
	}
	assert.Equal(k.t, begun, ended, "%s: what has begun ends once", id)
	assert.Equal(k.t, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, events[len(events)-1].GetEventType(), id)
	for try, n := range signals {
		assert.Equal(k.t, 1, n, "%s: signal %s", id, try)
	}
	for _, try := range k.acked[id] {
		assert.Equal(k.t, 1, signals[try], "%s: acknowledged signal %s", id, try)
	}
}

// endedBy returns the ID of the event with which began what an event ends; 0 for an event that should not be there.
func endedBy(e *historypb.HistoryEvent) int64 {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		return 1
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
		return e.GetWorkflowTaskCompletedEventAttributes().GetScheduledEventId()
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
		return e.GetWorkflowTaskTimedOutEventAttributes().GetScheduledEventId()
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED: // a signal came while the workflow wanted to end
		return e.GetWorkflowTaskFailedEventAttributes().GetScheduledEventId()
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		return e.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()
	case enumspb.EVENT_TYPE_TIMER_FIRED:
		return e.GetTimerFiredEventAttributes().GetStartedEventId()
	}
	return 0
}
