package schedule

import "slices"

// RunsPolicy says what a deletion does with the runs of the schedule that its task queue has. The empty policy is
// RunsWithdraw. A run is queued until a worker has taken it, and in progress from then on.
type RunsPolicy string

// The policies for the runs of a deleted schedule.
const (
	// RunsLeave leaves all of them alone: queued ones begin when a worker comes, whenever that is.
	RunsLeave RunsPolicy = "leave"
	// RunsWithdraw takes queued runs out of their queue, and leaves those in progress alone.
	RunsWithdraw RunsPolicy = "withdraw"
	// RunsCancel takes queued runs out of their queue, and cancels those in progress.
	RunsCancel RunsPolicy = "cancel"
	// RunsTerminate takes queued runs out of their queue, and terminates those in progress.
	RunsTerminate RunsPolicy = "terminate"
)

// RunsPolicies returns the policies a user can choose.
func RunsPolicies() []RunsPolicy {
	return []RunsPolicy{RunsLeave, RunsWithdraw, RunsCancel, RunsTerminate}
}

// OrDefault returns the policy, or RunsWithdraw if it is empty or unknown here.
func (p RunsPolicy) OrDefault() RunsPolicy {
	if slices.Contains(RunsPolicies(), p) {
		return p
	}
	return RunsWithdraw
}

// Ending returns what a run in progress is asked for; empty if it is left alone.
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
