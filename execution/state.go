package execution

import (
	"iter"
	"maps"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
)

// Key names a journal.
type Key struct {
	Namespace  string `json:"namespace"`
	WorkflowID string `json:"workflowId"`
}

// State is what a journal adds up to. [State.Apply] and [State.Stored] change it; everything else reads it.
type State struct {
	Key Key
	// Sequence is the stream sequence of the last entry; zero for a journal without entries.
	Sequence uint64
	// Run is the newest run; nil for a journal without entries.
	Run *Run
}

// Run is the state of one execution.
type Run struct {
	// ID is the run ID, a UUID.
	ID string
	// First is the stream sequence of the entry with which the run begins.
	First uint64
	// Start is the time of the first event, and Attributes what it says: what was asked for, with the defaults filled in.
	Start      time.Time
	Attributes *historypb.WorkflowExecutionStartedEventAttributes
	// StartRequest is the ID of the request that began the chain of runs; empty if it had none.
	StartRequest string
	// Resets are the last resets of the workflow ID before the run, and the one that began it, the newest last.
	Resets []ResetRecord
	// ResetRun is the run that a reset has begun from this one and ended it for; empty if none has.
	ResetRun string
	// Stretches are the events of the run that other runs wrote: see [Run.Author]. Only a run that a reset has begun has some.
	Stretches []Stretch
	// OriginalStart is the time of the first event of a run that a reset has begun; zero for others. Start is the time of the reset then.
	OriginalStart time.Time
	// ResetPoints are where workers with other code took over, in this run and those before it, the newest last.
	ResetPoints []*workflowpb.ResetPointInfo
	// WorkerVersion is what the worker that completed the last workflow task said about its code; nil if none has said anything.
	WorkerVersion *commonpb.WorkerVersionStamp
	// Callback says who is to be told how the chain of runs ends; nil if nobody is.
	Callback []byte
	// Earlier are the IDs of the last runs before this one that schedules and parents have started, the newest last. Runs that followed on them
	// are left out.
	Earlier []string
	// Removed are the IDs of runs of the workflow ID that have been deleted, the newest last, and perhaps of this one. Use [Run.Deleted].
	Removed []string
	// Needs are what resets have made of entries of earlier runs: see [Run.Uses].
	Needs []Need
	// NextEvent is the ID of the next event, from 1.
	NextEvent int64
	// Bytes is the size of the encoded events, and Entries how many entries of the journal are about the run.
	Bytes, Entries int64
	// Status is running, or how the run ended at Close.
	Status enumspb.WorkflowExecutionStatus
	Close  time.Time
	// Continues says that the run has ended, and that another one follows on it.
	Continues bool

	// Task is the workflow task that waits or is worked on.
	Task WorkflowTask
	// Sticky is the queue of the worker that has the run in its cache.
	Sticky Sticky
	// LastStarted is the ID of the event with which the last completed workflow task started; zero if none has completed.
	LastStarted int64
	// Buffered are events that wait for the end of the workflow task. They have no ID yet.
	Buffered []*historypb.HistoryEvent
	// Activities are the pending ones, by the ID of the event that scheduled them. Those of a run that has ended stay: nobody works on them any more,
	// but a description shows them.
	Activities map[int64]Activity
	// Timers are the pending ones, by the ID that the workflow gave them.
	Timers map[string]Timer
	// Children are the child workflows that have not ended, by the ID of the event that initiated each. Those of a run that has ended stay.
	Children map[int64]Child
	// Outgoing are the events by which the run signals or cancels other workflows, by their IDs, as long as it is not known what came of that.
	Outgoing map[int64]*historypb.HistoryEvent
	// Updates are the updates by their IDs, and Admitted is how many were admitted. Rejected are those that were rejected lately, and no longer among
	// them.
	Updates  map[string]Update
	Admitted int64
	Rejected []Rejection
	// Signals is how many signals the run has accepted.
	Signals int64
	// CancelRequested says that somebody asked the workflow to end.
	CancelRequested bool
	// Requests are the IDs of the signals that have been accepted, so that a repeat is recognized.
	Requests requestIDs
	// Memo and SearchAttributes are those of the start with the later changes.
	Memo             map[string]*commonpb.Payload
	SearchAttributes map[string]*commonpb.Payload
	// UserMetadata is what the client said about the run, for people.
	UserMetadata *sdkpb.UserMetadata
	// FirstTask is until when the first workflow task waits; zero if it does not wait, or no longer.
	FirstTask time.Time
	// Armed is for when the last delayed message was armed: the next deadline of that moment, or an earlier time. Unless that time has passed, a message
	// comes then, or a little later. Zero means that none may come.
	Armed time.Time
	// Heartbeats are the last ones of activities in progress. They are not part of the journal: who loads a state adds them.
	Heartbeats map[int64]Heartbeat
}

