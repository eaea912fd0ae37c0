package schedule

import "slices"

// RunsPolicy says what a deletion does with the schedule's runs in the task queue. The empty policy is RunsWithdraw. A run is queued until
// a worker takes it, and in progress from then on.
type RunsPolicy string

// The policies for the runs of a deleted schedule.
const (
	// RunsLeave leaves all runs alone: queued runs begin when a worker comes, whenever that is.
	RunsLeave RunsPolicy = "leave"
	// RunsWithdraw removes queued runs from their queue and leaves runs in progress alone.
	RunsWithdraw RunsPolicy = "withdraw"
	// RunsCancel removes queued runs from their queue and cancels runs in progress.
	RunsCancel RunsPolicy = "cancel"
	// RunsTerminate removes queued runs from their queue and terminates runs in progress.
	RunsTerminate RunsPolicy = "terminate"
)

// RunsPolicies returns the policies a user can choose.
func RunsPolicies() []RunsPolicy {
	return []RunsPolicy{RunsLeave, RunsWithdraw, RunsCancel, RunsTerminate}
}

// OrDefault returns the policy, or RunsWithdraw if it is empty or unknown.
func (p RunsPolicy) OrDefault() RunsPolicy {
	if slices.Contains(RunsPolicies(), p) {
		return p
	}
	return RunsWithdraw
}

// Ending returns the control to send to a run in progress; empty if the run is left alone.
func (p RunsPolicy) Ending() ControlKind {
	switch p {
	case RunsCancel:
		return ControlCancel
	case RunsTerminate:
		return ControlTerminate
	}
	return ""
}

func validateRuns(p RunsPolicy, accepted ...RunsPolicy) error {
	return oneOf("runs", "a policy for runs", p, accepted...)
}
