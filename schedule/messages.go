package schedule

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// ActionRequest asks a worker for one run. It is JSON on the action subject; docs/worker-protocol.md is its contract.
type ActionRequest struct {
	Namespace  string `json:"namespace"`
	ScheduleID string `json:"scheduleId"`
	WorkflowID string `json:"workflowId"`
	RunID      string `json:"runId"`
	// RequestID is the idempotency key of the run.
	RequestID string `json:"requestId"`
	Type      string `json:"type"`
	TaskQueue string `json:"taskQueue"`
	// Callback is the subject on which to publish the Completion.
	Callback    string    `json:"callback"`
	NominalTime time.Time `json:"nominalTime"`
	// DueTime is the nominal time plus jitter.
	DueTime time.Time `json:"dueTime"`
	// Deadline is when the run times out, whether or not a worker reports it. Zero means never.
	Deadline time.Time `json:"deadline,omitzero"`
	// TaskTimeout bounds one attempt.
	TaskTimeout Duration `json:"taskTimeout,omitempty"`
	// HeartbeatTimeout is how long the code may go without a sign of life.
	HeartbeatTimeout Duration                   `json:"heartbeatTimeout,omitempty"`
	Input            json.RawMessage            `json:"input,omitempty"`
	Headers          map[string]string          `json:"headers,omitempty"`
	Memo             map[string]json.RawMessage `json:"memo,omitempty"`
	SearchAttributes map[string]json.RawMessage `json:"searchAttributes,omitempty"`
	RetryPolicy      *RetryPolicy               `json:"retryPolicy,omitempty"`
	Priority         int                        `json:"priority,omitempty"`
	// LastSuccess and LastFailure are the outcomes of earlier runs of the schedule.
	LastSuccess json.RawMessage `json:"lastSuccess,omitempty"`
	LastFailure *Failure        `json:"lastFailure,omitempty"`
	// LastSuccessOmitted says that there is a LastSuccess that did not fit: with it, the request would exceed the size limit of a NATS
	// message.
	LastSuccessOmitted bool `json:"lastSuccessOmitted,omitempty"`
}

// Completion tells the invoker how a run ended. It is JSON on the callback subject of the request.
type Completion struct {
	RequestID string `json:"requestId"`
	RunID     string `json:"runId,omitempty"`
	Status    Status `json:"status"`
	// Result is any JSON value of at most 512 KiB, for StatusCompleted.
	Result json.RawMessage `json:"result,omitempty"`
	// Failure is set for every other status.
	Failure *Failure `json:"failure,omitempty"`
	// StartTime is when the worker's code began its first attempt, CloseTime when the run ended.
	StartTime time.Time `json:"startTime,omitzero"`
	CloseTime time.Time `json:"closeTime,omitzero"`
	// Attempt is the number of the last attempt, from 1.
	Attempt int `json:"attempt,omitempty"`
	// Worker names the worker, for people.
	Worker string `json:"worker,omitempty"`
	// TaskQueue is the queue in the subject of the message. It is empty if the Completion did not come in a message.
	TaskQueue string `json:"-"`
}

// Liveness is the answer, as JSON, of the worker that has a run to whoever asks on the run's alive subject. Workers that do not have the
// run do not answer.
type Liveness struct {
	RunID string `json:"runId"`
	// Worker is the worker's name, for people.
	Worker string `json:"worker,omitempty"`
}

// ActionTypes is the answer, as JSON, of a worker to whoever asks for its action types.
type ActionTypes struct {
	// Worker is the worker's name, for people.
	Worker string `json:"worker,omitempty"`
	// Types are the action types with a handler, sorted: at most [MaxActionTypes], together at most [MaxActionTypesBytes] bytes.
	Types []string `json:"types"`
	// Others says that the worker takes other types as well: the list is incomplete, or the worker takes any type.
	Others bool `json:"others,omitempty"`
}

// The bounds of [ActionTypes].
const (
	MaxActionTypes      = 100
	MaxActionTypesBytes = 16 << 10
)

// NewActionTypes returns the answer of a worker with handlers for the given sorted types. Types beyond the bounds are omitted, and Others
// is set.
func NewActionTypes(worker string, types []string) ActionTypes {
	answer, bytes := ActionTypes{Worker: worker, Types: []string{}}, 0
	for _, name := range types {
		if bytes += len(name); len(answer.Types) == MaxActionTypes || bytes > MaxActionTypesBytes {
			answer.Others = true
			break
		}
		answer.Types = append(answer.Types, name)
	}
	return answer
}

// ControlKind is what a Control asks for.
type ControlKind string