// WorkflowTask is a workflow task that waits for a worker or is worked on. In an entry, it is the value after the transition.
type WorkflowTask struct {
	// Scheduled is the ID of the event that scheduled it; zero if there is no task.
	Scheduled int64 `json:"scheduled,omitempty"`
	// Started is the ID of the event with which it started; zero while it waits. From the second attempt on, both events are written only if the
	// task succeeds; until then they have the next IDs, but are not in the history.
	Started int64 `json:"started,omitempty"`
	// Attempt is that of the task, or of the next one if there is none. It begins at 1.
	Attempt int32 `json:"attempt,omitempty"`
	// OriginalTime is ScheduledTime, or that of the first of a row of tasks that a worker asked for only to have more time.
	ScheduledTime time.Time `json:"scheduledTime,omitzero"`
	StartedTime   time.Time `json:"startedTime,omitzero"`
	OriginalTime  time.Time `json:"originalTime,omitzero"`
	// Timeout is how long a worker may take.
	Timeout time.Duration `json:"timeout,omitempty"`
	// StickyQueue is the sticky queue that the task was scheduled on, if it was, and StickyTimeout how long it waits there.
	StickyQueue   string        `json:"stickyQueue,omitempty"`
	StickyTimeout time.Duration `json:"stickyTimeout,omitempty"`
	// RequestID is that of the poll that got the task, and Identity the worker's.
	RequestID string `json:"requestId,omitempty"`
	Identity  string `json:"identity,omitempty"`
	// Speculative says that only updates made the task due. Its events are written only if it has come to something.
	Speculative bool `json:"speculative,omitempty"`
	// Updates is the number of the last update that the worker has got with the task.
	Updates int64 `json:"updates,omitempty"`
	// ManyUpdates says that the run had so many updates when the task started that it should continue as new.
	ManyUpdates bool `json:"manyUpdates,omitempty"`
	// Closing says that the task before failed because it was to end the workflow, and events had arrived meanwhile. This one will end it, most likely.
	Closing bool `json:"closing,omitempty"`
}

// closing reports whether a worker has a task which, most likely, ends the workflow. A signal or an update that came now would keep it from that, so it
// is refused.
func (t *WorkflowTask) closing() bool { return t.Closing && t.Started != 0 }

// virtual reports whether the events of the task are not in the history.
func (t *WorkflowTask) virtual() bool { return t.Attempt > 1 || t.Speculative }

