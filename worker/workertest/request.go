package workertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// Request is the run that a handler executes. Each zero field is a default that fits most tests. The zero Request is a run without an input
// and without time limits that is due now and is not tried again.
type Request struct {
	// Input, LastResult and LastHeartbeat are any values that can be written as JSON; nil means none. LastResult is the result of the
	// schedule's last success. LastHeartbeat are the details that an earlier attempt recorded.
	Input, LastResult, LastHeartbeat any
	// LastFailure is the failure of the schedule's last run.
	LastFailure *schedule.Failure
	// Type is the action type. Default: "test".
	Type string
	// Namespace, ScheduleID and TaskQueue say whose run it is. Default: "default", "test" and "test".
	Namespace, ScheduleID, TaskQueue string
	// WorkflowID, RunID and RequestID name the run. The default of WorkflowID is the schedule ID and the nominal time, as the server makes
	// it. The others default to "run" and "request".
	WorkflowID, RunID, RequestID string
	// NominalTime is the time that the run is for. Default: now, in whole seconds. DueTime is the nominal time plus jitter. Default: the
	// nominal time.
	NominalTime, DueTime time.Time
	// Headers, Memo and SearchAttributes are those of the action.
	Headers                map[string]string
	Memo, SearchAttributes map[string]any
	// RunTimeout bounds the run with all its attempts, TaskTimeout one attempt, and HeartbeatTimeout the time without a heartbeat. Zero
	// means no limit.
	RunTimeout, TaskTimeout, HeartbeatTimeout time.Duration
	// RetryPolicy is the retry policy of the action. With nil, the run is not tried again.
	RetryPolicy *schedule.RetryPolicy
	// Priority is 1 to 5; zero means 3.
	Priority int
	// Attempt is the number of the first attempt. Default: 1.
	Attempt int
	// Middleware wraps the handler, as in worker.Config.
	Middleware []worker.Middleware
	// Logger receives the logs. Default: the log of the test.
	Logger *slog.Logger
}

// trial turns a request into a worker.Trial.
func (r Request) trial(handler worker.Handler, now time.Time) (worker.Trial, error) {
	r = r.withDefaults(now)
	var e encoder
	request := schedule.ActionRequest{
		Namespace: r.Namespace, ScheduleID: r.ScheduleID, WorkflowID: r.WorkflowID, RunID: r.RunID, RequestID: r.RequestID,
		Type: r.Type, TaskQueue: r.TaskQueue, NominalTime: r.NominalTime.UTC(), DueTime: r.DueTime.UTC(),
		TaskTimeout: schedule.Duration(r.TaskTimeout), HeartbeatTimeout: schedule.Duration(r.HeartbeatTimeout),
		Input: e.value("Input", r.Input), Headers: r.Headers, Memo: e.values("Memo", r.Memo),
		SearchAttributes: e.values("SearchAttributes", r.SearchAttributes),
		RetryPolicy:      r.RetryPolicy, Priority: r.Priority,
		LastSuccess: e.value("LastResult", r.LastResult), LastFailure: r.LastFailure,
	}
	if r.RunTimeout > 0 {
		request.Deadline = now.Add(r.RunTimeout).UTC()
	}
	trial := worker.Trial{
		Handler: handler, Middleware: r.Middleware, Request: request, Attempt: r.Attempt,
		LastHeartbeat: e.value("LastHeartbeat", r.LastHeartbeat), Logger: r.Logger,
	}
	return trial, e.err
}

func (r Request) withDefaults(now time.Time) Request {
	r.Type = cmp.Or(r.Type, "test")
	r.Namespace = cmp.Or(r.Namespace, worker.DefaultNamespace)
	r.ScheduleID = cmp.Or(r.ScheduleID, "test")
	r.TaskQueue = cmp.Or(r.TaskQueue, "test")
	if r.NominalTime.IsZero() {
		r.NominalTime = now.Truncate(time.Second)
	}
	if r.DueTime.IsZero() {
		r.DueTime = r.NominalTime
	}
	r.WorkflowID = cmp.Or(r.WorkflowID, r.ScheduleID+"-"+r.NominalTime.UTC().Format(time.RFC3339))
	r.RunID = cmp.Or(r.RunID, "run")
	r.RequestID = cmp.Or(r.RequestID, "request")
	r.Attempt = max(r.Attempt, 1)
	return r
}

// encoder writes the values of a request as JSON. It keeps the first error.
type encoder struct{ err error }

func (e *encoder) value(field string, value any) json.RawMessage {
	if value == nil {
		return nil
	}
	data, err := json.Marshal(value)
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("%s cannot be written as JSON: %w", field, err)
	}
	return data
}

func (e *encoder) values(field string, values map[string]any) map[string]json.RawMessage {
	if values == nil {
		return nil
	}
	encoded := make(map[string]json.RawMessage, len(values))
	for name, value := range values {
		encoded[name] = e.value(field+"["+name+"]", value)
	}
	return encoded
}
