package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Destination names the messages of one kind: the fixed parts of their subjects, without prefix, shard and schedule. It is the
// template of the destination in spans, and part of their names, so there are only a few.
type Destination string

// The destinations of messages in spans. The tasks of a role have destinations of their own: [DestinationOfRole].
const (
	DestinationAction   Destination = "action"
	DestinationCallback Destination = "callback"
	// DestinationOther is for every message without a destination of its own.
	DestinationOther Destination = "other"
)

// destinationOf returns the destination of a subject.
func destinationOf(subject string) Destination {
	_, rest, _ := strings.Cut(subject, ".") // a prefix has no dots
	kind, rest, _ := strings.Cut(rest, ".")
	if kind == "task" {
		_, rest, _ = strings.Cut(rest, ".")
		kind, _, _ = strings.Cut(rest, ".")
	}
	if kind == string(DestinationAction) {
		return DestinationAction
	}
	return DestinationOfRole(subjects.Role(kind))
}

// destinations has the destinations of the tasks of all roles: "task." and the role, except for callbacks, whose subjects are not
// task subjects.
var destinations = func() map[subjects.Role]Destination {
	all := map[subjects.Role]Destination{}
	for _, role := range subjects.Roles() {
		all[role] = Destination("task." + role)
	}
	all[subjects.RoleCallback] = DestinationCallback
	return all
}()

// DestinationOfRole returns the destination of the tasks of a role.
func DestinationOfRole(role subjects.Role) Destination {
	return cmp.Or(destinations[role], DestinationOther)
}

// operation describes, for spans, what is done with messages of a destination. It is made in advance, because samplers need it at
// the start of a span, before it is known whether anybody will see the span.
type operation struct {
	name    string
	options []trace.SpanStartOption
}

var (
	processing = operations("process", semconv.MessagingOperationTypeProcess, trace.SpanKindConsumer)
	publishing = operations("publish", semconv.MessagingOperationTypeSend, trace.SpanKindProducer)
)

func operations(name string, class attribute.KeyValue, kind trace.SpanKind) map[Destination]operation {
	made := map[Destination]operation{}
	for _, to := range slices.AppendSeq([]Destination{DestinationAction, DestinationOther}, maps.Values(destinations)) {
		made[to] = operation{name: name + " " + string(to), options: []trace.SpanStartOption{
			trace.WithSpanKind(kind),
			trace.WithAttributes(
				semconv.MessagingSystemKey.String("nats"),
				semconv.MessagingOperationName(name), class,
				semconv.MessagingDestinationTemplate(string(to)),
			),
		}}
	}
	return made
}

// of returns the operation on a destination, or the one on DestinationOther if the destination is unknown.
func of(known map[Destination]operation, to Destination) operation {
	if o, ok := known[to]; ok {
		return o
	}
	return known[DestinationOther]
}

// subjectAttributes returns what the subject of a task says.
func subjectAttributes(subject string) []attribute.KeyValue {
	attributes := []attribute.KeyValue{semconv.MessagingDestinationName(subject)}
	prefix, _, _ := strings.Cut(subject, ".")
	names, err := subjects.New(prefix)
	if err != nil {
		return attributes
	}
	task, err := names.ParseTask(subject)
	if err != nil {
		return attributes
	}
	return append(attributes, ScheduleAttributes(task.Key)...)
}

// ScheduleAttributes returns the attributes that name a span's schedule.
func ScheduleAttributes(key schedule.Key) []attribute.KeyValue {
	return []attribute.KeyValue{AttributeNamespace.String(key.Namespace), AttributeScheduleID.String(key.ID)}
}
