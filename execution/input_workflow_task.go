package execution

import (
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	protocolpb "go.temporal.io/api/protocol/v1"
	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// moreTime bounds a row of workflow tasks by which a worker only asks for more time, for its local activities.
const moreTime = 30 * time.Minute

// StartWorkflowTask gives a workflow task to a poll. The reply is a *workflowservice.PollWorkflowTaskQueueResponse, which lacks its history:
// see [Decision.History]. A repeat with the same RequestID gets the same reply. The error is NotFound if the task is no longer wanted.
type StartWorkflowTask struct {
	RunID string
	// Event and Attempt are those of the [Offer].
	Event   int64
	Attempt int32
	// Queue is the task queue of the poll. The worker of the sticky queue gets only the events that it does not have.
	Queue string
	// RequestID identifies the poll, and Identity its worker.
	RequestID, Identity string
}

func (StartWorkflowTask) cause() string { return "start-workflow-task" }

func (in StartWorkflowTask) decide(tx *transition) (proto.Message, error) {
	r := tx.run
	if !r.Open() || r.ID != in.RunID {
		return nil, errTaskNotFound
	}
	task := &r.Task
	if task.Scheduled != in.Event || task.Attempt != in.Attempt || task.Started != 0 {
		if task.Started == 0 || task.RequestID != in.RequestID {
			return nil, errTaskNotFound
		}
	} else {
		tx.startTask(poll{in.RequestID, in.Identity})
	}
	return tx.taskInProgress(in.Queue), nil
}

// taskInProgress is what a worker gets with the task that it has just been given.
func (tx *transition) taskInProgress(queue string) *workflowservice.PollWorkflowTaskQueueResponse {
	r, task := tx.run, &tx.run.Task
	tx.history = &History{From: 1, To: r.NextEvent - 1, Suffix: r.virtualEvents()}
	if task.StickyQueue != "" && queue == task.StickyQueue && queue == r.Sticky.Queue {
		tx.history.From = r.LastStarted + 1
	}
	return &workflowservice.PollWorkflowTaskQueueResponse{
		TaskToken: Token{
			Namespace: tx.before.Key.Namespace, WorkflowID: tx.before.Key.WorkflowID, RunID: r.ID,
			Scheduled: task.Scheduled, Started: task.Started, Attempt: task.Attempt, StartedTime: task.StartedTime,
		}.Marshal(),
		WorkflowExecution: tx.execution(), WorkflowType: r.Attributes.GetWorkflowType(),
		PreviousStartedEventId: r.LastStarted, StartedEventId: task.Started, Attempt: task.Attempt,
		WorkflowExecutionTaskQueue: r.taskQueue(""), Messages: r.messages(),
		ScheduledTime: timestamppb.New(task.ScheduledTime), StartedTime: timestamppb.New(task.StartedTime),
	}
}

func (tx *transition) execution() *commonpb.WorkflowExecution {
	return &commonpb.WorkflowExecution{WorkflowId: tx.before.Key.WorkflowID, RunId: tx.run.ID}
}

var errTaskNotFound = serviceerror.NewNotFound("Workflow task not found.")

// checkTask reports an error unless a token is for the task in progress.
func (tx *transition) checkTask(token Token) error {
	r := tx.run
	if r == nil || r.ID != token.RunID {
		return errTaskNotFound
	}
	if !r.Open() {
		return ErrCompleted
	}
	task := &r.Task
	if task.Started == 0 || task.Started != token.Started || task.Scheduled != token.Scheduled || task.Attempt != token.Attempt ||
		!task.StartedTime.Equal(token.StartedTime) {
		return errTaskNotFound
	}
	return nil
}

// CompleteWorkflowTask is what a worker's code decided. The reply is a *workflowservice.RespondWorkflowTaskCompletedResponse, with the
// activities that the worker may begin at once; if it brings the next task, that task lacks its history: see [Decision.History]. If a command is not valid, the task fails, and the [Decision] has both an entry
// and a refusal.
type CompleteWorkflowTask struct {
	Token   Token
	Request *workflowservice.RespondWorkflowTaskCompletedRequest
	// RequestID identifies the poll that the response stands for, if it brings the next task or activities.
	RequestID string
}

func (CompleteWorkflowTask) cause() string { return "complete-workflow-task" }

func (in CompleteWorkflowTask) decide(tx *transition) (proto.Message, error) {
	if err := tx.checkTask(in.Token); err != nil {
		return nil, err
	}
	original := tx.now
	if in.Request.GetForceCreateNewWorkflowTask() {
		if original = tx.run.Task.OriginalTime; tx.now.Sub(original) > moreTime {
			tx.timeOutTask(enumspb.TIMEOUT_TYPE_START_TO_CLOSE)
			tx.scheduleTask()
			tx.refusal = serviceerror.NewNotFound("workflow task heartbeat timeout")
			return nil, nil
		}
	}
	before := tx.save()
	tx.by = poll{in.RequestID, in.Request.GetIdentity()}
	failed := tx.complete(in.Request)
	if failed != nil {
		tx.restore(before)
		if failed.cause != enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND && tx.run.Task.Attempt > 1 {
			return nil, failed.refusal() // the task is left to its timeout, so that a broken worker does not try again at once
		}
		tx.failTask(failed.cause, failed.failure(), in.Request.GetIdentity())
		tx.scheduleTask()
		tx.refusal = failed.refusal()
		return nil, nil
	}
	response := &workflowservice.RespondWorkflowTaskCompletedResponse{ResetHistoryEventId: tx.dropped}
	if !tx.run.Open() {
		tx.followUp()
		return response, nil
	}
	response.ActivityTasks = tx.eagerTasks()
	if tx.flush() || in.Request.GetForceCreateNewWorkflowTask() {
		tx.scheduleTaskSince(original)
	} else if tx.run.unsent(tx.sent) {
		tx.run.Task.Speculative = true
		tx.scheduleTask()
	}
	if tx.run.Task.Scheduled != 0 {
		if in.Request.GetReturnNewWorkflowTask() {
			tx.startTask(tx.by)
			response.WorkflowTask = tx.taskInProgress(tx.run.Task.StickyQueue)
		}
	}
	return response, nil
}

// complete ends the task in progress and carries out its commands. It returns why the task fails instead, if it does; then nothing of what it has
// done must stay.
func (tx *transition) complete(request *workflowservice.RespondWorkflowTaskCompletedRequest) *failedCommand {
	tx.sent, tx.messages = tx.run.Task.Updates, request.GetMessages()
	completed := int64(0)
	if tx.leavesNothing(request) {
		tx.dropped = tx.run.LastStarted
		tx.setTask(WorkflowTask{Attempt: 1})
	} else {
		completed = tx.writeCompleted(request)
	}
	sticky := request.GetStickyAttributes()
	tx.setSticky(Sticky{sticky.GetWorkerTaskQueue().GetName(), sticky.GetScheduleToStartTimeout().AsDuration()})
	for _, command := range request.GetCommands() {
		if !tx.run.Open() {
			return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND, "a command follows on the one that ends the workflow"}
		}
		if failed := tx.command(command, completed, request.GetIdentity()); failed != nil {
			return failed
		}
	}
	for _, message := range tx.messages {
		if failed := tx.message(message); failed != nil {
			return failed
		}
	}
	if tx.run.Open() {
		tx.rejectUnprocessed()
	}
	return nil
}

