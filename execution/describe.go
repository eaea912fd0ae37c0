package execution

import (
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Describe returns what is to be said about the newest run. The state must have a run.
func Describe(state *State) *workflowservice.DescribeWorkflowExecutionResponse {
	r := state.Run
	response := &workflowservice.DescribeWorkflowExecutionResponse{
		ExecutionConfig: &workflowpb.WorkflowExecutionConfig{
			TaskQueue:                  r.taskQueue(""),
			WorkflowExecutionTimeout:   r.Attributes.GetWorkflowExecutionTimeout(),
			WorkflowRunTimeout:         r.Attributes.GetWorkflowRunTimeout(),
			DefaultWorkflowTaskTimeout: r.Attributes.GetWorkflowTaskTimeout(),
			UserMetadata:               r.UserMetadata,
		},
		WorkflowExecutionInfo: state.info(),
		WorkflowExtendedInfo: &workflowpb.WorkflowExecutionExtendedInfo{
			ExecutionExpirationTime: r.Attributes.GetWorkflowExecutionExpirationTime(),
			RunExpirationTime:       timestamp(r.expires()),
			CancelRequested:         r.CancelRequested,
			OriginalStartTime:       timestamppb.New(r.Start),
			ResetRunId:              r.ResetRun,
			RequestIdInfos:          r.requestInfos(),
		},
	}
	if !r.OriginalStart.IsZero() {
		response.WorkflowExtendedInfo.OriginalStartTime = timestamppb.New(r.OriginalStart)
		response.WorkflowExtendedInfo.LastResetTime = timestamppb.New(r.Start)
	}
	for _, activity := range ordered(r.Activities) {
		response.PendingActivities = append(response.PendingActivities, r.pending(&activity))
	}
	for event, child := range ordered(r.Children) {
		response.PendingChildren = append(response.PendingChildren, r.pendingChild(event, child))
	}
	if task := &r.Task; task.Scheduled != 0 {
		response.PendingWorkflowTask = &workflowpb.PendingWorkflowTaskInfo{
			State: enumspb.PENDING_WORKFLOW_TASK_STATE_SCHEDULED, ScheduledTime: timestamppb.New(task.ScheduledTime),
			OriginalScheduledTime: timestamppb.New(task.OriginalTime), StartedTime: timestamp(task.StartedTime), Attempt: task.Attempt,
		}
		if task.Started != 0 {
			response.PendingWorkflowTask.State = enumspb.PENDING_WORKFLOW_TASK_STATE_STARTED
		}
	}
	return response
}

func (s *State) info() *workflowpb.WorkflowExecutionInfo {
	r := s.Run
	info := &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: s.Key.WorkflowID, RunId: r.ID}, Type: r.Attributes.GetWorkflowType(),
		StartTime: timestamppb.New(r.Start), CloseTime: timestamp(r.Close), Status: r.Status, HistoryLength: r.NextEvent - 1,
		ExecutionTime: timestamppb.New(r.executionTime()),
		Memo:          &commonpb.Memo{Fields: r.Memo}, SearchAttributes: &commonpb.SearchAttributes{IndexedFields: r.SearchAttributes},
		TaskQueue: r.Attributes.GetTaskQueue().GetName(), HistorySizeBytes: r.Bytes, StateTransitionCount: r.Entries,
		ParentExecution: r.Attributes.GetParentWorkflowExecution(),
		RootExecution:   s.root(), FirstRunId: r.Attributes.GetFirstExecutionRunId(),
		Priority: r.Attributes.GetPriority(), AutoResetPoints: r.resetPoints(),
	}
	info.MostRecentWorkerVersionStamp = r.WorkerVersion //lint:ignore SA1019 clients still show it
	if !r.Close.IsZero() {
		info.ExecutionDuration = durationpb.New(r.Close.Sub(info.GetExecutionTime().AsTime()))
	}
	return info
}

// requestInfos says which event the request has led to that began the run; nil if none has.
func (r *Run) requestInfos() map[string]*workflowpb.RequestIdInfo {
	if r.StartRequest == "" || r.ID != r.Attributes.GetFirstExecutionRunId() {
		return nil // the request began the first run of the chain
	}
	return map[string]*workflowpb.RequestIdInfo{r.StartRequest: {EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, EventId: 1}}
}

