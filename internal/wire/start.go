package wire

import (
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// BufferedStart is one due or manually requested action on its way from pending to completed.
type BufferedStart struct {
	// RequestID identifies the start everywhere and forever; it is the idempotency key of the run.
	RequestID  string `json:"requestId"`
	WorkflowID string `json:"workflowId"`
	// Nominal is the time that the spec gives. Actual is the same plus jitter: when the start is due.
	Nominal time.Time `json:"nominalTime"`
	Actual  time.Time `json:"actualTime"`
	// Overlap is the policy asked for; unspecified means the schedule's.
	Overlap schedule.OverlapPolicy `json:"overlap,omitempty"`
	// Manual starts come from a trigger or backfill: they ignore pause, limits and the catch-up window.
	Manual bool `json:"manual,omitempty"`
	// Source is SourceAuto or the ID of a backfill.
	Source string         `json:"source,omitempty"`
	Phase  schedule.Phase `json:"phase"`
	// Attempt counts the attempts to start, from 1 in PhaseReady.
	Attempt int `json:"attempt,omitempty"`
	// BackoffUntil is when the next attempt to start is due, after a failed one.
	BackoffUntil time.Time `json:"backoffUntil,omitzero"`
	// Delay says which limit of the namespace delays a pending start; nil if none does. It is replaced, never changed.
	Delay *schedule.Delay `json:"delay,omitempty"`
	// ActionKind is what is started. It and TaskQueue, where the run was sent, are those of the action when the start became ready.
	ActionKind schedule.ActionKind `json:"actionKind,omitempty"`
	TaskQueue  string              `json:"taskQueue,omitempty"`
	// RunID identifies the execution; derived from RequestID, so that every retry yields the same.
	RunID string `json:"runId,omitempty"`
	// StartTime is when the action stream accepted the run.
	StartTime time.Time `json:"startTime,omitzero"`
	// Ending says that the run has been asked to end, to make room for another.
	Ending schedule.ControlKind `json:"ending,omitempty"`
	// Status, CloseTime and the fields below are set by the completion.
	Status    schedule.Status `json:"status,omitempty"`
	CloseTime time.Time       `json:"closeTime,omitzero"`
	// CodeTime is when the worker's code began.
	CodeTime time.Time `json:"codeTime,omitzero"`
	// Trace is the W3C traceparent that caused the start.
	Trace string `json:"trace,omitempty"`
	// Identity is who asked for a manual start.
	Identity string `json:"identity,omitempty"`
	// Skip says not to buffer the start, because a person asked to skip its nominal time. Only hand-offs set it.
	Skip bool `json:"skip,omitempty"`
	// Overridden says that the trigger of the start replaces part of the action. The replacements are in the record of the trigger, whose
	// ID is Source. The record stays until the start has been executed.
	Overridden bool `json:"overridden,omitempty"`
	// RunAttempt, Worker and Outcome come from the completion: the number of the worker's last attempt, its name, and the outcome of the
	// run.
	RunAttempt int    `json:"runAttempt,omitempty"`
	Worker     string `json:"worker,omitempty"`
	schedule.Outcome
}

// Waiting reports whether the start occupies a slot of the buffer: it is neither running nor completed.
func (s *BufferedStart) Waiting() bool {
	return s.Phase == schedule.PhasePending || s.Phase == schedule.PhaseDeferred || s.Phase == schedule.PhaseReady
}

// Delayed reports whether a limit of the namespace delays the start. The retry timer wakes its schedule.
func (s *BufferedStart) Delayed() bool { return s.Phase == schedule.PhasePending && s.Delay != nil }

// CountWaiting returns how many of the starts are [BufferedStart.Waiting]: the size of the buffer.
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
func (s *BufferedStart) Running() bool { return s.Phase == schedule.PhaseStarted }

// NewRun returns the run of a start that has been started.
func NewRun(s *BufferedStart) schedule.Run {
	return schedule.Run{
		WorkflowID: s.WorkflowID, RunID: s.RunID, RequestID: s.RequestID,
		NominalTime: s.Nominal, DueTime: s.Actual, StartTime: s.StartTime,
		CodeTime: s.CodeTime, CloseTime: s.CloseTime, Status: s.Status, Manual: s.Manual,
		Source: s.Source, TaskQueue: s.TaskQueue, Identity: s.Identity,
		Attempt: s.RunAttempt, Worker: s.Worker, ActionKind: s.ActionKind, Outcome: s.Outcome,
	}
}

// StartRate says up to when the starts of a namespace with a rate limit are promised. It is a record of the cluster's bucket that the
// invokers share. After Next it has no meaning.
type StartRate struct {
	// Next is when the next start may begin.
	Next time.Time `json:"next"`
	// Rate is how many starts per second are promised up to then.
	Rate float64 `json:"rate"`
}

// NewStart returns the pending start of a schedule for one time of its spec, or for a trigger. The same arguments give
// the same start in every process.
func NewStart(d *Definition, source string, nominal, actual time.Time) BufferedStart {
	action, policies := &d.Schedule.Action, &d.Schedule.Policies
	base := action.WorkflowID
	if base == "" {
		base = d.ID
	}
	named := nominal
	if action.Kind.IsWorkflow() {
		named = nominal.Truncate(time.Second) // as Temporal does
	}
	return BufferedStart{
		RequestID:  RequestID(source, d.Namespace, d.ID, d.Incarnation, d.Version, nominal, actual),
		WorkflowID: WorkflowID(base, named, policies.KeepOriginalWorkflowID),
		Nominal:    nominal, Actual: actual, Source: source, Manual: source != schedule.SourceAuto, Phase: schedule.PhasePending,
	}
}
