package wire

import "github.com/carillon-scheduler/carillon/schedule"

// Reason says why a pool is woken. The set is small and fixed: it is a metric label.
type Reason string

// The reasons for a wake.
const (
	ReasonCreated   Reason = "created"
	ReasonUpdated   Reason = "updated"
	ReasonPaused    Reason = "paused"
	ReasonUnpaused  Reason = "unpaused"
	ReasonDeleted   Reason = "deleted"
	ReasonGuard     Reason = "guard"
	ReasonDue       Reason = "due"
	ReasonIdle      Reason = "idle"
	ReasonCompleted Reason = "completed"
	ReasonRetry     Reason = "retry"
	ReasonTriggered Reason = "triggered"
	ReasonDrained   Reason = "drained"
	ReasonFinished  Reason = "finished"
	ReasonCanceled  Reason = "canceled"
)

// Wake asks a pool to look at one schedule. It carries no data to act on, so one wake may replace any number of others.
type Wake struct {
	// Incarnation and Version are those of the definition at the time. If a pool reads an older definition, a replica lags behind, and the
	// pool asks the leader. Empty and zero mean any.
	Incarnation string `json:"incarnation,omitempty"`
	Version     uint64 `json:"version,omitempty"`
	Reason      Reason `json:"reason"`
	// Told says that the events of this version have been stored.
	Told bool `json:"told,omitempty"`
	// Created is the definition itself if its version is the first and it is not large, so that the receiver need not read it. There may be
	// a newer definition by now, or none.
	Created *Definition `json:"created,omitempty"`
	// Runs says what becomes of the runs of a deleted schedule, of this incarnation.
	Runs schedule.RunsPolicy `json:"runs,omitempty"`
	// GuardAgain is for guards: if the thing that the guard guards does not exist when it fires, the guard is armed again for this long;
	// zero for never. The thing may still be on its way. Also, NATS removes a fired timer by its subject. So it may remove a newer guard
	// that a repeat of the request has just armed.
	GuardAgain schedule.Duration `json:"guardAgain,omitempty"`
}

// Enqueue hands starts to the invoker: everything that a source has due in (From, To].
type Enqueue struct {
	Incarnation string `json:"incarnation"`
	Version     uint64 `json:"version"`
	// Source is SourceAuto or the ID of a backfill.
	Source string `json:"source"`
	Span
	Starts []BufferedStart `json:"starts,omitempty"`
	// Missed and Dropped count due actions of the range that are not among Starts. Missed actions are later than the catch-up window.
	// Dropped ones exceed the limit of one hand-off, or are in a freeze of the namespace.
	Missed  int `json:"missed,omitempty"`
	Dropped int `json:"dropped,omitempty"`
	// DropReason is why actions were dropped; empty if the limit of one hand-off is the reason.
	DropReason string `json:"dropReason,omitempty"`
	// Superseded counts the due actions of the range that a newer one among Starts replaces: see CatchupLatest. They are not in Missed, but
	// count as missed.
	Superseded int `json:"superseded,omitempty"`
	// MissedSpan, DroppedSpan and SupersededSpan go from the first to the last nominal time of those actions, both inclusive; zero if there
	// are none.
	MissedSpan     Span `json:"missedSpan,omitzero"`
	DroppedSpan    Span `json:"droppedSpan,omitzero"`
	SupersededSpan Span `json:"supersededSpan,omitzero"`
	// Complete says that the source will hand over nothing more.
	Complete bool `json:"complete,omitempty"`
}

// EndRun asks the invoker to end a run, because somebody requested it.
type EndRun struct {
	// Incarnation and Version are those of the definition at the time, as in [Wake].
	Incarnation string               `json:"incarnation"`
	Version     uint64               `json:"version"`
	Kind        schedule.ControlKind `json:"kind"`
	// RequestID is that of the run.
	RequestID string `json:"requestId"`
	// Reason says why, Identity who asks; both may be empty.
	Reason   string `json:"reason,omitempty"`
	Identity string `json:"identity,omitempty"`
	// WorkflowID, RunID, TaskQueue and ActionKind are set for a run that no record knows, because its schedule is gone or has been replaced.
	// Incarnation and Version are empty then.
	WorkflowID string              `json:"workflowId,omitempty"`
	RunID      string              `json:"runId,omitempty"`
	TaskQueue  string              `json:"taskQueue,omitempty"`
	ActionKind schedule.ActionKind `json:"actionKind,omitempty"`
	// GivenUp says that nobody asked for it: the start of the run was given up, and whoever could still have made it has done so by now.
	GivenUp bool `json:"givenUp,omitempty"`
}

// Stray reports whether no record knows the run.
func (e *EndRun) Stray() bool { return e.TaskQueue != "" }

// Text describes, for people, what happens to the run, who asked for it and why.
func (e *EndRun) Text() string {
	text := "asked to cancel"
	if e.Kind == schedule.ControlTerminate {
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
