package execution

import (
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// newEvent returns an event without an ID. Its type follows from its attributes.
func newEvent(attributes any, at time.Time) *historypb.HistoryEvent {
	event := &historypb.HistoryEvent{EventTime: timestamppb.New(at)}
	if !setWorkflowAttributes(event, attributes) && !setTaskAttributes(event, attributes) && !setCommandAttributes(event, attributes) {
		panic(fmt.Sprintf("execution: no event has %T", attributes)) // a mistake of this package: only its code names the types
	}
	return event
}

// setWorkflowAttributes sets the attributes of events of the run as a whole. It reports whether they are such.
func setWorkflowAttributes(event *historypb.HistoryEvent, attributes any) bool {
	switch a := attributes.(type) {
	case *historypb.WorkflowExecutionStartedEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED
		event.Attributes = &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{WorkflowExecutionStartedEventAttributes: a}
	case *historypb.WorkflowExecutionCompletedEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED
		event.Attributes = &historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes{WorkflowExecutionCompletedEventAttributes: a}
	case *historypb.WorkflowExecutionFailedEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED
		event.Attributes = &historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes{WorkflowExecutionFailedEventAttributes: a}
	case *historypb.WorkflowExecutionTimedOutEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT
		event.Attributes = &historypb.HistoryEvent_WorkflowExecutionTimedOutEventAttributes{WorkflowExecutionTimedOutEventAttributes: a}
	case *historypb.WorkflowExecutionCanceledEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED
		event.Attributes = &historypb.HistoryEvent_WorkflowExecutionCanceledEventAttributes{WorkflowExecutionCanceledEventAttributes: a}
	case *historypb.WorkflowExecutionTerminatedEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED
		event.Attributes = &historypb.HistoryEvent_WorkflowExecutionTerminatedEventAttributes{WorkflowExecutionTerminatedEventAttributes: a}
	case *historypb.WorkflowExecutionContinuedAsNewEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW
		event.Attributes = &historypb.HistoryEvent_WorkflowExecutionContinuedAsNewEventAttributes{WorkflowExecutionContinuedAsNewEventAttributes: a}
	case *historypb.WorkflowExecutionSignaledEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
		event.Attributes = &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{WorkflowExecutionSignaledEventAttributes: a}
	case *historypb.WorkflowExecutionCancelRequestedEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED
		event.Attributes = &historypb.HistoryEvent_WorkflowExecutionCancelRequestedEventAttributes{WorkflowExecutionCancelRequestedEventAttributes: a}
	default:
		return false
	}
	return true
}

// setTaskAttributes sets the attributes of events of tasks. It reports whether they are such.
func setTaskAttributes(event *historypb.HistoryEvent, attributes any) bool {
	switch a := attributes.(type) {
	case *historypb.WorkflowTaskScheduledEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED
		event.Attributes = &historypb.HistoryEvent_WorkflowTaskScheduledEventAttributes{WorkflowTaskScheduledEventAttributes: a}
	case *historypb.WorkflowTaskStartedEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED
		event.Attributes = &historypb.HistoryEvent_WorkflowTaskStartedEventAttributes{WorkflowTaskStartedEventAttributes: a}
	case *historypb.WorkflowTaskCompletedEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
		event.Attributes = &historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes{WorkflowTaskCompletedEventAttributes: a}
	case *historypb.WorkflowTaskFailedEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED
		event.Attributes = &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{WorkflowTaskFailedEventAttributes: a}
	case *historypb.WorkflowTaskTimedOutEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT
		event.Attributes = &historypb.HistoryEvent_WorkflowTaskTimedOutEventAttributes{WorkflowTaskTimedOutEventAttributes: a}
	case *historypb.ActivityTaskScheduledEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
		event.Attributes = &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{ActivityTaskScheduledEventAttributes: a}
	case *historypb.ActivityTaskStartedEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED
		event.Attributes = &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{ActivityTaskStartedEventAttributes: a}
	case *historypb.ActivityTaskCompletedEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
		event.Attributes = &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{ActivityTaskCompletedEventAttributes: a}
	case *historypb.ActivityTaskFailedEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED
		event.Attributes = &historypb.HistoryEvent_ActivityTaskFailedEventAttributes{ActivityTaskFailedEventAttributes: a}
	case *historypb.ActivityTaskTimedOutEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT
		event.Attributes = &historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes{ActivityTaskTimedOutEventAttributes: a}
	case *historypb.ActivityTaskCancelRequestedEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED
		event.Attributes = &historypb.HistoryEvent_ActivityTaskCancelRequestedEventAttributes{ActivityTaskCancelRequestedEventAttributes: a}
	case *historypb.ActivityTaskCanceledEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED
		event.Attributes = &historypb.HistoryEvent_ActivityTaskCanceledEventAttributes{ActivityTaskCanceledEventAttributes: a}
	default:
		return false
	}
	return true
}

// setCommandAttributes sets the attributes of other events. It reports whether they are such.
func setCommandAttributes(event *historypb.HistoryEvent, attributes any) bool {
	switch a := attributes.(type) {
	case *historypb.TimerStartedEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_TIMER_STARTED
		event.Attributes = &historypb.HistoryEvent_TimerStartedEventAttributes{TimerStartedEventAttributes: a}
	case *historypb.TimerFiredEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_TIMER_FIRED
		event.Attributes = &historypb.HistoryEvent_TimerFiredEventAttributes{TimerFiredEventAttributes: a}
	case *historypb.TimerCanceledEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_TIMER_CANCELED
		event.Attributes = &historypb.HistoryEvent_TimerCanceledEventAttributes{TimerCanceledEventAttributes: a}
	case *historypb.MarkerRecordedEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_MARKER_RECORDED
		event.Attributes = &historypb.HistoryEvent_MarkerRecordedEventAttributes{MarkerRecordedEventAttributes: a}
	case *historypb.UpsertWorkflowSearchAttributesEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES
		event.Attributes = &historypb.HistoryEvent_UpsertWorkflowSearchAttributesEventAttributes{UpsertWorkflowSearchAttributesEventAttributes: a}
	case *historypb.WorkflowPropertiesModifiedEventAttributes:
		event.EventType = enumspb.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED
		event.Attributes = &historypb.HistoryEvent_WorkflowPropertiesModifiedEventAttributes{WorkflowPropertiesModifiedEventAttributes: a}
	default:
		return false
	}
	return true
}

// isResult reports whether an event says how an activity ended.
func isResult(event *historypb.HistoryEvent) bool {
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT, enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		return true
	}
	return false
}

