package readable

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Event is an event of a history.
type Event struct {
	// ID counts from 1 in each run.
	ID   int64
	Time time.Time
	// Type is as Temporal spells it, as ActivityTaskScheduled.
	Type string
	// Main says what matters most in one line, such as the type of an activity and how it failed; empty if nothing does.
	Main string
	// Attributes are all that the event says, in the order of its definition. What has no value is left out.
	Attributes []Attribute
}

// Attribute is a part of an event. The name has dots where parts have parts, as activityType.name.
type Attribute struct{ Name, Text string }

// EventOf returns an event for people.
func EventOf(e *history.HistoryEvent) Event {
	event := Event{ID: e.GetEventId(), Time: e.GetEventTime().AsTime(), Type: e.GetEventType().String()}
	if attributes := attributesOf(e); attributes != nil {
		walk("", attributes, &event.Attributes)
	}
	if summary := e.GetUserMetadata().GetSummary(); summary != nil {
		event.Attributes = append(event.Attributes, Attribute{"summary", Payload(summary)})
	}
	event.Main = mainOf(e, event.Attributes)
	return event
}

// attributesOf returns the attributes of an event, whatever its type; nil if it has none that this version knows.
func attributesOf(e *history.HistoryEvent) protoreflect.Message {
	m := e.ProtoReflect()
	one := m.Descriptor().Oneofs().ByName("attributes")
	field := m.WhichOneof(one)
	if field == nil {
		return nil
	}
	return m.Get(field).Message()
}

// walk appends the fields of a message that have a value.
func walk(under string, m protoreflect.Message, to *[]Attribute) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if m.Has(field) {
			walkField(join(under, field.JSONName()), field, m.Get(field), to)
		}
	}
}

func walkField(name string, field protoreflect.FieldDescriptor, value protoreflect.Value, to *[]Attribute) {
	switch {
	case field.IsMap():
		walkMap(name, field, value.Map(), to)
	case field.IsList():
		for i, list := 0, value.List(); i < list.Len(); i++ {
			walkValue(name+"["+strconv.Itoa(i)+"]", field, list.Get(i), to)
		}
	default:
		walkValue(name, field, value, to)
	}
}

// walkMap appends a map in the order of its keys.
func walkMap(name string, field protoreflect.FieldDescriptor, values protoreflect.Map, to *[]Attribute) {
	var keys []protoreflect.MapKey
	values.Range(func(key protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, key)
		return true
	})
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return cmp.Compare(a.String(), b.String()) })
	for _, key := range keys {
		walkValue(join(name, key.String()), field.MapValue(), values.Get(key), to)
	}
}

func walkValue(name string, field protoreflect.FieldDescriptor, value protoreflect.Value, to *[]Attribute) {
	switch field.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if text, known := textOf(value.Message().Interface()); known {
			*to = append(*to, Attribute{name, text})
			return
		}
		walk(name, value.Message(), to)
	case protoreflect.EnumKind:
		*to = append(*to, Attribute{name, enumOf(field.Enum(), value.Enum())})
	case protoreflect.BytesKind:
		*to = append(*to, Attribute{name, strconv.Itoa(len(value.Bytes())) + " bytes"})
	default:
		*to = append(*to, Attribute{name, value.String()})
	}
}

// textOf returns messages that people read as one text.
func textOf(m any) (text string, known bool) {
	switch m := m.(type) {
	case *common.Payloads:
		return Payloads(m), true
	case *common.Payload:
		return Payload(m), true
	case *failure.Failure:
		return Failure(m), true
	case *timestamppb.Timestamp:
		return m.AsTime().Format(time.RFC3339Nano), true
	case *durationpb.Duration:
		return m.AsDuration().String(), true
	}
	return "", false
}

// enumOf returns the name of a value without what all names of its type begin with: TIMEOUT for RETRY_STATE_TIMEOUT.
func enumOf(of protoreflect.EnumDescriptor, number protoreflect.EnumNumber) string {
	value := of.Values().ByNumber(number)
	if value == nil {
		return strconv.Itoa(int(number))
	}
	name := string(value.Name())
	if zero := of.Values().ByNumber(0); zero != nil {
		if prefix, ok := strings.CutSuffix(string(zero.Name()), "UNSPECIFIED"); ok {
			name = strings.TrimPrefix(name, prefix)
		}
	}
	return name
}

func join(under, name string) string {
	if under == "" {
		return name
	}
	return under + "." + name
}

// mains are the attributes that matter most, the first ones first.
var mains = []string{
	"activityType.name", "signalName", "markerName", "timerId", "workflowType.name", "acceptedRequest.input.name", "workflowExecution.workflowId",
	"startToFireTimeout", "reason", "cause", "result", "input", "summary",
}

// maxMain is how long the main text may be, in bytes, and maxMains how many attributes it has.
const (
	maxMain  = 160
	maxMains = 3
)

// mainOf returns what matters most of an event.
func mainOf(e *history.HistoryEvent, attributes []Attribute) string {
	var texts []string
	if failed := failureOf(e); failed != nil {
		texts = append(texts, Cause(failed))
	}
	for _, name := range mains {
		i := slices.IndexFunc(attributes, func(a Attribute) bool { return a.Name == name })
		if i >= 0 && len(texts) < maxMains && attributes[i].Text != "" {
			texts = append(texts, strings.Join(strings.Fields(attributes[i].Text), " "))
		}
	}
	text, _ := Cut(strings.Join(texts, " · "), maxMain)
	return text
}

// failureOf returns the failure of an event, nil if it has none.
func failureOf(e *history.HistoryEvent) *failure.Failure {
	m := attributesOf(e)
	if m == nil {
		return nil
	}
	for _, name := range []protoreflect.Name{"failure", "last_failure"} {
		if field := m.Descriptor().Fields().ByName(name); field != nil && m.Has(field) {
			failed, _ := m.Get(field).Message().Interface().(*failure.Failure)
			return failed
		}
	}
	return nil
}
