package query

import (
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"

	"github.com/carillon-scheduler/carillon/internal/suggest"
)

// The fields that every worker has, as Temporal names them. Further ones have the names of fields of executions: StartTime and TaskQueue.
const (
	WorkerInstanceKey = "WorkerInstanceKey"
	WorkerIdentity    = "WorkerIdentity"
	HostName          = "HostName"
	DeploymentName    = "DeploymentName"
	BuildID           = "BuildId"
	SDKName           = "SdkName"
	SDKVersion        = "SdkVersion"
	HeartbeatTime     = "HeartbeatTime"
	WorkerStatus      = "WorkerStatus"
)

// workerFields are the fields of workers and their types, in the order in which errors list them.
var workerFields = []builtIn{
	{WorkerInstanceKey, Text}, {WorkerIdentity, Text}, {HostName, Text}, {QueueOf, Text}, {DeploymentName, Text}, {BuildID, Text},
	{SDKName, Text}, {SDKVersion, Text}, {StartTime, Time}, {HeartbeatTime, Time}, {WorkerStatus, Text},
}

var workerStatus = Field{Worker, WorkerStatus}

// ParseWorkers makes a query about workers of a text. It has no order. The error is an [*Error].
func ParseWorkers(text string) (*Query, error) {
	return (&parser{scanner: scanner{text: text, temporal: true}, workers: true}).parse()
}

// workerField reads the name of a field of a worker. Status is another name of WorkerStatus.
func (p *parser) workerField() (Field, error) {
	t := p.token
	field := Field{Worker, t.text}
	if t.text == "Status" {
		field = workerStatus
	}
	if field.Kind() != "" {
		return field, p.advance()
	}
	known := namesOf(workerFields)
	if meant := suggest.Nearest(t.text, known); meant != "" {
		return Field{}, errorAt(t.at, "no worker has %s: did you mean %s?", shorten(t.text), meant)
	}
	return Field{}, errorAt(t.at, "no worker has %s: use one of %s", shorten(t.text), strings.Join(known, ", "))
}

// workerValue makes a value of the type of a field of workers.
func workerValue(field Field, value Value, t token) (Value, error) {
	switch {
	case field == workerStatus:
		return workerStatusValue(value, t)
	case field.Kind() == Time && value.Kind == Int:
		return TimeOf(time.Unix(0, value.Int)), nil
	}
	return typed(field, Equal, value, t)
}

// workerStatusValue reads the name of a status, in any case.
func workerStatusValue(value Value, t token) (Value, error) {
	names := workerStatuses()
	i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, value.Text) })
	if value.Kind != Text || i < 0 {
		return Value{}, errorAt(t.at, "%s is no status of a worker: use one of %s", t.describe(), strings.Join(names, ", "))
	}
	return TextOf(names[i]), nil
}

// workerStatuses are the names of the statuses that a worker may have.
func workerStatuses() (names []string) {
	for status := enums.WORKER_STATUS_RUNNING; enums.WorkerStatus_name[int32(status)] != ""; status++ {
		names = append(names, status.String())
	}
	return names
}