// The kinds of control.
const (
	// ControlCancel asks the handler to stop. The run ends when the handler has stopped, with the status that it reports.
	ControlCancel ControlKind = "cancel"
	// ControlTerminate says that the run is already over. Whatever the handler reports is ignored.
	ControlTerminate ControlKind = "terminate"
)

// Control reaches a run that is queued or in progress. It is JSON on the control subject.
type Control struct {
	Kind       ControlKind `json:"kind"`
	RequestID  string      `json:"requestId"`
	RunID      string      `json:"runId"`
	WorkflowID string      `json:"workflowId"`
}

// EventKind says what happened.
type EventKind string

// The kinds of event.
const (
	EventCreated  EventKind = "created"
	EventUpdated  EventKind = "updated"
	EventPaused   EventKind = "paused"
	EventUnpaused EventKind = "unpaused"
	EventDeleted  EventKind = "deleted"
	EventClosed   EventKind = "closed"
	// EventDeferred: a due or requested start waits for a run to end. A start that need not wait begins with EventStarted.
	EventDeferred EventKind = "deferred"
	// EventSkipped: a start was dropped by its overlap policy.
	EventSkipped EventKind = "skipped"
	// EventMissed: due actions were later than the catch-up window.
	EventMissed EventKind = "missed"
	// EventDropped: a start was dropped for another reason.
	EventDropped EventKind = "dropped"
	// EventStarted: the action stream has accepted the run.
	EventStarted EventKind = "started"
	// EventRetried: an attempt to start failed; another one will follow.
	EventRetried EventKind = "retried"
	// EventCancelRequested and EventTerminated: an overlap policy or a person ends a run.
	EventCancelRequested EventKind = "cancel_requested"
	EventTerminated      EventKind = "terminated"
	// EventCompleted: a run has ended; Status says how.
	EventCompleted EventKind = "completed"
	// EventTriggered and EventBackfillRequested: somebody asked for starts; Source names the request.
	EventTriggered         EventKind = "triggered"
	EventBackfillRequested EventKind = "backfill_requested"
	// EventBackfillCompleted and EventBackfillCanceled: all starts of a backfill have left the buffer; Count says how many were handed
	// over.
	EventBackfillCompleted EventKind = "backfill_completed"
	EventBackfillCanceled  EventKind = "backfill_canceled"
	// EventSkipRequested and EventUnskipped: somebody asked to skip Count times from First to Last, or to skip them no longer.
	EventSkipRequested EventKind = "skip_requested"
	EventUnskipped     EventKind = "unskipped"
	// EventReplanned: a named calendar of the spec or the time zone data has changed, and so have the future times. Reason says which.
	EventReplanned EventKind = "replanned"
	// EventNoWorker: a run has waited for more than a minute on a task queue that no worker serves.
	EventNoWorker EventKind = "no_worker"
	// EventBulkFailed: a bulk operation failed for this schedule; Reason says what was asked and why it failed.
	EventBulkFailed EventKind = "bulk_failed"
	// EventDeadLetter: a message about the schedule could not be processed and is in the dead letter stream. EventReplayed: it has been
	// sent again.
	EventDeadLetter EventKind = "dead_letter"
	EventReplayed   EventKind = "replayed"
)

// EventKinds returns all kinds, in the order in which they are documented.
func EventKinds() []EventKind {
	return []EventKind{
		EventCreated, EventUpdated, EventPaused, EventUnpaused, EventDeleted, EventClosed, EventDeferred,
		EventSkipped, EventMissed, EventDropped, EventStarted, EventRetried, EventCancelRequested, EventTerminated,
		EventCompleted, EventTriggered, EventBackfillRequested, EventBackfillCompleted, EventBackfillCanceled,
		EventSkipRequested, EventUnskipped, EventReplanned, EventBulkFailed, EventNoWorker, EventDeadLetter, EventReplayed,
	}
}

