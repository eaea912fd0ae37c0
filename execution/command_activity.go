package execution

import (
	"cmp"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

func (tx *transition) scheduleActivity(c commandContext) *failedCommand {
	asked := c.GetScheduleActivityTaskCommandAttributes()
	bad := func(message string) *failedCommand {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_SCHEDULE_ACTIVITY_ATTRIBUTES, message}
	}
	switch {
	case asked.GetActivityId() == "":
		return bad("activity ID is not set")
	case asked.GetActivityType().GetName() == "":
		return bad("activity type is not set")
	}
	if long := tooLong("activity ID", asked.GetActivityId(), "activity type", asked.GetActivityType().GetName(),
		"task queue", asked.GetTaskQueue().GetName()); long != "" {
		return bad(long)
	}
	for _, activity := range tx.run.Activities {
		if activity.Attributes.GetActivityId() == asked.GetActivityId() {
			return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_SCHEDULE_ACTIVITY_DUPLICATE_ID, "activity " + asked.GetActivityId()}
		}
	}
	if len(tx.run.Activities) >= maxPending {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_PENDING_ACTIVITIES_LIMIT_EXCEEDED, tooMany("activities")}
	}
	attributes := &historypb.ActivityTaskScheduledEventAttributes{
		ActivityId: asked.GetActivityId(), ActivityType: asked.GetActivityType(), Header: asked.GetHeader(), Input: asked.GetInput(),
		TaskQueue:                    &taskqueuepb.TaskQueue{Name: asked.GetTaskQueue().GetName(), Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
		WorkflowTaskCompletedEventId: c.completed, Priority: asked.GetPriority(),
	}
	if attributes.TaskQueue.GetName() == "" {
		attributes.TaskQueue.Name = tx.run.Attributes.GetTaskQueue().GetName()
	}
	timeouts, message := activityTimeouts(asked, tx.run.Attributes.GetWorkflowRunTimeout().AsDuration())
	if message == "" {
		attributes.RetryPolicy, message = retryPolicy(asked.GetRetryPolicy())
	}
	attributes.UseWorkflowBuildId = asked.GetUseWorkflowBuildId() //lint:ignore SA1019 workers still send it
	message = cmp.Or(message, checkPriority(asked.GetPriority()), tx.compatible(asked, asked.GetUseWorkflowBuildId()))
	if message != "" {
		return bad(message)
	}
	timeouts.set(attributes)
	event := tx.writeFor(c, attributes)
	record := ActivityRecord{Event: event.GetEventId(), Attempt: 1, Due: tx.now}
	if asked.GetRequestEagerExecution() && tx.mayBeEager(attributes) {
		record.Started, record.RequestID, record.Identity = tx.now, tx.by.requestID, tx.by.identity
		tx.eager = append(tx.eager, record.Event)
	}
	tx.setActivity(record)
	return nil
}

// maxEager bounds the inputs of the activities that a worker gets with the answer to a workflow task, in bytes. There must be room for the next
// workflow task, too.
const maxEager = 128 << 10

// mayBeEager reports whether the worker that completes the workflow task may have an activity at once. It must be for the queue that the worker
// polls.
func (tx *transition) mayBeEager(a *historypb.ActivityTaskScheduledEventAttributes) bool {
	size := proto.Size(a)
	for _, event := range tx.eager {
		size += proto.Size(tx.run.Activities[event].Attributes)
	}
	return size <= maxEager && a.GetTaskQueue().GetName() == tx.run.Attributes.GetTaskQueue().GetName()
}

// eagerTasks are the activities that the worker gets with the answer.
func (tx *transition) eagerTasks() (tasks []*workflowservice.PollActivityTaskQueueResponse) {
	for _, event := range tx.eager {
		activity := tx.run.Activities[event]
		tasks = append(tasks, tx.attempt(&activity))
	}
	return tasks
}

// timeouts are those of an activity.
type timeouts struct{ scheduleToClose, scheduleToStart, startToClose, heartbeat time.Duration }

func (t timeouts) set(attributes *historypb.ActivityTaskScheduledEventAttributes) {
	attributes.ScheduleToCloseTimeout = durationpb.New(t.scheduleToClose)
	attributes.ScheduleToStartTimeout = durationpb.New(t.scheduleToStart)
	attributes.StartToCloseTimeout = durationpb.New(t.startToClose)
	attributes.HeartbeatTimeout = durationpb.New(t.heartbeat)
}

// activityTimeouts fills in the timeouts that a command leaves open: a longer one bounds the shorter ones, and that of the run bounds all. The
// message says what is wrong; it is empty if nothing is.
func activityTimeouts(asked interface {
	GetScheduleToCloseTimeout() *durationpb.Duration
	GetScheduleToStartTimeout() *durationpb.Duration
	GetStartToCloseTimeout() *durationpb.Duration
	GetHeartbeatTimeout() *durationpb.Duration
}, run time.Duration,
) (t timeouts, message string) {
	t = timeouts{
		asked.GetScheduleToCloseTimeout().AsDuration(), asked.GetScheduleToStartTimeout().AsDuration(),
		asked.GetStartToCloseTimeout().AsDuration(), asked.GetHeartbeatTimeout().AsDuration(),
	}
	if min(t.scheduleToClose, t.scheduleToStart, t.startToClose, t.heartbeat) < 0 {
		return t, "a timeout is negative"
	}
	if t.scheduleToClose == 0 && t.startToClose == 0 {
		return t, "neither a StartToClose nor a ScheduleToClose timeout is set"
	}
	t.scheduleToClose = shorter(t.scheduleToClose, run)
	t.scheduleToStart = shorter(t.scheduleToStart, t.scheduleToClose)
	t.startToClose = shorter(t.startToClose, t.scheduleToClose)
	if t.heartbeat > 0 {
		t.heartbeat = shorter(t.heartbeat, t.startToClose)
	}
	return t, ""
}

// shorter returns the shorter of two timeouts, where zero is none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// requestCancelActivity asks a worker to end an activity. An activity that no worker has is canceled at once, but the event that says so comes
// after those of all commands: a worker counts on their order.
func (tx *transition) requestCancelActivity(c commandContext) *failedCommand {
	scheduled := c.GetRequestCancelActivityTaskCommandAttributes().GetScheduledEventId()
	activity, ok := tx.run.Activities[scheduled]
	if !ok && !tx.hasResult(scheduled) || activity.CancelEvent != 0 {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_REQUEST_CANCEL_ACTIVITY_ATTRIBUTES, fmt.Sprintf("no activity of event %d is to be canceled", scheduled)}
	}
	event := tx.writeFor(c, &historypb.ActivityTaskCancelRequestedEventAttributes{
		ScheduledEventId: scheduled, WorkflowTaskCompletedEventId: c.completed,
	})
	if !ok {
		return nil // its result is on the way
	}
	activity.CancelEvent = event.GetEventId()
	tx.setActivity(activity.ActivityRecord)
	if activity.Started.IsZero() {
		tx.hold(&historypb.ActivityTaskCanceledEventAttributes{
			ScheduledEventId: scheduled, LatestCancelRequestedEventId: activity.CancelEvent, Identity: c.identity,
		})
	}
	return nil
}

// hasResult reports whether the result of an activity is among the buffered events.
func (tx *transition) hasResult(scheduled int64) bool {
	for _, event := range tx.run.Buffered {
		if isResult(event) && resultOf(event) == scheduled {
			return true
		}
	}
	return false
}
