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
