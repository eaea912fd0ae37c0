package wire

import "github.com/carillon-scheduler/carillon/schedule"

// StartWorkflow asks the pool history to start an execution of a workflow for a schedule. It is the request of subjects.VerbStartScheduled, in
// the codec's form. The answer is a StartWorkflowExecutionResponse, as that to subjects.VerbStart.
type StartWorkflow struct {
	// Request is a StartWorkflowExecutionRequest. Its namespace and workflow ID are those of the subject, and of the answer.
	Request []byte `json:"request"`
	// RunID is the ID of the run, if it begins. It is derived from the request ID, so a repeat has the same.
	RunID string `json:"runId"`
	// Callback is a [WorkflowCallback] in the codec's form. History keeps it, unread, until the execution ends.
	Callback []byte `json:"callback"`
}

// WorkflowCallback says to whom history tells how an execution ended: it publishes a [schedule.Completion], as JSON, on
// subjects.Names.Callback of the schedule's shard. The schedule is in the namespace of the execution.
type WorkflowCallback struct {
	ScheduleID string `json:"scheduleId"`
	TaskQueue  string `json:"taskQueue"`
	// RequestID is that of the start.
	RequestID string `json:"requestId"`
	// Trace is the W3C traceparent of the start; empty if it is not traced.
	Trace string `json:"trace,omitempty"`
}

// Key returns the name of the schedule.
func (c *WorkflowCallback) Key(namespace string) schedule.Key {
	return schedule.Key{Namespace: namespace, ID: c.ScheduleID}
}