// writeCompleted ends the task in progress by an event, and returns its ID.
func (tx *transition) writeCompleted(request *workflowservice.RespondWorkflowTaskCompletedRequest) int64 {
	tx.settleTask()
	task := tx.run.Task
	completed := tx.write(completedAttributes(&task, request)).GetEventId()
	tx.setTask(WorkflowTask{Attempt: 1})
	tx.setFirstTask(time.Time{})
	tx.run.LastStarted, tx.part.LastStarted = task.Started, &task.Started
	return completed
}

// leavesNothing reports whether the task in progress brought only updates, all of which the code has rejected. Nothing of it goes into the history.
// The worker is told to go back to the last task that is there.
func (tx *transition) leavesNothing(request *workflowservice.RespondWorkflowTaskCompletedRequest) bool {
	first := tx.run.LastStarted == 0 && tx.run.FirstTask.IsZero()
	if !tx.run.Task.Speculative || first || len(tx.run.Buffered) > 0 || len(request.GetCommands()) > 0 ||
		request.GetForceCreateNewWorkflowTask() {
		return false
	}
	return !slices.ContainsFunc(request.GetMessages(), func(m *protocolpb.Message) bool { return !m.GetBody().MessageIs(&updatepb.Rejection{}) })
}

// completedAttributes are those of a completed task. What a worker says about its code goes into the history as it is: the code asks for it.
func completedAttributes(
	task *WorkflowTask, request *workflowservice.RespondWorkflowTaskCompletedRequest,
) *historypb.WorkflowTaskCompletedEventAttributes {
	attributes := &historypb.WorkflowTaskCompletedEventAttributes{
		ScheduledEventId: task.Scheduled, StartedEventId: task.Started, Identity: request.GetIdentity(),
		SdkMetadata: request.GetSdkMetadata(), MeteringMetadata: request.GetMeteringMetadata(),
	}
	attributes.BinaryChecksum = request.GetBinaryChecksum()    //lint:ignore SA1019 workers still send it
	attributes.WorkerVersion = request.GetWorkerVersionStamp() //lint:ignore SA1019 workers still send it
	return attributes
}

// FailWorkflowTask says that a worker could not work on a workflow task. The reply is a *workflowservice.RespondWorkflowTaskFailedResponse.
type FailWorkflowTask struct {
	Token   Token
	Request *workflowservice.RespondWorkflowTaskFailedRequest
}

func (FailWorkflowTask) cause() string { return "fail-workflow-task" }

func (in FailWorkflowTask) decide(tx *transition) (proto.Message, error) {
	if err := tx.checkTask(in.Token); err != nil {
		return nil, err
	}
	tx.failTask(in.Request.GetCause(), in.Request.GetFailure(), in.Request.GetIdentity())
	tx.scheduleTask()
	return &workflowservice.RespondWorkflowTaskFailedResponse{}, nil
}

// ResetSticky says that a worker has lost the run from its cache: the next task goes to the normal queue. The reply is a
// *workflowservice.ResetStickyTaskQueueResponse.
type ResetSticky struct {
	Request *workflowservice.ResetStickyTaskQueueRequest
}

func (ResetSticky) cause() string { return "reset-sticky" }

func (in ResetSticky) decide(tx *transition) (proto.Message, error) {
	if err := tx.checkOpen(in.Request.GetExecution().GetRunId()); err != nil {
		return nil, err
	}
	tx.setSticky(Sticky{})
	return &workflowservice.ResetStickyTaskQueueResponse{}, nil
}