// activityResult is what the results of activities have in common.
type activityResult interface{ GetScheduledEventId() int64 }

// resultOf returns the ID of the event that scheduled the activity of a result.
func resultOf(event *historypb.HistoryEvent) int64 {
	for _, result := range []activityResult{
		event.GetActivityTaskCompletedEventAttributes(), event.GetActivityTaskFailedEventAttributes(),
		event.GetActivityTaskTimedOutEventAttributes(), event.GetActivityTaskCanceledEventAttributes(),
	} {
		if id := result.GetScheduledEventId(); id != 0 {
			return id
		}
	}
	return 0
}

// setStarted gives the result of an activity the ID of the event with which it started, which had none while both were buffered.
func setStarted(event *historypb.HistoryEvent, started map[int64]int64) {
	switch a := event.Attributes.(type) {
	case *historypb.HistoryEvent_ActivityTaskCompletedEventAttributes:
		result := a.ActivityTaskCompletedEventAttributes
		result.StartedEventId = started[result.GetScheduledEventId()]
	case *historypb.HistoryEvent_ActivityTaskFailedEventAttributes:
		result := a.ActivityTaskFailedEventAttributes
		result.StartedEventId = started[result.GetScheduledEventId()]
	case *historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes:
		result := a.ActivityTaskTimedOutEventAttributes
		result.StartedEventId = started[result.GetScheduledEventId()]
	case *historypb.HistoryEvent_ActivityTaskCanceledEventAttributes:
		result := a.ActivityTaskCanceledEventAttributes
		result.StartedEventId = started[result.GetScheduledEventId()]
	}
}
