package workflows

import (
	"encoding/json"
	"maps"
	"math"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/payload"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Request returns the request for the execution of a start, by the action of its schedule and what the schedule knows of earlier runs. The
// action may differ from that of the schedule, because a trigger may replace parts of it. A problem says what is wrong with an action that
// has not been validated.
func Request(
	of schedule.Key, action *schedule.Action, start *wire.BufferedStart, last wire.Result,
) (*workflowservice.StartWorkflowExecutionRequest, *jsontext.Problem) {
	r := &workflowservice.StartWorkflowExecutionRequest{
		Namespace: of.Namespace, WorkflowId: start.WorkflowID, RequestId: start.RequestID, Identity: Identity(of.ID),
		WorkflowType:             &commonpb.WorkflowType{Name: action.Type},
		TaskQueue:                &taskqueuepb.TaskQueue{Name: start.TaskQueue, Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
		WorkflowExecutionTimeout: Duration(action.ExecutionTimeout), WorkflowRunTimeout: Duration(action.RunTimeout),
		WorkflowTaskTimeout: Duration(action.TaskTimeout), RetryPolicy: retryPolicy(action.RetryPolicy),
		WorkflowIdReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIdConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		LastCompletionResult:     resultOf(last.Success), ContinuedFailure: continued(last.Failure),
	}
	if priority := (commonpb.Priority{
		PriorityKey: int32(action.Priority), FairnessKey: action.FairnessKey, FairnessWeight: float32(action.FairnessWeight),
	}); !proto.Equal(&priority, &commonpb.Priority{}) {
		r.Priority = &priority
	}
	for _, fill := range []func(*workflowservice.StartWorkflowExecutionRequest, *schedule.Action) *jsontext.Problem{
		fillInput, fillHeader, fillMemo, fillMetadata,
	} {
		if problem := fill(r, action); problem != nil {
			return nil, problem
		}
	}
	attributes, problem := Fields(action.SearchAttributes)
	if problem != nil {
		return nil, problem
	}
	r.SearchAttributes = &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{}}
	maps.Copy(r.SearchAttributes.IndexedFields, attributes)
	maps.Copy(r.SearchAttributes.IndexedFields, map[string]*commonpb.Payload{
		schedule.AttributeScheduledBy:        attribute("Keyword", of.ID),
		schedule.AttributeScheduledStartTime: attribute("Datetime", start.Nominal.UTC().Format(time.RFC3339)),
	})
	return r, nil
}

// Identity is the identity under which a schedule starts and ends executions.
func Identity(scheduleID string) string { return "schedule " + scheduleID }

// Duration returns a duration, such as a timeout, in the form of Temporal's messages; nil for zero, which stands for none.
func Duration(d schedule.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d.Std())
}

// retryPolicy returns a retry policy in the form of Temporal's messages; nil for none.
func retryPolicy(p *schedule.RetryPolicy) *commonpb.RetryPolicy {
	if p == nil {
		return nil
	}
	return &commonpb.RetryPolicy{
		InitialInterval: Duration(p.InitialInterval), BackoffCoefficient: p.BackoffCoefficient, MaximumInterval: Duration(p.MaximumInterval),
		MaximumAttempts: int32(min(p.MaximumAttempts, math.MaxInt32)), NonRetryableErrorTypes: p.NonRetryableErrorTypes,
	}
}

func fillInput(r *workflowservice.StartWorkflowExecutionRequest, action *schedule.Action) (problem *jsontext.Problem) {
	r.Input, problem = Arguments(action.Input)
	return problem
}

func fillHeader(r *workflowservice.StartWorkflowExecutionRequest, action *schedule.Action) *jsontext.Problem {
	header, problem := Fields(action.HeaderPayloads)
	for name, text := range action.Headers {
		if header == nil {
			header = map[string]*commonpb.Payload{}
		}
		header[name] = fromPlain(payload.JSON(quoted(text)))
	}
	if len(header) > 0 {
		r.Header = &commonpb.Header{Fields: header}
	}
	return problem
}

func fillMemo(r *workflowservice.StartWorkflowExecutionRequest, action *schedule.Action) *jsontext.Problem {
	memo, problem := Fields(action.Memo)
	if len(memo) > 0 {
		r.Memo = &commonpb.Memo{Fields: memo}
	}
	return problem
}

func fillMetadata(r *workflowservice.StartWorkflowExecutionRequest, action *schedule.Action) (problem *jsontext.Problem) {
	if action.UserMetadata == nil {
		return nil
	}
	metadata := &sdkpb.UserMetadata{}
	if summary := action.UserMetadata.Summary; len(summary) > 0 {
		metadata.Summary, problem = Payload(summary)
	}
	if details := action.UserMetadata.Details; problem == nil && len(details) > 0 {
		metadata.Details, problem = Payload(details)
	}
	r.UserMetadata = metadata
	return problem
}

// attribute returns the value of a search attribute.
func attribute(kind, value string) *commonpb.Payload {
	p := fromPlain(payload.JSON(quoted(value)))
	p.Metadata["type"] = []byte(kind)
	return p
}

// quoted returns a text as JSON.
func quoted(text string) json.RawMessage {
	quoted, err := jsontext.Encode(text)
	if err != nil {
		panic("workflows: a text cannot be written as JSON: " + err.Error())
	}
	return quoted
}
