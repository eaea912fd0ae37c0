package execution

import (
	"cmp"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// A workflow starts children by events in its own journal. What follows is work of the entry: it is done as often as it takes, and says by another
// input what came of it. The first run of a child has an ID that follows from the parent's event, so it begins once however often it is tried,
// and it is known without an answer.

// Child is a child workflow that has not ended as far as the parent knows.
type Child struct {
	// Initiated is the event by which the parent started it.
	Initiated *historypb.HistoryEvent
	// Begun says that the child has been started. Started is the ID of the event that says so; zero if it has none yet.
	Begun   bool
	Started int64
}

func (c Child) attributes() *historypb.StartChildWorkflowExecutionInitiatedEventAttributes {
	return c.Initiated.GetStartChildWorkflowExecutionInitiatedEventAttributes()
}

// Parent says which workflow a child belongs to.
type Parent struct {
	WorkflowID string `json:"workflowId"`
	RunID      string `json:"runId"`
	// Event is the ID of the parent's event by which it started the child.
	Event int64 `json:"event"`
	// Root is the workflow that has no parent, of which both descend.
	Root *commonpb.WorkflowExecution `json:"-"`
}

// firstRun returns the ID of the child's first run.
func (p Parent) firstRun() string { return childRunID(p.RunID, p.Event) }

// childRunID is the ID of the first run of the child that an event of a run starts.
func childRunID(runID string, event int64) string {
	return derivedByEvent("child", event, runID)
}

// parent returns the parent of a run; nil if it has none.
func (r *Run) parent() *Parent {
	of := r.Attributes.GetParentWorkflowExecution()
	if of == nil {
		return nil
	}
	return &Parent{
		WorkflowID: of.GetWorkflowId(), RunID: of.GetRunId(), Event: r.Attributes.GetParentInitiatedEventId(),
		Root: r.Attributes.GetRootWorkflowExecution(),
	}
}

// IsChild reports whether a parent has started the chain of the run by an event.
func (r *Run) IsChild(of Parent) bool {
	parent := r.parent()
	return parent != nil && parent.WorkflowID == of.WorkflowID && parent.RunID == of.RunID && parent.Event == of.Event
}

// Vanished returns the end of a child of which nothing is left: it counts as terminated.
func Vanished(parent Parent) Ending {
	end := &historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED}
	return Ending{Parent: &parent, RunID: parent.firstRun(), Event: end}
}

// childOf reports whether a run is a child of a run of another workflow.
func (r *Run) childOf(of *From) bool {
	parent := r.Attributes.GetParentWorkflowExecution()
	return parent != nil && parent.GetWorkflowId() == of.Execution.GetWorkflowId() &&
		(parent.GetRunId() == of.Execution.GetRunId() || slices.Contains(of.Former, parent.GetRunId()))
}

// ChildStart is a child to start. Whoever does it tells the parent by [ChildStarted] or [ChildNotStarted].
type ChildStart struct {
	Parent Parent
	Start  Start
	// Policy is for a parent that ends while the child is being started.
	Policy enumspb.ParentClosePolicy
	// Again says that a reset has begun the parent's run. So the child may have ended, and have told an earlier run. Begun says that the parent
	// knows that the child has begun.
	Again, Begun bool
}

// root returns the workflow without a parent of which the newest run descends. The first event of a run that has no parent does not name it.
func (s *State) root() *commonpb.WorkflowExecution {
	return cmp.Or(s.Run.Attributes.GetRootWorkflowExecution(), &commonpb.WorkflowExecution{WorkflowId: s.Key.WorkflowID, RunId: s.Run.ID})
}

