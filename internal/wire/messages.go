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

// Wake asks a pool to look at one schedule. It carries no data to act on, so any number of them may be lost into one.
type Wake struct {
	// Incarnation and Version are those of the definition at the time; a pool that reads an older definition reads a
	// lagging replica and asks the leader. Empty and zero mean any.
	Incarnation string `json:"incarnation,omitempty"`
	Version     uint64 `json:"version,omitempty"`
	Reason      Reason `json:"reason"`
	// Told says that the events of that version have been stored.
	Told bool `json:"told,omitempty"`
	// Created is the definition itself where that version is the first, unless it is large: whoever gets the message need not
	// ask for it. By now there may be another, or none.
	Created *Definition `json:"created,omitempty"`
	// Runs says what becomes of the runs of a schedule that has been deleted, of that incarnation.
	Runs schedule.RunsPolicy `json:"runs,omitempty"`
	// GuardAgain is of a guard: how long after it has fired to arm it once more if what it guards is not there, zero for never.
	// It may be on its way. And a guard that fires takes along whatever waits on the subject of its timer, so also the newer one
	// that a repeat of the request has just armed: NATS removes what has fired by its subject.
	GuardAgain schedule.Duration `json:"guardAgain,omitempty"`
}

// Enqueue hands starts to the invoker: everything a source has due in (From, To].
type Enqueue struct {
	Incarnation string `json:"incarnation"`
	Version     uint64 `json:"version"`
	// Source is SourceAuto or the ID of a backfill.
	Source string `json:"source"`
	Span
	Starts []BufferedStart `json:"starts,omitempty"`
	// Missed and Dropped count the due actions of the range that are not among Starts: later than the catch-up window,
	// and beyond what one hand-off may hold or in a freeze of the namespace.
	Missed  int `json:"missed,omitempty"`
	Dropped int `json:"dropped,omitempty"`
	// DropReason is why those were dropped; empty where one hand-off may hold no more.
	DropReason string `json:"dropReason,omitempty"`
	// Superseded counts the due actions of the range that a newer one among Starts stands for: see CatchupLatest. They
	// are not among Missed, but count as missed.
	Superseded int `json:"superseded,omitempty"`
	// MissedSpan, DroppedSpan and SupersededSpan are from the first to the last nominal time of those, both inclusive; zero
	// where there are none.
	MissedSpan     Span `json:"missedSpan,omitzero"`
	DroppedSpan    Span `json:"droppedSpan,omitzero"`
	SupersededSpan Span `json:"supersededSpan,omitzero"`
	// Complete says that the source will hand over nothing after this.
	Complete bool `json:"complete,omitempty"`
}

// EndRun tells the invoker that somebody wants a run to end.
type EndRun struct {
	// Incarnation and Version are those of the definition at the time, as of a [Wake].
	Incarnation string               `json:"incarnation"`
	Version     uint64               `json:"version"`
	Kind        schedule.ControlKind `json:"kind"`
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
