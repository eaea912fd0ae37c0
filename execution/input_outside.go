package execution

import (
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
)

// ErrCompleted says that a run has ended. It is a NotFound of Temporal's.
var ErrCompleted error = serviceerror.NewNotFound("workflow execution already completed")

// EarlierRun returns the run that a client's signal, cancellation or termination was for, if it was refused because that is not the newest run; empty
// for anything else. Whoever finds that there has been such a run tells the client [ErrCompleted] instead.
func EarlierRun(state *State, in Input) (runID string) {
	switch in := in.(type) {
	case Signal:
		if in.From == nil {
			runID = in.Request.GetWorkflowExecution().GetRunId()
		}
	case RequestCancel:
		if in.From == nil {
			runID = in.Request.GetWorkflowExecution().GetRunId()
		}
	case Terminate:
		runID = in.Request.GetWorkflowExecution().GetRunId()
	}
	if state.Run == nil || runID == state.Run.ID || state.Run.Deleted(runID) {
		return ""
	}
	return runID
}

// checkOpen reports an error unless the newest run is in progress and has the run ID, if one is given.
func (tx *transition) checkOpen(runID string) error {
	switch {
	case tx.run == nil || runID != "" && runID != tx.run.ID:
		return notFound(tx.before.Key.WorkflowID)
	case !tx.run.Open():
		return ErrCompleted
	}
	return nil
}

func notFound(workflowID string) error {
	return serviceerror.NewNotFound("workflow not found for ID: " + workflowID)
}

// alreadyStarted is the error for a start that the newest run forbids. The format names workflow ID and run ID.
func (tx *transition) alreadyStarted(format string) error {
	return serviceerror.NewWorkflowExecutionAlreadyStartedWithFirstExecutionRunId(
		fmt.Sprintf(format, tx.before.Key.WorkflowID, tx.run.ID), tx.run.StartRequest, tx.run.ID, tx.run.Attributes.GetFirstExecutionRunId())
}

// Signal signals the run in progress. The reply is a *workflowservice.SignalWorkflowExecutionResponse.
type Signal struct {
	Request *workflowservice.SignalWorkflowExecutionRequest
	// From is the workflow that signals; nil if none does.
	From *From
}

func (Signal) cause() string { return "signal" }

func (in Signal) decide(tx *transition) (proto.Message, error) {
	request := in.Request
	if err := tx.checkOpen(request.GetWorkflowExecution().GetRunId()); err != nil {
		return nil, err
	}
	if err := in.From.check(tx); err != nil {
		return nil, err
	}
	if request.GetSignalName() == "" {
		return nil, serviceerror.NewInvalidArgument("SignalName is not set on request.")
	}
	return &workflowservice.SignalWorkflowExecutionResponse{}, tx.signal(&historypb.WorkflowExecutionSignaledEventAttributes{
		SignalName: request.GetSignalName(), Input: request.GetInput(), Identity: request.GetIdentity(), Header: request.GetHeader(),
		ExternalWorkflowExecution: in.From.execution(),
	}, request.GetRequestId(), true)
}

// errSignals is what a signal is told that is one too many.
var errSignals = serviceerror.NewInvalidArgument("exceeded workflow execution limit for signal events")

// ErrClosing says that a run is about to end, or has ended and another one follows on it. It is a ResourceExhausted of Temporal's: whoever tries again
// soon reaches the run that follows, or learns that there is none.
var ErrClosing error = &serviceerror.ResourceExhausted{
	Cause: enumspb.RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW, Scope: enumspb.RESOURCE_EXHAUSTED_SCOPE_NAMESPACE,
	Message: "workflow operation can not be applied because workflow is closing",
}

// signal adds a signal, unless it is a repeat. The workflow gets a task if wake says so. The error is InvalidArgument if the run has as many
// signals as it may, and [ErrClosing] if it is about to end.
func (tx *transition) signal(attributes *historypb.WorkflowExecutionSignaledEventAttributes, requestID string, wake bool) error {
	if requestID != "" && tx.run.Requests.has(requestID) {
		return nil
	}
	switch {
	case tx.run.Signals >= maxSignals:
		return errSignals
	case tx.run.Task.closing():
		return ErrClosing
	}
	attributes.RequestId = requestID
	tx.accept(requestID)
	tx.arrive(attributes, tx.now)
	if wake && !tx.paused() {
		tx.scheduleTask()
	}
	return nil
}

// paused reports whether the run waits until it is tried again, or for its time by a cron schedule. Nothing but time ends such a pause; a signal
// ends the delay that a start asked for.
func (tx *transition) paused() bool {
	return !tx.run.FirstTask.IsZero() && tx.run.Attributes.GetInitiator() != enumspb.CONTINUE_AS_NEW_INITIATOR_UNSPECIFIED
}

// RequestCancel asks the workflow to end. To ask again changes nothing. The reply is a *workflowservice.RequestCancelWorkflowExecutionResponse.
type RequestCancel struct {
	Request *workflowservice.RequestCancelWorkflowExecutionRequest
	// From is the workflow that asks; nil if none does.
	From *From
}

func (RequestCancel) cause() string { return "request-cancel" }

func (in RequestCancel) decide(tx *transition) (proto.Message, error) {
	request := in.Request
	if err := tx.checkChain(request.GetWorkflowExecution(), request.GetFirstExecutionRunId()); err != nil {
		return nil, err
	}
	if err := in.From.check(tx); err != nil {
		return nil, err
	}
	if tx.run.CancelRequested {
		return &workflowservice.RequestCancelWorkflowExecutionResponse{}, nil
	}
	asked := &historypb.WorkflowExecutionCancelRequestedEventAttributes{
		Cause: request.GetReason(), Identity: request.GetIdentity(), ExternalWorkflowExecution: in.From.execution(),
	}
	if in.From != nil {
		asked.ExternalInitiatedEventId = in.From.Event
	}
	tx.arrive(asked, tx.now)
	tx.scheduleTask()
	return &workflowservice.RequestCancelWorkflowExecutionResponse{}, nil
}

// checkChain is checkOpen for a request that may also name the first run of the chain that it means.
func (tx *transition) checkChain(execution *commonpb.WorkflowExecution, first string) error {
	if err := tx.checkOpen(execution.GetRunId()); err != nil {
		return err
	}
	if first != "" && first != tx.run.Attributes.GetFirstExecutionRunId() {
		return notFound(tx.before.Key.WorkflowID)
	}
	return nil
}

// Terminate ends the run at once. The reply is a *workflowservice.TerminateWorkflowExecutionResponse.
type Terminate struct {
	Request *workflowservice.TerminateWorkflowExecutionRequest
}

func (Terminate) cause() string { return "terminate" }

func (in Terminate) decide(tx *transition) (proto.Message, error) {
	request := in.Request
	if err := tx.checkChain(request.GetWorkflowExecution(), request.GetFirstExecutionRunId()); err != nil {
		return nil, err
	}
	tx.terminate(request.GetReason(), request.GetDetails(), request.GetIdentity())
	return &workflowservice.TerminateWorkflowExecutionResponse{}, nil
}

func (tx *transition) terminate(reason string, details *commonpb.Payloads, identity string) {
	tx.closeTask()
	tx.write(&historypb.WorkflowExecutionTerminatedEventAttributes{Reason: reason, Details: details, Identity: identity})
}
