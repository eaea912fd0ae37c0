package execution

import (
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// kind is how an event has its attributes.
type kind struct {
	field protoreflect.FieldDescriptor
	of    enumspb.EventType
}

// kinds are the kinds of events, by the names of their attributes' messages. The names of the types of events follow from them.
var kinds = func() map[protoreflect.FullName]kind {
	all := map[protoreflect.FullName]kind{}
	fields := (&historypb.HistoryEvent{}).ProtoReflect().Descriptor().Oneofs().ByName("attributes").Fields()
	for i := range fields.Len() {
		name, _ := strings.CutSuffix(string(fields.Get(i).Name()), "_event_attributes")
		of := enumspb.EventType(enumspb.EventType_value["EVENT_TYPE_"+strings.ToUpper(name)])
		all[fields.Get(i).Message().FullName()] = kind{fields.Get(i), of}
	}
	return all
}()

// newEvent returns an event without an ID. Its type follows from its attributes.
func newEvent(attributes proto.Message, at time.Time) *historypb.HistoryEvent {
	a := attributes.ProtoReflect()
	of, ok := kinds[a.Descriptor().FullName()]
	if !ok {
		panic(fmt.Sprintf("execution: no event has %T", attributes)) // a mistake of this package: only its code names the types
	}
	event := &historypb.HistoryEvent{EventTime: timestamppb.New(at), EventType: of.of}
	event.ProtoReflect().Set(of.field, protoreflect.ValueOfMessage(a))
	return event
}

// isResult reports whether an event says how an activity or a child workflow ended.
func isResult(event *historypb.HistoryEvent) bool {
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT, enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED,
		enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED,
		enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED, enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT,
		enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED:
		return true
	}
	return false
}

// resultOf returns the ID of the event that scheduled the activity, or initiated the child workflow or the request to another workflow, whose
// outcome an event says; zero if it says none.
func resultOf(event *historypb.HistoryEvent) int64 {
	for _, result := range []interface{ GetScheduledEventId() int64 }{
		event.GetActivityTaskCompletedEventAttributes(), event.GetActivityTaskFailedEventAttributes(),
		event.GetActivityTaskTimedOutEventAttributes(), event.GetActivityTaskCanceledEventAttributes(),
	} {
		if id := result.GetScheduledEventId(); id != 0 {
			return id
		}
	}
	for _, result := range []interface{ GetInitiatedEventId() int64 }{
		event.GetChildWorkflowExecutionCompletedEventAttributes(), event.GetChildWorkflowExecutionFailedEventAttributes(),
		event.GetChildWorkflowExecutionCanceledEventAttributes(), event.GetChildWorkflowExecutionTimedOutEventAttributes(),
		event.GetChildWorkflowExecutionTerminatedEventAttributes(), event.GetStartChildWorkflowExecutionFailedEventAttributes(),
		event.GetExternalWorkflowExecutionSignaledEventAttributes(), event.GetSignalExternalWorkflowExecutionFailedEventAttributes(),
		event.GetExternalWorkflowExecutionCancelRequestedEventAttributes(), event.GetRequestCancelExternalWorkflowExecutionFailedEventAttributes(),
	} {
		if id := result.GetInitiatedEventId(); id != 0 {
			return id
		}
	}
	return 0
}

// startedBy returns the ID of the event that began what an event says the start of; zero if it says none.
func startedBy(event *historypb.HistoryEvent) int64 {
	return max(event.GetActivityTaskStartedEventAttributes().GetScheduledEventId(),
		event.GetChildWorkflowExecutionStartedEventAttributes().GetInitiatedEventId())
}

// setStarted gives a result the ID of the event with which its activity or child workflow started, which had none while both were buffered.
func setStarted(event *historypb.HistoryEvent, started map[int64]int64) {
	id := started[resultOf(event)]
	if id == 0 || !isResult(event) {
		return
	}
	m := event.ProtoReflect()
	attributes := m.Mutable(m.WhichOneof(m.Descriptor().Oneofs().ByName("attributes"))).Message()
	attributes.Set(attributes.Descriptor().Fields().ByName("started_event_id"), protoreflect.ValueOfInt64(id))
}
