package schedule

import "cmp"

// EndRunRequest asks a run in progress to end: the verb says whether it is canceled, which its code decides about, or
// terminated, which makes it over at once. Such a request may be repeated: a run that is about to end is not asked again, and
// one that has ended as it was to is no error.
type EndRunRequest struct {
	ID string `json:"id"`
	// Run is its run ID, workflow ID or request ID. Of several runs of one workflow ID it means the newest.
	Run string `json:"run"`
	// Reason is for the event history and for the failure of the run, at most [MaxNoteBytes]. It may be empty.
	Reason string `json:"reason,omitempty"`
	// RequestID names the request, as those of the other verbs do. Repeats are harmless without it.
	RequestID string `json:"requestId,omitempty"`
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r EndRunRequest) Validate() error {
	return cmp.Or(ValidateID("id", r.ID), validateRequiredText("run", r.Run), validateNote("reason", r.Reason),
		validateOptionalID("requestId", r.RequestID))
}

// EndRunReply is the run as it was when it was asked to end. Its status is empty, unless it had ended before.
type EndRunReply struct {
	Run Run `json:"run"`
}

// EndRun tells the invoker that somebody wants a run to end.
type EndRun struct {
	// Incarnation and Version are those of the definition at the time, as of a [Wake].
	Incarnation string      `json:"incarnation"`
	Version     uint64      `json:"version"`
	Kind        ControlKind `json:"kind"`
	// RequestID is that of the run.
	RequestID string `json:"requestId"`
	// Reason and Identity say why, and who asks; both may be empty.
	Reason   string `json:"reason,omitempty"`
	Identity string `json:"identity,omitempty"`
	// WorkflowID, RunID and TaskQueue are set for a run that no record tells of, since its schedule is gone or another one by
	// now. Incarnation and Version are empty then.
	WorkflowID string `json:"workflowId,omitempty"`
	RunID      string `json:"runId,omitempty"`
	TaskQueue  string `json:"taskQueue,omitempty"`
}

// Stray reports whether the run to end is one that no record tells of.
func (e *EndRun) Stray() bool { return e.TaskQueue != "" }

// Text says for people what happens to the run, by whom and why.
func (e *EndRun) Text() string {
	text := "asked to cancel"
	if e.Kind == ControlTerminate {
		text = "terminated"
	}
	if e.Identity != "" {
		text += " by " + e.Identity
	} else {
		text += " by hand"
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}
