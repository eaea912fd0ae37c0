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
