package schedule

import "time"

// CreateRequest creates a schedule. Its reply is a Description.
type CreateRequest struct {
	ID string `json:"id"`
	// Schedule is inlined: spec, action, policies, state stand beside id.
	Schedule
	// RequestID makes the request idempotent: a repeat with the same ID answers as the first did.
	RequestID string `json:"requestId,omitempty"`
	// TriggerNow starts one run at once.
	TriggerNow bool `json:"triggerNow,omitempty"`
}

// IDRequest names a schedule: the request of describe and delete.
type IDRequest struct {
	ID string `json:"id"`
}

// NoteRequest names a schedule and says why: the request of pause and unpause. The note replaces state.notes; empty
// leaves it as it is.
type NoteRequest struct {
	ID   string `json:"id"`
	Note string `json:"note,omitempty"`
}

// TriggerRequest starts one run now.
type TriggerRequest struct {
	ID string `json:"id"`
	Trigger
	// RequestID makes the request idempotent.
	RequestID string `json:"requestId,omitempty"`
}

// TriggerReply names the trigger, the source of its start.
type TriggerReply struct {
	ID        string `json:"id"`
	TriggerID string `json:"triggerId"`
}

// ListRequest lists the schedules of a namespace by ID.
type ListRequest struct {
	// PageSize is at most 1,000; 0 means 100.
	PageSize int `json:"pageSize,omitempty"`
	// PageToken continues where an earlier reply ended.
	PageToken string `json:"pageToken,omitempty"`
	// Prefix keeps the IDs that begin with it.
	Prefix string `json:"prefix,omitempty"`
}

// ListReply is one page, ordered by ID.
type ListReply struct {
	Schedules []Description `json:"schedules"`
	// NextPageToken is empty on the last page.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// Empty is the reply of requests that return nothing.
type Empty struct{}

// Description is what describe answers: the schedule, with remaining actions brought up to date, and what became of it.
type Description struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
	Schedule
	Info Info `json:"info"`
	// ConflictToken names this version of the definition.
	ConflictToken uint64 `json:"conflictToken"`
}

// Info is computed from the records of the pools (SEMANTICS §1).
type Info struct {
	ActionCount         int64 `json:"actionCount"`
	MissedCatchupWindow int64 `json:"missedCatchupWindow"`
	OverlapSkipped      int64 `json:"overlapSkipped"`
	BufferDropped       int64 `json:"bufferDropped"`
	// BufferSize counts the waiting starts.
	BufferSize int `json:"bufferSize"`
	// RunningWorkflows are started and not completed.
	RunningWorkflows []Run `json:"runningWorkflows"`
	// RecentActions are the last 10 started, running or completed, oldest first.
	RecentActions []Run `json:"recentActions"`
	// FutureActionTimes are the next times, at most 10.
	FutureActionTimes []time.Time `json:"futureActionTimes"`
	CreateTime        time.Time   `json:"createTime"`
	UpdateTime        time.Time   `json:"updateTime,omitzero"`
}

// Run is one execution of a schedule's action, as describe shows it.
type Run struct {
	WorkflowID  string    `json:"workflowId"`
	RunID       string    `json:"runId"`
	RequestID   string    `json:"requestId"`
	NominalTime time.Time `json:"nominalTime"`
	// DueTime is the nominal time plus jitter, StartTime when the run was accepted, CodeTime when the worker's code
	// began.
	DueTime   time.Time `json:"dueTime"`
	StartTime time.Time `json:"startTime"`
	CodeTime  time.Time `json:"codeTime,omitzero"`
	CloseTime time.Time `json:"closeTime,omitzero"`
	// Status is empty while the run is in progress.
	Status Status `json:"status,omitempty"`
	Manual bool   `json:"manual,omitempty"`
}

// NewRun returns the run of a start that has been started.
func NewRun(s *BufferedStart) Run {
	return Run{
		WorkflowID: s.WorkflowID, RunID: s.RunID, RequestID: s.RequestID,
		NominalTime: s.Nominal, DueTime: s.Actual, StartTime: s.StartTime,
		CodeTime: s.CodeTime, CloseTime: s.CloseTime, Status: s.Status, Manual: s.Manual,
	}
}
