package pages

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/console/internal/readable"
	"github.com/carillon-scheduler/carillon/console/internal/segment"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/diagnosis"
)

// activityRow is an activity that has not ended.
type activityRow struct {
	ID, Type, TaskQueue string
	// Address is where its buttons lead.
	Address string
	State   state
	// Attempt is such as "2 of 5".
	Attempt                  string
	Started, Heartbeat, Next moment
	// Details are those of the last heartbeat, and Failure is why the last attempt failed.
	Details, Failure, Worker string
	IsPaused                 bool
}

// pendingTask is the workflow task in progress.
type pendingTask struct {
	State     string
	Attempt   string
	Scheduled moment
	Started   moment
}

// activity returns an activity that has not ended.
func (l *allowance) activity(a *workflow.PendingActivityInfo, base string, now time.Time) activityRow {
	row := activityRow{
		Address: base + "/activities/" + segment.Escape(a.GetActivityId()), ID: l.short(a.GetActivityId()), Type: l.short(a.GetActivityType().GetName()), TaskQueue: l.short(a.GetActivityOptions().GetTaskQueue().GetName()),
		State: stateOfActivity(a), Attempt: whole(a.GetAttempt()), Worker: l.short(a.GetLastWorkerIdentity()), IsPaused: a.GetPaused(),
		Started: momentOfProto(a.GetLastStartedTime(), now), Heartbeat: momentOfProto(a.GetLastHeartbeatTime(), now),
	}
	if most := a.GetMaximumAttempts(); most > 0 {
		row.Attempt += " of " + whole(most)
	}
	if a.GetState() == enums.PENDING_ACTIVITY_STATE_SCHEDULED && !a.GetPaused() {
		if next := a.GetNextAttemptScheduleTime(); next != nil && next.AsTime().After(now) {
			row.Next = momentOfProto(next, now)
		}
	}
	row.Details, row.Failure = l.short(readable.Payloads(a.GetHeartbeatDetails())), l.short(readable.Cause(a.GetLastFailure()))
	return row
}

func stateOfActivity(a *workflow.PendingActivityInfo) state {
	switch {
	case a.GetPaused():
		return state{"paused", "warn"}
	case a.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED:
		return state{"running", "busy"}
	case a.GetState() == enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED:
		return state{"asked to cancel", "warn"}
	case a.GetAttempt() > 1:
		return state{"waits for the next attempt", "warn"}
	case a.GetState() == enums.PENDING_ACTIVITY_STATE_SCHEDULED:
		return state{"waits for a worker", "warn"}
	}
	return state{strings.ToLower(a.GetState().String()), "quiet"}
}

func pendingTaskOf(task *workflow.PendingWorkflowTaskInfo, now time.Time) *pendingTask {
	if task == nil {
		return nil
	}
	pending := &pendingTask{Attempt: whole(task.GetAttempt()), Scheduled: momentOfProto(task.GetScheduledTime(), now), Started: momentOfProto(task.GetStartedTime(), now)}
	pending.State = "waits for a worker"
	if task.GetState() == enums.PENDING_WORKFLOW_TASK_STATE_STARTED {
		pending.State = "a worker has it"
	}
	return pending
}

// momentOfProto returns a time in UTC; that of nil has no text.
func momentOfProto(at *timestamppb.Timestamp, now time.Time) moment {
	if at == nil {
		return moment{}
	}
	return momentOf(at.AsTime(), now, time.UTC)
}

// askedQueues bounds the task queues about which one page asks.
const askedQueues = 8

// queueKind is a task queue for one type of tasks.
type queueKind struct {
	name string
	kind enums.TaskQueueType
}

// unserved returns what an execution waits for and nobody polls for.
func unserved(ctx context.Context, asks *speaker.Speaker, d *workflowservice.DescribeWorkflowExecutionResponse) (missing []string) {
	needed := []queueKind{{d.GetWorkflowExecutionInfo().GetTaskQueue(), enums.TASK_QUEUE_TYPE_WORKFLOW}}
	seen := map[string]bool{}
	for _, a := range d.GetPendingActivities() {
		name := a.GetActivityOptions().GetTaskQueue().GetName()
		if name != "" && !seen[name] && len(needed) < askedQueues {
			seen[name] = true
			needed = append(needed, queueKind{name, enums.TASK_QUEUE_TYPE_ACTIVITY})
		}
	}
	all, _ := describeQueues(ctx, asks, needed) // what is not known is not said
	for i, described := range all {
		if described == nil || len(described.GetPollers()) > 0 {
			continue
		}
		tasks := "workflow tasks"
		if needed[i].kind == enums.TASK_QUEUE_TYPE_ACTIVITY {
			tasks = "activities"
		}
		missing = append(missing, fmt.Sprintf("No worker polls the task queue %q for %s.", cut(needed[i].name, namesInList), tasks))
	}
	return missing
}

// describeQueues describes task queues, all at once. What could not be described is nil, and the error says why.
func describeQueues(ctx context.Context, asks *speaker.Speaker, queues []queueKind) ([]*workflowservice.DescribeTaskQueueResponse, error) {
	described, failed := make([]*workflowservice.DescribeTaskQueueResponse, len(queues)), make([]error, len(queues))
	var all sync.WaitGroup
	for i, queue := range queues {
		all.Go(func() {
			described[i], failed[i] = asks.Workflows.DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
				Namespace: asks.Namespace(), TaskQueue: &taskqueue.TaskQueue{Name: queue.name}, TaskQueueType: queue.kind, ReportStats: true,
			})
			if failed[i] != nil {
				described[i] = nil
			}
		})
	}
	all.Wait()
	return described, cmp.Or(failed...)
}

// whole returns a whole number as text.
func whole[N ~int | ~int32 | ~int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// bytesText returns a size for people.
func bytesText(n int64) string {
	if n < 1_000 {
		return plural(int(n), "byte")
	}
	return diagnosis.SizeText(n)
}
