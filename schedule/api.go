package schedule

import "time"

// HeaderIdentity is the request header that names the caller: one line of text, of which the first 255 bytes are kept. It is for the event
// history and proves nothing.
const HeaderIdentity = "Carillon-Identity"

// HeaderTimeout is the request header that says how long the caller waits: a duration such as 1500ms. After that time, no more work is done
// for the request.
const HeaderTimeout = "Carillon-Timeout"

// HeaderRetryAfter is the header of a refusal that says when to ask again: the RetryAfter of its [Error].
const HeaderRetryAfter = "Carillon-Retry-After"

// CreateRequest creates a schedule. Its reply is a Description.
type CreateRequest struct {
	ID string `json:"id"`
	// Schedule is inlined: spec, action, policies and state are fields beside id.
	Schedule
	// RequestID makes the request idempotent: a repeat with the same ID answers as the first did.
	RequestID string `json:"requestId,omitempty"`
	// TriggerNow starts one run at once.
	TriggerNow bool `json:"triggerNow,omitempty"`
	// Backfills start runs for times of the past as well.
	Backfills []BackfillRange `json:"backfills,omitempty"`
}

// UpdateRequest replaces spec, action, policies and state of a schedule. Its reply is a Description.
type UpdateRequest struct {
	ID string `json:"id"`
	// Schedule is inlined, as in CreateRequest.
	Schedule
	// ConflictToken is the token of the Description that the caller has read. If the schedule has changed since, the request is refused
	// with CodeFailedPrecondition. Zero replaces any version.
	ConflictToken uint64 `json:"conflictToken,omitempty"`
	// RequestID makes the request idempotent.
	RequestID string `json:"requestId,omitempty"`
}

// PatchRequest does several things to a schedule: all of them, or none. Its reply is a Description.
type PatchRequest struct {
	ID string `json:"id"`
	// Pause and Unpause switch the schedule off and on; at most one of them is set.
	Pause   *Note `json:"pause,omitempty"`
	Unpause *Note `json:"unpause,omitempty"`
	// Trigger starts one run now. Backfills start runs for ranges of time. Together they are at most MaxBackfills.
	Trigger   *Trigger        `json:"trigger,omitempty"`
	Backfills []BackfillRange `json:"backfills,omitempty"`
	// Skip and Unskip are as in SkipRequest and UnskipRequest. Unskip takes effect before Skip.
	Skip   *Skip   `json:"skip,omitempty"`
	Unskip *Unskip `json:"unskip,omitempty"`
	// ConflictToken and RequestID are as in UpdateRequest.
	ConflictToken uint64 `json:"conflictToken,omitempty"`
	RequestID     string `json:"requestId,omitempty"`
}

// Note says why. It replaces state.notes; an empty note leaves state.notes unchanged.
type Note struct {
	Note string `json:"note,omitempty"`
}

// IDRequest names a schedule: the request of describe.
type IDRequest struct {
	ID string `json:"id"`
}

// DeleteRequest deletes a schedule.
type DeleteRequest struct {
	ID string `json:"id"`
	// Runs says what becomes of its runs; empty means [RunsWithdraw].
	Runs RunsPolicy `json:"runs,omitempty"`
	// ConflictToken is as in UpdateRequest.
	ConflictToken uint64 `json:"conflictToken,omitempty"`
	// RequestID makes the request idempotent. A repeat succeeds even after the schedule is gone, and does not delete a schedule that was
	// created since.
	RequestID string `json:"requestId,omitempty"`
}

// NoteRequest names a schedule and says why: the request of pause and unpause.
type NoteRequest struct {
	ID string `json:"id"`
	// Note is as in Note.
	Note string `json:"note,omitempty"`
	// RequestID makes the request idempotent.
	RequestID string `json:"requestId,omitempty"`
}

// SkipRequest asks to skip due times. Its reply is a SkipReply.
type SkipRequest struct {
	ID string `json:"id"`
	Skip
	// RequestID makes the request idempotent.
	RequestID string `json:"requestId,omitempty"`
}

// Skip says which times to skip: the next Count times that are not marked yet, or the given Times. Exactly one of the two is set.
type Skip struct {
	// Count is at most [MaxSkips].
	Count int `json:"count,omitempty"`
	// Times are nominal times that the spec gives and that are not in the past.
	Times []time.Time `json:"times,omitempty"`
	// Note is free text for the event history.
	Note string `json:"note,omitempty"`
}

// UnskipRequest undoes a SkipRequest. Its reply is a SkipReply.
type UnskipRequest struct {
	ID string `json:"id"`
	Unskip
	// RequestID makes the request idempotent.
	RequestID string `json:"requestId,omitempty"`
}

