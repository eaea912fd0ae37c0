package schedule

import (
	"encoding/json"
	"slices"
	"time"
)

// Phase is where a buffered start is in its life (docs/semantics.md §6).
type Phase string

// The phases of a buffered start, in order.
const (
	// PhasePending waits for the overlap policy to be applied.
	PhasePending Phase = "pending"
	// PhaseDeferred waits for a run to end.
	PhaseDeferred Phase = "deferred"
	// PhaseReady is about to be started, or waits out the backoff after a failed attempt to.
	PhaseReady Phase = "ready"
	// PhaseStarted has been accepted by the action stream; it is running.
	PhaseStarted Phase = "started"
	// PhaseCompleted has ended; Status says how.
	PhaseCompleted Phase = "completed"
)

// SourceAuto is the source of starts the generator hands over; the others are backfill IDs.
const SourceAuto = "auto"

// BufferedStart is one due or manually requested action on its way from pending to completed.
type BufferedStart struct {
	// RequestID identifies the start everywhere and for ever; it is the idempotency key of the run.
	RequestID  string `json:"requestId"`
	WorkflowID string `json:"workflowId"`
	// Nominal is the time the spec gives, Actual the same plus jitter: when the start is due.
	Nominal time.Time `json:"nominalTime"`
	Actual  time.Time `json:"actualTime"`
	// Overlap is the policy asked for; unspecified means the schedule's.
	Overlap OverlapPolicy `json:"overlap,omitempty"`
	// Manual starts come from a trigger or backfill: they ignore pause, limits and the catch-up window.
	Manual bool `json:"manual,omitempty"`
	// Source is SourceAuto or the ID of a backfill.
	Source string `json:"source,omitempty"`
	Phase  Phase  `json:"phase"`
	// Attempt counts the attempts to start, from 1 in PhaseReady.
	Attempt int `json:"attempt,omitempty"`
	// BackoffUntil is when the next attempt to start is due, after a failed one.
	BackoffUntil time.Time `json:"backoffUntil,omitzero"`
	// Delay says which limit of the namespace keeps a pending start waiting; nil if none does. It is replaced, never changed.
	Delay *Delay `json:"delay,omitempty"`
	// TaskQueue is where the run was sent.
	TaskQueue string `json:"taskQueue,omitempty"`
	// RunID identifies the execution; derived from RequestID, so that every retry yields the same.
	RunID string `json:"runId,omitempty"`
	// StartTime is when the action stream accepted the run.
	StartTime time.Time `json:"startTime,omitzero"`
	// Ending says that the run has been asked to end, to make room for another.
	Ending ControlKind `json:"ending,omitempty"`
	// Status, CloseTime and the fields below are set by the completion.
	Status    Status    `json:"status,omitempty"`
	CloseTime time.Time `json:"closeTime,omitzero"`
	// CodeTime is when the worker's code began.
	CodeTime time.Time `json:"codeTime,omitzero"`
	// Trace is the W3C traceparent that caused the start.
	Trace string `json:"trace,omitempty"`
	// Identity is who asked for a manual start.
	Identity string `json:"identity,omitempty"`
	// Skip says that the start is not to be buffered: a person has asked to skip its nominal time. It is set in hand-offs
	// alone.
	Skip bool `json:"skip,omitempty"`
	// Overridden says that the trigger which asked for the start replaces part of the action. What by is in the record of
	// the trigger, whose ID is Source, and which stays until the start has been executed.
	Overridden bool `json:"overridden,omitempty"`
	// RunAttempt, Worker and Outcome are what the completion said: the number of the worker's last attempt, its name, and
	// what came of the run.
	RunAttempt int    `json:"runAttempt,omitempty"`
	Worker     string `json:"worker,omitempty"`
	Outcome
}

// Outcome is what came of a run, in as many bytes as a record or event has for it.
type Outcome struct {
	// Result is the result of a completed run, if it has no more than [MaxOutcomeResultBytes]; ResultBytes is its size.
	Result      json.RawMessage `json:"result,omitempty"`
	ResultBytes int             `json:"resultBytes,omitempty"`
	// Failure is why it did not complete, without details, the message cut to [MaxOutcomeMessageBytes].
	Failure *Failure `json:"failure,omitempty"`
}

// The bounds of an [Outcome], in bytes.
const (
	MaxOutcomeResultBytes  = 1 << 10
	MaxOutcomeMessageBytes = 512
)

// Waiting reports whether the start occupies a slot of the buffer: it is neither running nor completed.
func (s *BufferedStart) Waiting() bool {
	return s.Phase == PhasePending || s.Phase == PhaseDeferred || s.Phase == PhaseReady
}

// Delayed reports whether a limit of the namespace keeps the start waiting. The retry timer wakes its schedule.
func (s *BufferedStart) Delayed() bool { return s.Phase == PhasePending && s.Delay != nil }

// CountWaiting returns how many of some starts are [BufferedStart.Waiting]: the size of the buffer.
func CountWaiting(starts []BufferedStart) int {
	count := 0
	for i := range starts {
		if starts[i].Waiting() {
			count++
		}
	}
	return count
}

// Running reports whether the start has been started and has not completed.
func (s *BufferedStart) Running() bool { return s.Phase == PhaseStarted }

// Status is how a run ended.
type Status string

// The ways a run ends (docs/semantics.md §7).
const (
	StatusCompleted  Status = "completed"
	StatusFailed     Status = "failed"
	StatusCanceled   Status = "canceled"
	StatusTerminated Status = "terminated"
	StatusTimedOut   Status = "timed_out"
)

// StatusRunning asks for runs that have not ended: see [RunsRequest]. A run never bears it.
const StatusRunning Status = "running"

// Statuses returns the ways a run ends.
func Statuses() []Status {
	return []Status{StatusCompleted, StatusFailed, StatusCanceled, StatusTerminated, StatusTimedOut}
}

// Valid reports whether s is one of the statuses.
func (s Status) Valid() bool { return slices.Contains(Statuses(), s) }
