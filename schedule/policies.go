package schedule

import "time"

// The catch-up window (docs/semantics.md §3).
const (
	// DefaultCatchupWindow is how late an action may start if the schedule does not say.
	DefaultCatchupWindow = 365 * 24 * time.Hour
	// MinCatchupWindow is the shortest window; smaller positive values are raised to it.
	MinCatchupWindow = 10 * time.Second
)

// Catchup returns how late an action of the schedule may start. That is CatchupWindow, but at least MinCatchupWindow; if CatchupWindow is
// zero, it is DefaultCatchupWindow.
func (p Policies) Catchup() time.Duration {
	if p.CatchupWindow <= 0 {
		return DefaultCatchupWindow
	}
	return max(p.CatchupWindow.Std(), MinCatchupWindow)
}

// CatchupMode says what becomes of times that are found due together and late, for example after an outage (docs/semantics.md §3). The
// empty mode is CatchupAll.
type CatchupMode string

// The catch-up modes.
const (
	// CatchupAll makes up for every time within the catch-up window.
	CatchupAll CatchupMode = "all"
	// CatchupLatest makes up only for the newest time. An older time is superseded and counts as missed if it is found due more than
	// CatchupLatestGrace after its actual time, together with a newer one within the catch-up window.
	CatchupLatest CatchupMode = "latest"
)

// LostRunPolicy says what becomes of a lost run: it was started, but it is in no task queue, no worker has it, and no completion is on its
// way. A crash alone does not lose a run. It takes an operator who purges a stream, a worker that acknowledges without a report, or NATS
// servers that lose acknowledged data. The empty policy is LostRunFail.
type LostRunPolicy string

// The policies for lost runs.
const (
	// LostRunFail ends the run as failed, with a failure of type "lost", so that the schedule continues.
	LostRunFail LostRunPolicy = "fail"
	// LostRunWait waits for the completion. Only a person or the run timeout ends the run.
	LostRunWait LostRunPolicy = "wait"
)

// LostRunPolicies returns the policies a user can choose.
func LostRunPolicies() []LostRunPolicy { return []LostRunPolicy{LostRunFail, LostRunWait} }

// FailureLost is the type of the failure of a lost run.
const FailureLost = "lost"

// CatchupLatestGrace is how late a time may be found due without being superseded. Thus the times of a schedule that is due every second do
// not supersede each other in normal operation.
const CatchupLatestGrace = time.Second

// CatchupModes returns the modes a user can choose.
func CatchupModes() []CatchupMode { return []CatchupMode{CatchupAll, CatchupLatest} }