// Event is one thing that happened to a schedule. It is JSON on the event subject and is kept in the event stream, which is also the audit
// log. Readers drop repeats by ID.
type Event struct {
	// ID is unique for what happened; a repeat has the same ID.
	ID         string    `json:"id"`
	Time       time.Time `json:"time"`
	Namespace  string    `json:"namespace"`
	ScheduleID string    `json:"scheduleId"`
	Kind       EventKind `json:"kind"`
	// RequestID, WorkflowID, RunID, Nominal and Actual name the start that the event is about, if there is one. If a person asked for the
	// event, RequestID is the ID of their API request.
	RequestID  string    `json:"requestId,omitempty"`
	WorkflowID string    `json:"workflowId,omitempty"`
	RunID      string    `json:"runId,omitempty"`
	Nominal    time.Time `json:"nominalTime,omitzero"`
	Actual     time.Time `json:"actualTime,omitzero"`
	Manual     bool      `json:"manual,omitempty"`
	// Status, CodeTime, CloseTime and Attempt are set for completions. CodeTime is when the worker's code began, CloseTime when the run
	// ended.
	Status    Status    `json:"status,omitempty"`
	CodeTime  time.Time `json:"codeTime,omitzero"`
	CloseTime time.Time `json:"closeTime,omitzero"`
	Attempt   int       `json:"attempt,omitempty"`
	Worker    string    `json:"worker,omitempty"`
	// Count is how many actions the event is about, if that is not one. First and Last are the nominal times of the first and the last of
	// them.
	Count int       `json:"count,omitempty"`
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Source is where the start comes from: SourceAuto, or the ID of a trigger or backfill. Events about the trigger or backfill itself
	// have it as well.
	Source string `json:"source,omitempty"`
	// Overlap is the policy that was applied, for a start that is deferred or skipped, or that ends other runs.
	Overlap OverlapPolicy `json:"overlap,omitempty"`
	// TaskQueue is where the run was sent, and ActionKind what it is: empty for a run on a worker of Carillon's own protocol.
	TaskQueue  string     `json:"taskQueue,omitempty"`
	ActionKind ActionKind `json:"actionKind,omitempty"`
	// Identity is who asked for it, as far as that is known. It is empty for what the schedule does by itself.
	Identity string `json:"identity,omitempty"`
	// Outcome is set for completions.
	Outcome
	// Reason says why, in one line.
	Reason string `json:"reason,omitempty"`
	// Trace is the W3C traceparent of the cause; empty if the cause is not traced.
	Trace string `json:"trace,omitempty"`
}

// Trigger asks for one start now.
type Trigger struct {
	// Overlap replaces the schedule's policy for this start.
	Overlap OverlapPolicy `json:"overlap,omitempty"`
	// Note is free text for the event history.
	Note string `json:"note,omitempty"`
	// Input replaces the input of the action for this run. Headers and Memo replace entries of the action with the same names and add the
	// others.
	Input   json.RawMessage            `json:"input,omitempty"`
	Headers map[string]string          `json:"headers,omitempty"`
	Memo    map[string]json.RawMessage `json:"memo,omitempty"`
	// NominalTime is the time at which the start counts as due, in whole seconds, in the past or the future. It becomes part of the workflow
	// ID. Zero means the time of the request. The start is made at once in any case.
	NominalTime time.Time `json:"nominalTime,omitzero"`
}

// Overrides reports whether the trigger replaces part of the action.
func (t *Trigger) Overrides() bool { return len(t.Input) > 0 || len(t.Headers) > 0 || len(t.Memo) > 0 }

// MaxBackfills is how many triggers and backfills of a schedule may be pending (docs/semantics.md §8).
const MaxBackfills = 100

// BackfillRange asks for every time of the spec from Start to End, both inclusive.
type BackfillRange struct {
	Start   time.Time     `json:"start"`
	End     time.Time     `json:"end"`
	Overlap OverlapPolicy `json:"overlap,omitempty"`
	// Note is free text for the event history.
	Note string `json:"note,omitempty"`
}

// Failure is why a run did not complete.
type Failure struct {
	// Message is for people.
	Message string `json:"message"`
	// Type is for programs: the name of the error. It is compared with RetryPolicy.NonRetryableErrorTypes.
	Type string `json:"type,omitempty"`
	// Details is any JSON value.
	Details json.RawMessage `json:"details,omitempty"`
}

// Progress is the progress that the code of a run has recorded for the next attempt. It is JSON on the progress subject of the run's
// workflow ID; a later message replaces it.
type Progress struct {
	// RunID names the run: an earlier run may have had the same workflow ID.
	RunID string `json:"runId"`
	// Attempt is the number of the attempt that recorded it.
	Attempt int `json:"attempt"`
	// Details is any JSON value of at most 64 KiB.
	Details json.RawMessage `json:"details"`
}

// IsOf reports whether the event belongs to an incarnation of a schedule: the IDs of its events begin with the incarnation.
func (e *Event) IsOf(incarnation string) bool { return strings.HasPrefix(e.ID, incarnation+"-") }

// Created returns the incarnation that an [EventCreated] is about.
func (e *Event) Created() (incarnation string) {
	incarnation, _, _ = strings.Cut(e.ID, "-"+string(EventCreated)+"-")
	return incarnation
}

// IsGone reports whether one of the events says that an incarnation was deleted or closed.
func IsGone(incarnation string, events []Event) bool {
	return slices.ContainsFunc(events, func(e Event) bool {
		return (e.Kind == EventDeleted || e.Kind == EventClosed) && e.IsOf(incarnation)
	})
}
