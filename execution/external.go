package execution

import (
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
)

// From says which workflow a request comes from.
type From struct {
	Execution *commonpb.WorkflowExecution
	// Event is the ID of the event by which that workflow asks; zero if none does.
	Event int64
	// ChildOnly says that the request is for a child of that workflow, and for no other.
	ChildOnly bool
	// Former are the runs from which a reset has taken events of that one: their children are its own.
	Former []string
}

// execution returns the workflow that asks; nil if none does.
func (f *From) execution() *commonpb.WorkflowExecution {
	if f == nil {
		return nil
	}
	return f.Execution
}

// check returns Temporal's NotFound if the request is not for the newest run.
func (f *From) check(tx *transition) error {
	if f != nil && f.ChildOnly && !tx.run.childOf(f) {
		return notFound(tx.before.Key.WorkflowID)
	}
	return nil
}

// Outgoing is a signal or a cancellation for another workflow. Whoever sends it tells the sender by [ExternalDone].
type Outgoing struct {
	// RunID is the sender's run, and Event the ID of its event by which it asks.
	RunID string
	Event int64
	// WorkflowID and Input are what happens to which workflow. Input is nil if the sender means itself, which fails.
	WorkflowID string
	Input      Input
}

func isSignal(event *historypb.HistoryEvent) bool {
	return event.GetSignalExternalWorkflowExecutionInitiatedEventAttributes() != nil
}

func isCancel(event *historypb.HistoryEvent) bool { return !isSignal(event) }

// outgoing counts the pending requests to other workflows of one kind.
func (r *Run) outgoing(kind func(*historypb.HistoryEvent) bool) (count int) {
	for _, event := range r.Outgoing {
		if kind(event) {
			count++
		}
	}
	return count
}

// send returns what an event of the newest run sends to another workflow.
func (s *State) send(event *historypb.HistoryEvent) Outgoing {
	from := &From{Execution: &commonpb.WorkflowExecution{WorkflowId: s.Key.WorkflowID, RunId: s.Run.ID}, Event: event.GetEventId()}
	request := derivedByEvent("request", from.Event, s.Run.Author(from.Event).RunID)
	for _, stretch := range s.Run.Stretches {
		from.Former = append(from.Former, stretch.RunID)
	}
	out := Outgoing{RunID: s.Run.ID, Event: from.Event}
	if a := event.GetSignalExternalWorkflowExecutionInitiatedEventAttributes(); a != nil {
		from.ChildOnly, out.WorkflowID = a.GetChildWorkflowOnly(), a.GetWorkflowExecution().GetWorkflowId()
		out.Input = Signal{From: from, Request: &workflowservice.SignalWorkflowExecutionRequest{
			Namespace: s.Key.Namespace, WorkflowExecution: a.GetWorkflowExecution(), SignalName: a.GetSignalName(), Input: a.GetInput(),
			Header: a.GetHeader(), RequestId: request, Identity: "history-service",
		}}
	} else {
		a := event.GetRequestCancelExternalWorkflowExecutionInitiatedEventAttributes()
		from.ChildOnly, out.WorkflowID = a.GetChildWorkflowOnly(), a.GetWorkflowExecution().GetWorkflowId()
		out.Input = RequestCancel{From: from, Request: &workflowservice.RequestCancelWorkflowExecutionRequest{
			Namespace: s.Key.Namespace, WorkflowExecution: a.GetWorkflowExecution(), Reason: a.GetReason(), RequestId: request,
			Identity: "history-service",
		}}
	}
	if out.WorkflowID == s.Key.WorkflowID {
		out.Input = nil
	}
	return out
}

// ExternalDone tells a workflow what came of a signal or a cancellation for another one. There is no reply. The error is Temporal's NotFound if
// the run has ended.
type ExternalDone struct {
	RunID string
	Event int64
	// NotFound says that there is no such workflow in progress.
	NotFound bool
	// TooMany says that the other workflow has as many signals as it may. NotFound is false then.
	TooMany bool
}

func (ExternalDone) cause() string { return "external-done" }

func (in ExternalDone) decide(tx *transition) (proto.Message, error) {
	if err := tx.checkOpen(in.RunID); err != nil {
		return nil, err
	}
	event, ok := tx.run.Outgoing[in.Event]
	if !ok {
		return nil, nil
	}
	if a := event.GetSignalExternalWorkflowExecutionInitiatedEventAttributes(); a != nil {
		tx.arrive(in.signaled(a), tx.now)
	} else {
		tx.arrive(in.canceled(event.GetRequestCancelExternalWorkflowExecutionInitiatedEventAttributes()), tx.now)
	}
	tx.scheduleTask()
	return nil, nil
}

func (in ExternalDone) signaled(a *historypb.SignalExternalWorkflowExecutionInitiatedEventAttributes) proto.Message {
	control := a.GetControl() //lint:ignore SA1019 workers may use it for long
	if in.NotFound || in.TooMany {
		cause := enumspb.SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND
		if in.TooMany {
			cause = enumspb.SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_SIGNAL_COUNT_LIMIT_EXCEEDED
		}
		failed := &historypb.SignalExternalWorkflowExecutionFailedEventAttributes{
			Cause:     cause,
			Namespace: a.GetNamespace(), WorkflowExecution: a.GetWorkflowExecution(), InitiatedEventId: in.Event,
			WorkflowTaskCompletedEventId: a.GetWorkflowTaskCompletedEventId(),
		}
		failed.Control = control //lint:ignore SA1019 workers may use it for long
		return failed
	}
	done := &historypb.ExternalWorkflowExecutionSignaledEventAttributes{
		InitiatedEventId: in.Event, Namespace: a.GetNamespace(), WorkflowExecution: a.GetWorkflowExecution(),
	}
	done.Control = control //lint:ignore SA1019 workers may use it for long
	return done
}

func (in ExternalDone) canceled(a *historypb.RequestCancelExternalWorkflowExecutionInitiatedEventAttributes) proto.Message {
	if in.NotFound {
		failed := &historypb.RequestCancelExternalWorkflowExecutionFailedEventAttributes{
			Cause:     enumspb.CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND,
			Namespace: a.GetNamespace(), WorkflowExecution: a.GetWorkflowExecution(), InitiatedEventId: in.Event,
			WorkflowTaskCompletedEventId: a.GetWorkflowTaskCompletedEventId(),
		}
		failed.Control = a.GetControl() //lint:ignore SA1019 workers may use it for long
		return failed
	}
	return &historypb.ExternalWorkflowExecutionCancelRequestedEventAttributes{
		InitiatedEventId: in.Event, Namespace: a.GetNamespace(), WorkflowExecution: a.GetWorkflowExecution(),
	}
}
