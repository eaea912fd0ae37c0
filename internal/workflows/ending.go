package workflows

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Report returns the message that tells a schedule how an execution ended, to be stored on its subject. callback is that of the start
// ([wire.StartWorkflow]), in the namespace of the execution; runID is the last run, and event its last event. Whoever reports an end sends
// the message until NATS has acknowledged it. A repeat is harmless.
//
// An error means that the callback cannot be read, or that the event ends nothing: no attempt will succeed.
func Report(
	names subjects.Names, shards int, namespace string, callback []byte, runID string, event *historypb.HistoryEvent,
) (*nats.Msg, error) {
	var to wire.WorkflowCallback
	if err := codec.Unmarshal(callback, &to); err != nil {
		return nil, fmt.Errorf("workflows: read a callback: %w", err)
	}
	completion, err := Completion(&to, runID, event)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(completion)
	if err != nil {
		return nil, fmt.Errorf("workflows: write a completion: %w", err)
	}
	key := to.Key(namespace)
	message := &nats.Msg{
		Subject: names.Callback(subjects.ShardOf(key, shards), key, to.TaskQueue, to.RequestID),
		Header:  nats.Header{"Content-Type": {"application/json"}}, Data: body,
	}
	if to.Trace != "" {
		message.Header.Set(telemetry.HeaderTraceparent, to.Trace)
	}
	return message, nil
}

// Completion returns how an execution ended, by the last event of its last run. A result that is larger than a schedule keeps is left out.
func Completion(to *wire.WorkflowCallback, runID string, event *historypb.HistoryEvent) (*schedule.Completion, error) {
	c := &schedule.Completion{RequestID: to.RequestID, RunID: runID, CloseTime: event.GetEventTime().AsTime().UTC()}
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		c.Status = schedule.StatusCompleted
		result, err := resultText(event.GetWorkflowExecutionCompletedEventAttributes().GetResult())
		if err == nil && len(result) <= schedule.MaxInputBytes {
			c.Result = result
		}
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		c.Status, c.Failure = schedule.StatusFailed, failureOf(event.GetWorkflowExecutionFailedEventAttributes().GetFailure())
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		c.Status = schedule.StatusCanceled
		c.Failure = &schedule.Failure{Type: string(c.Status), Message: "the workflow was canceled"}
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
		reason := event.GetWorkflowExecutionTerminatedEventAttributes().GetReason()
		c.Status = schedule.StatusTerminated
		c.Failure = &schedule.Failure{Type: string(c.Status), Message: cmp.Or(reason, "the workflow was terminated")}
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
		c.Status = schedule.StatusTimedOut
		c.Failure = &schedule.Failure{Type: "timeout", Message: "the workflow did not end within its timeout"}
	default:
		return nil, fmt.Errorf("workflows: event %d, %s, ends no execution", event.GetEventId(), event.GetEventType())
	}
	return c, nil
}
