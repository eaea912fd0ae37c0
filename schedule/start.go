package schedule

import (
	"encoding/json"
	"slices"
	"time"
)

// Phase is the stage of a buffered start (docs/semantics.md §6).
type Phase string

// The phases of a buffered start, in order.
const (
	// PhasePending: the overlap policy has not been applied yet.
	PhasePending Phase = "pending"
	// PhaseDeferred: the start waits for a run to end.
	PhaseDeferred Phase = "deferred"
	// PhaseReady: the start is about to be made, or waits out the backoff after a failed attempt.
	PhaseReady Phase = "ready"
	// PhaseStarted: the action stream has accepted the start; the run is in progress.
	PhaseStarted Phase = "started"
	// PhaseCompleted: the run has ended; Status says how.
	PhaseCompleted Phase = "completed"
)

// SourceAuto is the source of starts from the generator. Other sources are IDs of triggers and backfills.
const SourceAuto = "auto"

// Outcome is what came of a run, limited to the size that records and events allow.
type Outcome struct {
	// Result is the result of a completed run if it is at most [MaxOutcomeResultBytes] long; ResultBytes is its size.
	Result      json.RawMessage `json:"result,omitempty"`
	ResultBytes int             `json:"resultBytes,omitempty"`
	// Failure is why the run did not complete. It has no details, and its message is cut to [MaxOutcomeMessageBytes].
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

// StatusRunning asks for runs that have not ended: see [RunsRequest]. No run has this status.
const StatusRunning Status = "running"

// Statuses returns the ways a run ends.
func Statuses() []Status {
	return []Status{StatusCompleted, StatusFailed, StatusCanceled, StatusTerminated, StatusTimedOut}
}

// Valid reports whether s is one of the statuses.
func (s Status) Valid() bool { return slices.Contains(Statuses(), s) }

// Delay says why a start waits that could otherwise begin, and for how long.
type Delay struct {
	By DelayReason `json:"by"`
	// NotBefore is the time that the start was given: it may begin from then on. It is zero if the start must ask for a time.
	NotBefore time.Time `json:"notBefore,omitzero"`
}

// DelayReason is the limit of the namespace that delays a start.
type DelayReason string

// The reasons of a delay.
const (
	// DelayActionRate: the starts per second are already promised to earlier starts.
	DelayActionRate DelayReason = "action_rate"
	// DelayPendingRuns: as many runs as allowed are queued or in progress.
	DelayPendingRuns DelayReason = "pending_runs"
)
