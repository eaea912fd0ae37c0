package execution

import (
	"math"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// A workflow task that fails or times out is tried again. Only the first attempt is in the history: the events of later attempts would fill the
// history of a workflow whose code is broken. The same goes for tasks that only bring updates, unless they fail or time out. Their events have IDs all the same, the next ones,
// since workers want to see them; they become real if the task succeeds. An event that arrives meanwhile takes the ID, and the task begins again
// with the first attempt.

// scheduleTask schedules a workflow task, if none waits or is in progress.
func (tx *transition) scheduleTask() { tx.scheduleTaskSince(tx.now) }

// scheduleTaskSince is scheduleTask for a task that continues a row of tasks, by which a worker only asks for more time.
func (tx *transition) scheduleTaskSince(original time.Time) {
	r := tx.run
	if r.Task.Scheduled != 0 {
		return
	}
	if tx.flush() {
		r.Task.Attempt, r.Task.Speculative = 1, false
	}
	task := WorkflowTask{
		Attempt: max(r.Task.Attempt, 1), ScheduledTime: tx.now, OriginalTime: original, Timeout: r.taskTimeout(max(r.Task.Attempt, 1)),
		StickyQueue: r.Sticky.Queue, StickyTimeout: r.Sticky.Timeout, Speculative: r.Task.Speculative,
		Closing: r.Task.Closing,
	}
	if !task.Speculative {
		tx.setFirstTask(time.Time{})
	}
	if task.virtual() {
		task.Scheduled = r.NextEvent
	} else {
		task.Scheduled = tx.write(r.scheduledAttributes(&task)).GetEventId()
	}
	tx.setTask(task)
}

// taskTimeout is how long a worker may take for an attempt of a workflow task. It grows with the attempts: workers do not answer a task that
// fails again, so the timeout is the pause between the attempts of a broken workflow.
func (r *Run) taskTimeout(attempt int32) time.Duration {
	const tries, first, longest = 3, 5 * time.Second, 10 * time.Minute
	timeout := r.Attributes.GetWorkflowTaskTimeout().AsDuration()
	if attempt <= tries {
		return timeout
	}
	return timeout + time.Duration(min(float64(first)*math.Pow(2, float64(attempt-tries-1)), float64(longest)))
}

func (r *Run) scheduledAttributes(task *WorkflowTask) *historypb.WorkflowTaskScheduledEventAttributes {
	return &historypb.WorkflowTaskScheduledEventAttributes{
		TaskQueue: r.taskQueue(task.StickyQueue), StartToCloseTimeout: durationpb.New(task.Timeout), Attempt: task.Attempt,
	}
}

// taskQueue is where a workflow task is offered: a sticky queue, or that of the run.
func (r *Run) taskQueue(sticky string) *taskqueuepb.TaskQueue {
	normal := r.Attributes.GetTaskQueue().GetName()
	if sticky == "" {
		return &taskqueuepb.TaskQueue{Name: normal, Kind: enumspb.TASK_QUEUE_KIND_NORMAL}
	}
	return &taskqueuepb.TaskQueue{Name: sticky, Kind: enumspb.TASK_QUEUE_KIND_STICKY, NormalName: normal}
}

func (r *Run) startedAttributes(task *WorkflowTask) *historypb.WorkflowTaskStartedEventAttributes {
	reasons := r.suggestNew(task)
	return &historypb.WorkflowTaskStartedEventAttributes{
		ScheduledEventId: task.Scheduled, Identity: task.Identity, RequestId: task.RequestID, HistorySizeBytes: r.Bytes,
		SuggestContinueAsNew: len(reasons) > 0, SuggestContinueAsNewReasons: reasons,
	}
}

// poll is who takes a task.
type poll struct{ requestID, identity string }

// startTask gives the task that waits to a worker.
func (tx *transition) startTask(by poll) {
	task := tx.run.Task
	if task.virtual() && task.Scheduled != tx.run.NextEvent {
		task.Attempt, task.Timeout, task.Speculative = 1, tx.run.taskTimeout(1), false
		tx.setFirstTask(time.Time{})
		task.Scheduled = tx.write(tx.run.scheduledAttributes(&task)).GetEventId()
	}
	task.StartedTime, task.RequestID, task.Identity, task.Updates = tx.now, by.requestID, by.identity, tx.run.Admitted
	task.ManyUpdates = len(tx.run.Updates) >= suggestUpdates
	if !task.virtual() {
		task.Started = tx.write(tx.run.startedAttributes(&task)).GetEventId()
	} else {
		task.Started = task.Scheduled + 1
	}
	tx.setTask(task)
}

// certain makes a task that waits for a worker be more than speculative, because there is an event that the code must see. It keeps its ID.
func (tx *transition) certain() {
	task := tx.run.Task
	if task.Scheduled == 0 || task.Started != 0 || !task.Speculative {
		return
	}
	task.Speculative = false
	tx.setFirstTask(time.Time{})
	if task.Attempt == 1 {
		task.Scheduled = tx.write(tx.run.scheduledAttributes(&task)).GetEventId()
	}
	tx.setTask(task)
}

// virtualEvents are those of a task in progress that is not in the history; nil if it is.
func (r *Run) virtualEvents() []*historypb.HistoryEvent {
	task := &r.Task
	if task.Started == 0 || !task.virtual() {
		return nil
	}
	started := newEvent(r.startedAttributes(task), task.StartedTime)
	started.EventId = task.Started
	return []*historypb.HistoryEvent{r.virtualScheduled(), started}
}

// virtualScheduled is the event that schedules a task which is not in the history.
func (r *Run) virtualScheduled() *historypb.HistoryEvent {
	event := newEvent(r.scheduledAttributes(&r.Task), r.Task.ScheduledTime)
	event.EventId = r.Task.Scheduled
	return event
}

// settleTask makes the events of a task in progress real.
func (tx *transition) settleTask() {
	for _, event := range tx.run.virtualEvents() {
		tx.number(event)
	}
}

// recordTask writes the events of a speculative task that comes to nothing, so that the event which says why has a place in the history, as that of
// any first attempt. The attempts that follow are not speculative.
func (tx *transition) recordTask() {
	task := tx.run.Task
	if !task.Speculative || task.Attempt > 1 {
		return
	}
	if tx.setFirstTask(time.Time{}); task.Started != 0 {
		tx.settleTask()
	} else {
		tx.write(tx.run.scheduledAttributes(&task))
	}
	task.Speculative = false
	tx.setTask(task)
}

// failTask ends the task in progress with a failure. The next one is a new attempt, unless the worker had the run in its cache: then
// another worker tries first. The buffered events get their place.
func (tx *transition) failTask(cause enumspb.WorkflowTaskFailedCause, failure *failurepb.Failure, identity string) {
	tx.recordTask()
	if task := &tx.run.Task; !task.virtual() {
		tx.write(&historypb.WorkflowTaskFailedEventAttributes{
			ScheduledEventId: task.Scheduled, StartedEventId: task.Started, Cause: cause, Failure: failure, Identity: identity,
		})
	}
	tx.dropTask(true)
	if cause == enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND {
		next := tx.run.Task
		next.Closing = true
		tx.setTask(next)
	}
}

// timeOutTask ends the task because no worker took it from the sticky queue, or none completed it in time.
func (tx *transition) timeOutTask(timeout enumspb.TimeoutType) {
	tx.recordTask()
	if task := &tx.run.Task; !task.virtual() {
		tx.write(&historypb.WorkflowTaskTimedOutEventAttributes{
			ScheduledEventId: task.Scheduled, StartedEventId: task.Started, TimeoutType: timeout,
		})
	}
	tx.dropTask(timeout == enumspb.TIMEOUT_TYPE_START_TO_CLOSE)
}

// dropTask forgets the task. The buffered events get their place.
func (tx *transition) dropTask(tried bool) {
	next := WorkflowTask{Attempt: 1}
	if tried && tx.run.Sticky.Queue == "" {
		next.Attempt = tx.run.Task.Attempt + 1
	}
	tx.setSticky(Sticky{})
	tx.setTask(next)
	if tx.flush() {
		next.Attempt = 1
		tx.setTask(next)
	}
}

// closeTask ends the task in progress because the run ends from outside. The buffered events get their place before the last event.
func (tx *transition) closeTask() {
	if tx.run.Task.Started != 0 {
		tx.failTask(enumspb.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND, nil, "")
	} else if tx.run.Task.Scheduled != 0 {
		tx.setTask(WorkflowTask{Attempt: 1})
	}
}
