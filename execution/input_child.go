package execution

import (
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/proto"
)

// child returns a child of the run in progress that has not ended; false if the run knows none. The error is Temporal's NotFound if the run is
// not in progress.
func (tx *transition) child(parent Parent) (Child, bool, error) {
	runID := parent.RunID
	if tx.run != nil && tx.run.wrote(runID, parent.Event) {
		runID = tx.run.ID
	}
	if err := tx.checkOpen(runID); err != nil {
		return Child{}, false, err
	}
	child, ok := tx.run.Children[parent.Event]
	return child, ok, nil
}

// ErrNoChild says that a run in progress has no such child, or that it has ended. It is a NotFound of Temporal's.
var ErrNoChild error = serviceerror.NewNotFound("the workflow has no such child")

// ChildStarted tells the parent that a child has been started. There is no reply. The error is Temporal's NotFound if the parent's run has
// ended, and [ErrNoChild] if it does not wait for the child.
type ChildStarted struct{ Parent Parent }

func (ChildStarted) cause() string { return "child-started" }

func (in ChildStarted) decide(tx *transition) (proto.Message, error) {
	child, ok, err := tx.child(in.Parent)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, ErrNoChild
	case !child.Begun:
		tx.childBegins(in.Parent, child)
		tx.scheduleTask()
	}
	return nil, nil
}

func (tx *transition) childBegins(parent Parent, child Child) {
	a := child.attributes()
	tx.arrive(&historypb.ChildWorkflowExecutionStartedEventAttributes{
		Namespace: a.GetNamespace(), InitiatedEventId: parent.Event, WorkflowType: a.GetWorkflowType(), Header: a.GetHeader(),
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: a.GetWorkflowId(), RunId: parent.firstRun()},
	}, tx.now)
}

// ChildNotStarted tells the parent that a child cannot be started. There is no reply. The error is Temporal's NotFound if the parent's run has
// ended.
type ChildNotStarted struct {
	Parent Parent
	Cause  enumspb.StartChildWorkflowExecutionFailedCause
}

func (ChildNotStarted) cause() string { return "child-not-started" }

func (in ChildNotStarted) decide(tx *transition) (proto.Message, error) {
	child, ok, err := tx.child(in.Parent)
	if err == nil && ok && !child.Begun {
		a := child.attributes()
		failed := &historypb.StartChildWorkflowExecutionFailedEventAttributes{
			Namespace: a.GetNamespace(), WorkflowId: a.GetWorkflowId(), WorkflowType: a.GetWorkflowType(), Cause: in.Cause,
			InitiatedEventId: in.Parent.Event, WorkflowTaskCompletedEventId: a.GetWorkflowTaskCompletedEventId(),
		}
		failed.Control = a.GetControl() //lint:ignore SA1019 workers may use it for long
		tx.arrive(failed, tx.now)
		tx.scheduleTask()
	}
	return nil, err
}

// ChildEnded tells the parent how the last run of a child ended. There is no reply. The error is Temporal's NotFound if the parent's run has
// ended.
type ChildEnded struct {
	Parent Parent
	// Child is the last run of the child, and End its last event.
	Child *commonpb.WorkflowExecution
	End   *historypb.HistoryEvent
}

func (ChildEnded) cause() string { return "child-ended" }

func (in ChildEnded) decide(tx *transition) (proto.Message, error) {
	child, ok, err := tx.child(in.Parent)
	if err != nil || !ok {
		return nil, err
	}
	if !child.Begun { // the child was faster than who has started it
		tx.childBegins(in.Parent, child)
		child = tx.run.Children[in.Parent.Event]
	}
	if result := in.result(child); result != nil {
		tx.arrive(result, tx.now)
		tx.scheduleTask()
	}
	return nil, nil
}

// result is the event for the parent; nil if the child's event ends nothing.
func (in ChildEnded) result(child Child) proto.Message {
	a, initiated := child.attributes(), in.Parent.Event
	namespace, of := a.GetNamespace(), a.GetWorkflowType()
	switch in.End.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		return &historypb.ChildWorkflowExecutionCompletedEventAttributes{
			Result: in.End.GetWorkflowExecutionCompletedEventAttributes().GetResult(), Namespace: namespace, WorkflowExecution: in.Child,
			WorkflowType: of, InitiatedEventId: initiated, StartedEventId: child.Started,
		}
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		end := in.End.GetWorkflowExecutionFailedEventAttributes()
		return &historypb.ChildWorkflowExecutionFailedEventAttributes{
			Failure: end.GetFailure(), RetryState: end.GetRetryState(), Namespace: namespace, WorkflowExecution: in.Child,
			WorkflowType: of, InitiatedEventId: initiated, StartedEventId: child.Started,
		}
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		return &historypb.ChildWorkflowExecutionCanceledEventAttributes{
			Details: in.End.GetWorkflowExecutionCanceledEventAttributes().GetDetails(), Namespace: namespace, WorkflowExecution: in.Child,
			WorkflowType: of, InitiatedEventId: initiated, StartedEventId: child.Started,
		}
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
		return &historypb.ChildWorkflowExecutionTimedOutEventAttributes{
			RetryState: in.End.GetWorkflowExecutionTimedOutEventAttributes().GetRetryState(), Namespace: namespace, WorkflowExecution: in.Child,
			WorkflowType: of, InitiatedEventId: initiated, StartedEventId: child.Started,
		}
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
		return &historypb.ChildWorkflowExecutionTerminatedEventAttributes{
			Namespace: namespace, WorkflowExecution: in.Child, WorkflowType: of, InitiatedEventId: initiated, StartedEventId: child.Started,
		}
	}
	return nil
}
