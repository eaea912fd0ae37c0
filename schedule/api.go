package schedule

import "time"

// HeaderIdentity is the header of a request that says who asks: text of one line, of which 255 bytes are kept. It is for the
// event history, and proves nothing.
const HeaderIdentity = "Carillon-Identity"

// HeaderTimeout is the header of a request that says for how long its caller waits: a duration such as 1500ms. Nothing is done
// for the request after that.
const HeaderTimeout = "Carillon-Timeout"

// HeaderRetryAfter is the header of a refusal that says when to ask again: the RetryAfter of its [Error].
const HeaderRetryAfter = "Carillon-Retry-After"

// CreateRequest creates a schedule. Its reply is a Description.
type CreateRequest struct {
	ID string `json:"id"`
	// Schedule is inlined: spec, action, policies, state stand beside id.
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
	// ConflictToken is that of the Description which the change was made from: if the schedule has been changed since, the
	// request is refused with CodeFailedPrecondition. Zero means whatever there is.
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
	// Trigger starts one run now, Backfills those of ranges of time. Together at most MaxBackfills.
	Trigger   *Trigger        `json:"trigger,omitempty"`
	Backfills []BackfillRange `json:"backfills,omitempty"`
	// Skip and Unskip are as in SkipRequest and UnskipRequest; what is to be unskipped is so before what is to be skipped.
	Skip   *Skip   `json:"skip,omitempty"`
	Unskip *Unskip `json:"unskip,omitempty"`
	// ConflictToken and RequestID are as in UpdateRequest.
	ConflictToken uint64 `json:"conflictToken,omitempty"`
	RequestID     string `json:"requestId,omitempty"`
}

// Note says why. It replaces state.notes; empty leaves it as it is.
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
	// RequestID makes the request idempotent: a repeat succeeds also when the schedule is gone, and spares one that has been
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

// SkipRequest asks that due times be passed over. Its reply is a SkipReply.
type SkipRequest struct {
	ID string `json:"id"`
	Skip
	// RequestID makes the request idempotent.
	RequestID string `json:"requestId,omitempty"`
}

// Skip says which times to pass over: the next Count ones that are not to be skipped already, or Times. One of the two is
// set.
type Skip struct {
	// Count is at most [MaxSkips].
	Count int `json:"count,omitempty"`
	// Times are nominal times that the spec gives, and that are not past.
	Times []time.Time `json:"times,omitempty"`
	// Note is free text for the event history.
	Note string `json:"note,omitempty"`
}

// UnskipRequest takes back what was asked by SkipRequest. Its reply is a SkipReply.
type UnskipRequest struct {
	ID string `json:"id"`
	Unskip
	// RequestID makes the request idempotent.
	RequestID string `json:"requestId,omitempty"`
}

// Unskip says which times are to be skipped no more: Times, or all if there are none. Times that are not to be skipped are
// passed over.
type Unskip struct {
	Times []time.Time `json:"times,omitempty"`
}

// SkipReply says which times to come will now be skipped.
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

// CancelBackfillRequest ends a backfill: what it has in the buffer is dropped, its runs go on. It also takes back a
// trigger that waits. Of one that is over it answers CodeNotFound.
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
	// Query keeps the schedules that it finds, in its order (docs/search.md); at most [MaxQueryBytes]. It is answered from an
	// index, which is a moment behind.
	Query string `json:"query,omitempty"`
}

// ListReply is one page, ordered by ID, or as the query says.
type ListReply struct {
	Schedules []Description `json:"schedules"`
	// NextPageToken is empty on the last page.
	NextPageToken string `json:"nextPageToken,omitempty"`
	// IndexedUpTo is, in the answer to a query, up to when all changes are in the index.
	IndexedUpTo time.Time `json:"indexedUpTo,omitzero"`
	// IndexBehind says that changes of schedules which were made before may not be in the index yet.
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
	// IndexBehind says that changes of schedules which were made before may not be in the index yet.
	IndexBehind bool `json:"indexBehind,omitempty"`
}

