package schedule

import "cmp"

// EndRunRequest asks a run in progress to end. The verb says how: cancel lets the code of the run decide, terminate ends the run at once.
// The request may be repeated: it does not ask a run again that is about to end, and it is no error if the run has already ended as
// requested.
type EndRunRequest struct {
	ID string `json:"id"`
	// Run is its run ID, workflow ID or request ID. Of several runs of one workflow ID it means the newest.
	Run string `json:"run"`
	// Reason is for the event history and for the failure of the run, at most [MaxNoteBytes]. It may be empty.
	Reason string `json:"reason,omitempty"`
	// RequestID names the request, as in the other verbs. Repeats are harmless without it.
	RequestID string `json:"requestId,omitempty"`
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r EndRunRequest) Validate() error {
	return cmp.Or(ValidateID("id", r.ID), validateRequiredText("run", r.Run), validateNote("reason", r.Reason),
		validateOptionalID("requestId", r.RequestID))
}

// EndRunReply is the run at the time of the request. Its status is empty unless the run had ended before.
type EndRunReply struct {
	Run Run `json:"run"`
}
