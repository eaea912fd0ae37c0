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

// Delay is why, and for how long, a start waits that could begin otherwise.
type Delay struct {
	By DelayReason `json:"by"`
	// NotBefore is the time that the start has been given, from when on it may begin; zero if it has to ask for one.
	NotBefore time.Time `json:"notBefore,omitzero"`
}

// DelayReason is which limit of its namespace keeps a start waiting that could begin otherwise.
type DelayReason string

// The reasons of a delay.
const (
	// DelayActionRate: as many runs as may start in a second have been promised to other starts before it.
	DelayActionRate DelayReason = "action_rate"
	// DelayPendingRuns: as many runs as there may be are queued or in progress.
	DelayPendingRuns DelayReason = "pending_runs"
)