// Unskip says which times no longer to skip: the given Times, or all if there are none. Times that are not marked are ignored.
type Unskip struct {
	Times []time.Time `json:"times,omitempty"`
}

// SkipReply lists the future times that will now be skipped.
type SkipReply struct {
	ID string `json:"id"`
	// Skips are nominal times, in order.
	Skips []time.Time `json:"skips"`
}

// BackfillRequest starts a run for every time of the spec in a range.
type BackfillRequest struct {
	ID string `json:"id"`
	BackfillRange
	// RequestID makes the request idempotent.
	RequestID string `json:"requestId,omitempty"`
}

// BackfillReply names the backfill, which is the source of its starts.
type BackfillReply struct {
	ID         string `json:"id"`
	BackfillID string `json:"backfillId"`
}

// CancelBackfillRequest ends a backfill. Its buffered starts are dropped; its runs continue. It also cancels a waiting trigger. If the
// backfill is over already, the answer is CodeNotFound.
type CancelBackfillRequest struct {
	ID         string `json:"id"`
	BackfillID string `json:"backfillId"`
	// RequestID makes the request idempotent.
	RequestID string `json:"requestId,omitempty"`
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

// ListRequest lists the schedules of a namespace by ID, or those that a query finds.
type ListRequest struct {
	// PageSize is at most 1,000; 0 means 100.
	PageSize int `json:"pageSize,omitempty"`
	// PageToken continues where an earlier reply ended.
	PageToken string `json:"pageToken,omitempty"`
	// Prefix keeps the IDs that begin with it.
	Prefix string `json:"prefix,omitempty"`
	// Query keeps the schedules that match it, in the order that it asks for (docs/search.md); at most [MaxQueryBytes]. The answer comes
	// from an index, which is a moment behind.
	Query string `json:"query,omitempty"`
}

// ListReply is one page, ordered by ID or as the query says.
type ListReply struct {
	Schedules []Description `json:"schedules"`
	// NextPageToken is empty on the last page.
	NextPageToken string `json:"nextPageToken,omitempty"`
	// IndexedUpTo is set in the answer to a query: the index holds all changes up to this time.
	IndexedUpTo time.Time `json:"indexedUpTo,omitzero"`
	// IndexBehind says that the index may lack changes that were made before the request.
	IndexBehind bool `json:"indexBehind,omitempty"`
}

// CountRequest counts the schedules of a namespace.
type CountRequest struct {
	// Prefix keeps the IDs that begin with it.
	Prefix string `json:"prefix,omitempty"`
	// Query is as in ListRequest.
	Query string `json:"query,omitempty"`
}

// CountReply is the answer to CountRequest.
type CountReply struct {
	Count int `json:"count"`
	// IndexedUpTo is as in ListReply.
	IndexedUpTo time.Time `json:"indexedUpTo,omitzero"`
	// IndexBehind says that the index may lack changes that were made before the request.
	IndexBehind bool `json:"indexBehind,omitempty"`
}

// MatchingTimesRequest asks for the times that a schedule gives in a range, regardless of what became of them.
type MatchingTimesRequest struct {
	ID string `json:"id"`
	// From and To bound the nominal times, both inclusive.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// PreviewRequest asks when a spec that is not stored would be due.
type PreviewRequest struct {
	Spec Spec `json:"spec"`
	// ID is the schedule whose jitter to apply; empty means no jitter.
	ID string `json:"id,omitempty"`
	// From is the first possible time, inclusive; zero means now.
	From time.Time `json:"from,omitzero"`
	// Count is how many times to return, at most [MaxPageSize]; 0 means 10.
	Count int `json:"count,omitempty"`
}

// TimesReply lists times in order, at most [MaxPageSize].
type TimesReply struct {
	Times []DueTime `json:"times"`
	// More says that the range has further times.
	More bool `json:"more,omitempty"`
	// Words describe the spec; Warnings name its surprising effects. Only preview sets them.
	Words    []string `json:"words,omitempty"`
	Warnings []Notice `json:"warnings,omitempty"`
}

// DueTime is one time of a spec: nominal, and with jitter.
type DueTime struct {
	NominalTime time.Time `json:"nominalTime"`
	DueTime     time.Time `json:"dueTime"`
}

// HistoryRequest reads the events of a schedule, even of a deleted one, or of the whole namespace.
type HistoryRequest struct {
	// ID is the schedule; empty means all.
	ID string `json:"id,omitempty"`
	// Kinds keeps the events of those kinds; empty means all.
	Kinds []EventKind `json:"kinds,omitempty"`
	// From and To bound when the events were stored, both inclusive; zero means no bound.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Newest asks for the last events instead of the first. Such a page has no next page.
	Newest bool `json:"newest,omitempty"`
	// PageSize is at most [MaxPageSize]; 0 means 100. PageToken continues where an earlier reply ended.
	PageSize  int    `json:"pageSize,omitempty"`
	PageToken string `json:"pageToken,omitempty"`
}

// HistoryReply is one page of events in the order in which they were stored, each once.
type HistoryReply struct {
	Events []Event `json:"events"`
	// NextPageToken is empty on the last page.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// RunsRequest asks for the newest runs of a schedule, or of the whole namespace.
type RunsRequest struct {
	// ID is the schedule; empty means all.
	ID string `json:"id,omitempty"`
	// Status keeps the runs that ended with it; "running" keeps those that have not ended.
	Status Status `json:"status,omitempty"`
	// From and To bound the start of the runs, both inclusive; zero means as far as the event history goes, and now.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// PageSize is at most [MaxPageSize]; 0 means 20. PageToken continues where an earlier reply ended.
	PageSize  int    `json:"pageSize,omitempty"`
	PageToken string `json:"pageToken,omitempty"`
}

// RunsReply lists runs, the newest first. One request looks at a part of the event history only. A page may therefore have fewer runs than
// asked for, or none, and others follow nevertheless.
type RunsReply struct {
	Runs []Run `json:"runs"`
	// NextPageToken is empty on the last page, and only there.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// RunRequest asks for one run of a schedule.
type RunRequest struct {
	ID string `json:"id"`
	// Run is its run ID, workflow ID or request ID. If several runs have the workflow ID, it means the newest.
	Run string `json:"run"`
}

// RunReply is a run with its events.
type RunReply struct {
	Run
	Events []Event `json:"events"`
}

// Empty is the reply of requests that return nothing.
type Empty struct{}

// Description is the answer to describe: the schedule, with its current number of remaining actions, and what became of it.
type Description struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
	Schedule
	Info Info `json:"info"`
	// ConflictToken names this version of the definition.
	ConflictToken uint64 `json:"conflictToken"`
}

// Info is computed from the records of the pools (docs/semantics.md §1).
type Info struct {
	ActionCount         int64 `json:"actionCount"`
	MissedCatchupWindow int64 `json:"missedCatchupWindow"`
	OverlapSkipped      int64 `json:"overlapSkipped"`
	BufferDropped       int64 `json:"bufferDropped"`
	SkippedOnRequest    int64 `json:"skippedOnRequest"`
	// BufferSize counts the waiting starts.
	BufferSize int `json:"bufferSize"`
	// RunningWorkflows are started and not completed.
	RunningWorkflows []Run `json:"runningWorkflows"`
	// RecentActions are the last 10 started, running or completed, oldest first.
	RecentActions []Run `json:"recentActions"`
	// FutureActionTimes are the next times, at most 10. Those of a paused schedule are when it would be due if it were not paused.
	FutureActionTimes []time.Time `json:"futureActionTimes"`
	CreateTime        time.Time   `json:"createTime"`
	UpdateTime        time.Time   `json:"updateTime,omitzero"`
	// PausedBy and PauseTime are set while the schedule is paused. PausedBy is who paused it, as far as that is known.
	PausedBy  string    `json:"pausedBy,omitempty"`
	PauseTime time.Time `json:"pauseTime,omitzero"`
	// Buffer are the first waiting starts, at most 10, in order.
	Buffer []WaitingStart `json:"buffer,omitempty"`
	// Backfills are the triggers and backfills in progress, oldest first.
	Backfills []BackfillProgress `json:"backfills,omitempty"`
	// Skips are the future nominal times that will be skipped, in order.
	Skips []time.Time `json:"skips,omitempty"`
	// IdleDeadline is when the schedule closes because nothing more is due; zero if it does not close.
	IdleDeadline time.Time `json:"idleDeadline,omitzero"`
	// Calendars are the versions of the named calendars that the schedule uses, in the order of the spec. ReplanTime is when the schedule
	// last adopted a change of one.
	Calendars  []CalendarUse `json:"calendars,omitempty"`
	ReplanTime time.Time     `json:"replanTime,omitzero"`
	// ZoneData is the version of the time zone data that FutureActionTimes were computed with; FrontendZoneData is the version that the
	// frontend has. Both are empty in UTC and for a spec with its own data. ZoneData is also empty if an earlier release computed the
	// times.
	ZoneData         string `json:"zoneData,omitempty"`
	FrontendZoneData string `json:"frontendZoneData,omitempty"`
	// Reasons say why nothing runs, or less than expected. Warnings name surprising effects of the spec and, in the answers to create and
	// update, of the action.
	Reasons  []Notice `json:"reasons,omitempty"`
	Warnings []Notice `json:"warnings,omitempty"`
}

// Notice is something a person should know.
type Notice struct {
	// Code is for programs: one of the codes of docs/api.md.
	Code string `json:"code"`
	// Message is for people, one line.
	Message string `json:"message"`
}

// The codes of [Info.Reasons].
const (
	NoticePaused            = "paused"
	NoticeFrozen            = "frozen"
	NoticeNoTimes           = "no_times"
	NoticeExhausted         = "exhausted"
	NoticeNoActionsLeft     = "no_actions_left"
	NoticeWaitingForOverlap = "waiting_for_overlap"
	NoticeDelayed           = "delayed"
	NoticeRetrying          = "retrying"
	NoticeNoWorker          = "no_worker"
	NoticeDeadLetter        = "dead_letter"
)

// NoticeUnknownType is the code of a warning in the answers to create and update: workers of the task queue have answered, and none of them
// has a handler for the action's type.
const NoticeUnknownType = "unknown_type"

// WaitingStart is a start in the buffer, as describe shows it.
type WaitingStart struct {
	RequestID   string        `json:"requestId"`
	WorkflowID  string        `json:"workflowId"`
	NominalTime time.Time     `json:"nominalTime"`
	DueTime     time.Time     `json:"dueTime"`
	Phase       Phase         `json:"phase"`
	Overlap     OverlapPolicy `json:"overlap,omitempty"`
	Manual      bool          `json:"manual,omitempty"`
	Source      string        `json:"source,omitempty"`
	// Attempt and BackoffUntil are set if an attempt to start has failed.
	Attempt      int       `json:"attempt,omitempty"`
	BackoffUntil time.Time `json:"backoffUntil,omitzero"`
	// Delay says how a limit of the namespace delays the start; nil if none does.
	Delay *Delay `json:"delay,omitempty"`
}

// BackfillProgress is how far a trigger or backfill has come.
type BackfillProgress struct {
	BackfillID  string    `json:"backfillId"`
	RequestTime time.Time `json:"requestTime"`
	// Trigger says that it is a trigger; the fields of the range are then empty.
	Trigger bool          `json:"trigger,omitempty"`
	Start   time.Time     `json:"start,omitzero"`
	End     time.Time     `json:"end,omitzero"`
	Overlap OverlapPolicy `json:"overlap,omitempty"`
	// Done counts the times that were processed: started or given up. Total is how many times the range has; TotalCapped says that it has
	// more.
	Done        int  `json:"done"`
	Total       int  `json:"total"`
	TotalCapped bool `json:"totalCapped,omitempty"`
	// HighWaterMark is the last time handed to the buffer; zero before the first.
	HighWaterMark time.Time `json:"highWaterMark,omitzero"`
	Canceled      bool      `json:"canceled,omitempty"`
	Identity      string    `json:"identity,omitempty"`
}

// Run is one execution of a schedule's action, as describe shows it.
type Run struct {
	WorkflowID  string    `json:"workflowId"`
	RunID       string    `json:"runId"`
	RequestID   string    `json:"requestId"`
	NominalTime time.Time `json:"nominalTime"`
	// DueTime is the nominal time plus jitter. StartTime is when the run was accepted, CodeTime when the worker's code began.
	DueTime   time.Time `json:"dueTime"`
	StartTime time.Time `json:"startTime"`
	CodeTime  time.Time `json:"codeTime,omitzero"`
	CloseTime time.Time `json:"closeTime,omitzero"`
	// Status is empty while the run is in progress.
	Status Status `json:"status,omitempty"`
	Manual bool   `json:"manual,omitempty"`
	// ScheduleID is the schedule of the run, Source where the run comes from, TaskQueue where it was sent, Identity who asked for it.
	ScheduleID string `json:"scheduleId,omitempty"`
	Source     string `json:"source,omitempty"`
	TaskQueue  string `json:"taskQueue,omitempty"`
	Identity   string `json:"identity,omitempty"`
	// Attempt, Worker and Outcome are known once the run has ended.
	Attempt int    `json:"attempt,omitempty"`
	Worker  string `json:"worker,omitempty"`
	// ActionKind is what the run is: empty for a run on a worker of Carillon's own protocol.
	ActionKind ActionKind `json:"actionKind,omitempty"`
	Outcome
}