// Sticky is the task queue of one worker. The zero value means that no worker has the run in its cache.
type Sticky struct {
	Queue string `json:"queue,omitempty"`
	// Timeout is how long a task waits there.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Activity is a pending activity.
type Activity struct {
	// Scheduled is when the workflow scheduled it, and Original what it asked for, with the defaults filled in. Attributes is the same with the
	// options that somebody has changed since.
	Scheduled  time.Time
	Original   *historypb.ActivityTaskScheduledEventAttributes
	Attributes *historypb.ActivityTaskScheduledEventAttributes
	ActivityRecord
}

// ActivityRecord is what changes about a pending activity. In an entry, it is the value after the transition.
type ActivityRecord struct {
	// Event is the ID of the event that scheduled the activity.
	Event int64 `json:"event"`
	// Attempt begins at 1.
	Attempt int32 `json:"attempt"`
	// Due is when the attempt may start.
	Due time.Time `json:"due,omitzero"`
	// Waiting says that Due had not come yet when the attempt was decided.
	Waiting bool `json:"waiting,omitempty"`
	// Started is when a worker got the attempt; zero while it waits. RequestID is that of the poll, and Identity the worker's.
	Started   time.Time `json:"started,omitzero"`
	RequestID string    `json:"requestId,omitempty"`
	Identity  string    `json:"identity,omitempty"`
	// CancelEvent is the ID of the event that asked for the cancellation; zero if nobody did.
	CancelEvent int64 `json:"cancelEvent,omitempty"`
	// LastFailure is how the previous attempt failed, and Details what its last heartbeat said; encoded as Temporal's Failure and Payloads.
	LastFailure []byte `json:"lastFailure,omitempty"`
	Details     []byte `json:"details,omitempty"`
	// LastIdentity is the worker of the previous attempt, and LastEnd when it ended.
	LastIdentity string    `json:"lastIdentity,omitempty"`
	LastEnd      time.Time `json:"lastEnd,omitzero"`
	// Stamp counts the resets and changes that make earlier offers of an attempt void. It is constant while a worker has an attempt.
	Stamp int32 `json:"stamp,omitempty"`
	// Pause says who has paused the activity; zero if it is not paused.
	Pause Pause `json:"pause,omitzero"`
	// Reset says that the attempt in progress is followed by a first one, if it fails. Forget says that the next one gets no details of heartbeats.
	Reset  bool `json:"reset,omitempty"`
	Forget bool `json:"forget,omitempty"`
	// Options are the changed options, encoded as Temporal's ActivityOptions; nil if they are those of the workflow.
	Options []byte `json:"options,omitempty"`
}

// Pause is the pause of an activity.
type Pause struct {
	// Since is when it began; zero if the activity is not paused.
	Since time.Time `json:"since,omitzero"`
	// Identity is who paused the activity, Reason why, and RequestID the ID of the request.
	Identity  string `json:"identity,omitempty"`
	Reason    string `json:"reason,omitempty"`
	RequestID string `json:"requestId,omitempty"`
}

// paused reports whether the activity gets no attempt until somebody lets it go on.
func (a *ActivityRecord) paused() bool { return !a.Pause.Since.IsZero() }

// Timer is a pending timer of a workflow.
type Timer struct {
	// Event is the ID of the event that started it.
	Event int64
	// Fires is when it is due.
	Fires time.Time
}

// Beat is a heartbeat to store outside the journal.
type Beat struct {
	// Event is the ID of the event that scheduled the activity.
	Event int64
	Heartbeat
}

// Heartbeat is the last sign of life of an attempt of an activity. It is kept outside the journal.
type Heartbeat struct {
	// Attempt and Stamp say which attempt it belongs to.
	Attempt int32 `json:"attempt"`
	Stamp   int32 `json:"stamp,omitempty"`
	// Time is when it came.
	Time time.Time `json:"time"`
	// Details are those that the worker gave, encoded as Temporal's Payloads.
	Details []byte `json:"details,omitempty"`
}

// Open reports whether the run has not ended.
func (r *Run) Open() bool { return r != nil && r.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING }

// HandledBy returns the least ID of a workflow task's started event at which the code of the workflow has handled everything that the run has
// accepted so far.
func (r *Run) HandledBy() int64 {
	switch {
	case r.Task.Started == 0:
		return r.NextEvent
	case len(r.Buffered) == 0:
		return r.Task.Started
	}
	return r.Task.Started + 1
}

// clone returns a copy that can be changed without a change of the original. What the values point to is never changed.
func (r *Run) clone() *Run {
	c := *r
	c.Buffered = slices.Clip(r.Buffered)
	c.Activities = maps.Clone(r.Activities)
	c.Timers = maps.Clone(r.Timers)
	c.Heartbeats = maps.Clone(r.Heartbeats)
	c.Children = maps.Clone(r.Children)
	c.Updates = maps.Clone(r.Updates)
	c.Outgoing = maps.Clone(r.Outgoing)
	return &c
}

// ordered goes through what belongs to events, in their order: every replay must come to the same.
func ordered[V any](of map[int64]V) iter.Seq2[int64, V] {
	return func(yield func(int64, V) bool) {
		for _, id := range slices.Sorted(maps.Keys(of)) {
			if !yield(id, of[id]) {
				return
			}
		}
	}
}

// lastFailure decodes how the previous attempt of an activity failed; nil if there was none.
func (a *ActivityRecord) lastFailure() *failurepb.Failure {
	if a.LastFailure == nil {
		return nil
	}
	var failure failurepb.Failure
	if unmarshal(a.LastFailure, &failure) != nil {
		return nil
	}
	return &failure
}