// MatchingTimesRequest asks for the times a schedule gives in a range, whatever has become of them.
type MatchingTimesRequest struct {
	ID string `json:"id"`
	// From and To bound the nominal times, both inclusive.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// PreviewRequest asks when a spec that is not stored would be due.
type PreviewRequest struct {
	Spec Spec `json:"spec"`
	// ID is the schedule the jitter is worked out for; empty means without one.
	ID string `json:"id,omitempty"`
	// From is where to begin, inclusive; zero means now.
	From time.Time `json:"from,omitzero"`
	// Count is how many times to return, at most [MaxPageSize]; 0 means 10.
	Count int `json:"count,omitempty"`
}

// TimesReply lists times in order, at most [MaxPageSize].
type TimesReply struct {
	Times []DueTime `json:"times"`
	// More says that there are others in the range.
	More bool `json:"more,omitempty"`
	// Words say what the spec means and Warnings what may surprise about it; preview sets both.
	Words    []string `json:"words,omitempty"`
	Warnings []Notice `json:"warnings,omitempty"`
}

// DueTime is one time of a spec: nominal, and with jitter.
type DueTime struct {
	NominalTime time.Time `json:"nominalTime"`
	DueTime     time.Time `json:"dueTime"`
}

// HistoryRequest reads the events of a schedule, also of one that is gone, or of the whole namespace.
type HistoryRequest struct {
	// ID is the schedule; empty means all.
	ID string `json:"id,omitempty"`
	// Kinds keeps the events of those kinds; empty means all.
	Kinds []EventKind `json:"kinds,omitempty"`
	// From and To bound when the events were stored, both inclusive; zero means no bound.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Newest asks for the last events instead of the first. Such a page has no next one.
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
	// Status keeps the runs that ended so; "running" those that have not ended.
	Status Status `json:"status,omitempty"`
	// From bounds the start of the runs, inclusive; zero means as far as the event history goes.
	From time.Time `json:"from,omitzero"`
	// PageSize is at most [MaxPageSize]; 0 means 20.
	PageSize int `json:"pageSize,omitempty"`
}

// RunsReply lists runs, the newest first.
type RunsReply struct {
	Runs []Run `json:"runs"`
}

// RunRequest asks for one run of a schedule.
type RunRequest struct {
	ID string `json:"id"`
	// Run is its run ID, workflow ID or request ID. Of several runs of one workflow ID it means the newest.
	Run string `json:"run"`
}

// RunReply is a run with what happened to it.
type RunReply struct {
	Run
	Events []Event `json:"events"`
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
	// FutureActionTimes are the next times, at most 10.
	FutureActionTimes []time.Time `json:"futureActionTimes"`
	CreateTime        time.Time   `json:"createTime"`
	UpdateTime        time.Time   `json:"updateTime,omitzero"`
	// PausedBy and PauseTime are set while the schedule is paused: who did it, as far as that is known, and when.
	PausedBy  string    `json:"pausedBy,omitempty"`
	PauseTime time.Time `json:"pauseTime,omitzero"`
	// Buffer are the first of the waiting starts, at most 10, in order.
	Buffer []WaitingStart `json:"buffer,omitempty"`
	// Backfills are the triggers and backfills in progress, oldest first.
	Backfills []BackfillProgress `json:"backfills,omitempty"`
	// Skips are the nominal times to come that will be skipped, in order.
	Skips []time.Time `json:"skips,omitempty"`
	// IdleDeadline is when the schedule closes, since nothing is due any more; zero if that is not so.
	IdleDeadline time.Time `json:"idleDeadline,omitzero"`
	// Calendars are the named calendars of the spec, in its order, as the schedule goes by them. ReplanTime is when it was last
	// brought up to date with a change of one.
	Calendars  []CalendarUse `json:"calendars,omitempty"`
	ReplanTime time.Time     `json:"replanTime,omitzero"`
	// ZoneData is the version of the time zone data that FutureActionTimes were worked out by, FrontendZoneData that of the frontend.
	// Both are empty in UTC and for a spec that brings its own data, ZoneData also where a release before it worked them out.
	ZoneData         string `json:"zoneData,omitempty"`
	FrontendZoneData string `json:"frontendZoneData,omitempty"`
	// Reasons say why nothing runs, or not what might be expected; Warnings what may surprise about the spec and, in the answers
	// to create and update, about the action.
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

// NoticeUnknownType is the code of a warning in the answers to create and update: workers of the task queue have answered, and
// none of them has a handler for the type of the action.
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
	// Attempt and BackoffUntil are those of a start that could not be made.
	Attempt      int       `json:"attempt,omitempty"`
	BackoffUntil time.Time `json:"backoffUntil,omitzero"`
	// Delay is what a limit of the namespace does to the start; nil if there is none that keeps it waiting.
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
	// Done counts the times that have been dealt with: started, or given up. Total is how many the range has; TotalCapped
	// says that it has more.
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
	// DueTime is the nominal time plus jitter, StartTime when the run was accepted, CodeTime when the worker's code
	// began.
	DueTime   time.Time `json:"dueTime"`
	StartTime time.Time `json:"startTime"`
	CodeTime  time.Time `json:"codeTime,omitzero"`
	CloseTime time.Time `json:"closeTime,omitzero"`
	// Status is empty while the run is in progress.
	Status Status `json:"status,omitempty"`
	Manual bool   `json:"manual,omitempty"`
	// ScheduleID, Source, TaskQueue and Identity say whose run it is, where it comes from, where it went and who asked.
	ScheduleID string `json:"scheduleId,omitempty"`
	Source     string `json:"source,omitempty"`
	TaskQueue  string `json:"taskQueue,omitempty"`
	Identity   string `json:"identity,omitempty"`
	// Attempt, Worker and Outcome are known once the run has ended.
	Attempt int    `json:"attempt,omitempty"`
	Worker  string `json:"worker,omitempty"`
	Outcome
}