func (r *Run) pending(a *Activity) *workflowpb.PendingActivityInfo {
	policy := a.Attributes.GetRetryPolicy()
	info := &workflowpb.PendingActivityInfo{
		ActivityId: a.Attributes.GetActivityId(), ActivityType: a.Attributes.GetActivityType(),
		State: enumspb.PENDING_ACTIVITY_STATE_SCHEDULED, HeartbeatDetails: r.details(a), LastStartedTime: timestamp(a.Started),
		Attempt: a.Attempt, MaximumAttempts: policy.GetMaximumAttempts(), ScheduledTime: timestamppb.New(a.Due),
		ExpirationTime: timestamp(a.expires()), LastFailure: a.lastFailure(), LastWorkerIdentity: a.LastIdentity,
		LastAttemptCompleteTime: timestamp(a.LastEnd), Priority: mergedPriority(r.Attributes.GetPriority(), a.Attributes.GetPriority()),
		ActivityOptions: optionsOf(a.Attributes),
	}
	if beat, ok := r.beatOf(a); ok {
		info.LastHeartbeatTime = timestamppb.New(beat.Time)
	}
	if a.Reset {
		info.Attempt = 1 // that in progress counts as the first one
	}
	if a.Waiting && !a.paused() {
		info.NextAttemptScheduleTime = timestamppb.New(a.Due)
		info.CurrentRetryInterval = durationpb.New(a.Due.Sub(a.LastEnd))
	}
	if !a.Started.IsZero() {
		info.State, info.LastWorkerIdentity = a.inProgress(), a.Identity
	}
	if a.paused() {
		a.describePause(info)
	}
	return info
}

// describePause says who has paused an activity. One that is asked to end stays so.
func (a *Activity) describePause(info *workflowpb.PendingActivityInfo) {
	info.Paused = true
	info.PauseInfo = &workflowpb.PendingActivityInfo_PauseInfo{
		PauseTime: timestamppb.New(a.Pause.Since),
		PausedBy: &workflowpb.PendingActivityInfo_PauseInfo_Manual_{Manual: &workflowpb.PendingActivityInfo_PauseInfo_Manual{
			Identity: a.Pause.Identity, Reason: a.Pause.Reason,
		}},
	}
	switch info.GetState() {
	case enumspb.PENDING_ACTIVITY_STATE_SCHEDULED:
		info.State = enumspb.PENDING_ACTIVITY_STATE_PAUSED
	case enumspb.PENDING_ACTIVITY_STATE_STARTED:
		info.State = enumspb.PENDING_ACTIVITY_STATE_PAUSE_REQUESTED
	}
}

func (r *Run) pendingChild(event int64, child Child) *workflowpb.PendingChildExecutionInfo {
	a := child.attributes()
	info := &workflowpb.PendingChildExecutionInfo{
		WorkflowId: a.GetWorkflowId(), WorkflowTypeName: a.GetWorkflowType().GetName(), InitiatedId: event, ParentClosePolicy: a.GetParentClosePolicy(),
	}
	if child.Begun {
		info.RunId = childRunID(r.Author(event).RunID, event)
	}
	return info
}

// inProgress is the state of an activity that a worker has.
func (a *Activity) inProgress() enumspb.PendingActivityState {
	if a.CancelEvent != 0 {
		return enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED
	}
	return enumspb.PENDING_ACTIVITY_STATE_STARTED
}

// timestamp returns a time as Temporal's messages have it; nil if it is zero.
func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// Suffix returns the events of a workflow task, in progress or waiting for a worker, that are not in the journal, and perhaps never will be. A reader of
// the history sees them at its end.
func (s *State) Suffix() []*historypb.HistoryEvent {
	r := s.Run
	if !r.Open() {
		return nil
	}
	if task := &r.Task; task.Started == 0 && task.virtual() && task.Scheduled == r.NextEvent {
		return []*historypb.HistoryEvent{r.virtualScheduled()}
	}
	return r.virtualEvents()
}