// start returns how a child is to be started.
func (s *State) start(child Child) ChildStart {
	event, a := child.Initiated, child.attributes()
	parent := Parent{s.Key.WorkflowID, s.Run.Author(event.GetEventId()).RunID, event.GetEventId(), s.root()}
	request := &workflowservice.StartWorkflowExecutionRequest{
		Namespace: s.Key.Namespace, WorkflowId: a.GetWorkflowId(), WorkflowType: a.GetWorkflowType(), TaskQueue: a.GetTaskQueue(), Input: a.GetInput(),
		WorkflowExecutionTimeout: a.GetWorkflowExecutionTimeout(), WorkflowRunTimeout: a.GetWorkflowRunTimeout(),
		WorkflowTaskTimeout: a.GetWorkflowTaskTimeout(), RequestId: parent.firstRun(), WorkflowIdReusePolicy: a.GetWorkflowIdReusePolicy(),
		RetryPolicy: a.GetRetryPolicy(), CronSchedule: a.GetCronSchedule(), Memo: a.GetMemo(), SearchAttributes: a.GetSearchAttributes(),
		Header: a.GetHeader(), UserMetadata: event.GetUserMetadata(), Priority: mergedPriority(s.Run.Attributes.GetPriority(), a.GetPriority()),
	}
	start := Start{Request: request, RunID: parent.firstRun(), Parent: &parent}
	return ChildStart{Parent: parent, Start: start, Policy: a.GetParentClosePolicy()}
}

// Orphan is a child of a run that has ended, to be ended too.
type Orphan struct {
	WorkflowID string `json:"workflowId"`
	// FirstRun is the ID of the child's first run. Nothing is to be done if no such run has begun.
	FirstRun string                    `json:"firstRun"`
	Policy   enumspb.ParentClosePolicy `json:"policy"`
}

// orphans returns the children of a run that end with it.
func (r *Run) orphans() (all []Orphan) {
	for event, child := range ordered(r.Children) {
		all = append(all, orphan(r.Author(event).RunID, event, child.attributes())...)
	}
	return all
}

// orphan returns a child of a run that has ended; none if it goes on.
func orphan(runID string, event int64, a *historypb.StartChildWorkflowExecutionInitiatedEventAttributes) []Orphan {
	if a.GetParentClosePolicy() == enumspb.PARENT_CLOSE_POLICY_ABANDON {
		return nil
	}
	return []Orphan{{a.GetWorkflowId(), childRunID(runID, event), a.GetParentClosePolicy()}}
}

// Input returns what happens to the child, and its workflow ID. The parent is the run that has ended. The error of the decision is Temporal's
// NotFound if the child has ended before, or never began.
func (o Orphan) Input(parent *commonpb.WorkflowExecution) (workflowID string, in Input) {
	const identity = "history-service"
	execution := &commonpb.WorkflowExecution{WorkflowId: o.WorkflowID}
	if o.Policy == enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL {
		return o.WorkflowID, RequestCancel{
			Request: &workflowservice.RequestCancelWorkflowExecutionRequest{
				WorkflowExecution: execution, FirstExecutionRunId: o.FirstRun, Identity: identity,
			},
			From: &From{Execution: parent},
		}
	}
	return o.WorkflowID, Terminate{Request: &workflowservice.TerminateWorkflowExecutionRequest{
		WorkflowExecution: execution, FirstExecutionRunId: o.FirstRun, Reason: "by parent close policy", Identity: identity,
	}}
}

// RefusesChild reports whether an entry of the parent says that a child could not be started: to its code, or to a run that a workflow task keeps from
// telling it yet. The state is that of the parent, with the entry.
func (s *State) RefusesChild(entry *Entry, parent Parent) bool {
	for i := range entry.Parts {
		part := &entry.Parts[i]
		if part.RunID != parent.RunID && !(s.Run.ID == part.RunID && s.Run.wrote(parent.RunID, parent.Event)) {
			continue
		}
		for _, event := range slices.Concat(part.Events, part.Buffer) {
			failed := event.GetStartChildWorkflowExecutionFailedEventAttributes()
			if failed != nil && failed.GetInitiatedEventId() == parent.Event {
				return true
			}
		}
	}
	return false
}
