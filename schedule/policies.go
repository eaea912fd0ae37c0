package schedule

import "time"

// The catch-up window (docs/semantics.md §3).
const (
	// DefaultCatchupWindow is how late an action may start when a schedule does not say.
	DefaultCatchupWindow = 365 * 24 * time.Hour
	// MinCatchupWindow is the shortest window; smaller positive values are raised to it.
	MinCatchupWindow = 10 * time.Second
)

// Catchup returns how late an action of the schedule may start: CatchupWindow, at least MinCatchupWindow, or
// DefaultCatchupWindow when it is zero.
func (p Policies) Catchup() time.Duration {
	if p.CatchupWindow <= 0 {
		return DefaultCatchupWindow
	}
	return max(p.CatchupWindow.Std(), MinCatchupWindow)
}

// CatchupMode says what becomes of times that are found due together and late, after an outage for instance
// (docs/semantics.md §3). The empty mode is CatchupAll.
type CatchupMode string

// The catch-up modes.
const (
	// CatchupAll makes up for every time within the catch-up window.
	CatchupAll CatchupMode = "all"
	// CatchupLatest makes up for the newest alone. A time is superseded, and counts as missed, if it is found due more
	// than CatchupLatestGrace after its actual time together with a newer one within the catch-up window.
	CatchupLatest CatchupMode = "latest"
)

// LostRunPolicy says what becomes of a run that has been started, and that nobody has any more: neither the task queue,
// nor a worker, nor a completion on its way. It takes more than a crash to lose one: an operator who purges a stream, a
// worker that acknowledges without a report, NATS servers that lose what they have acknowledged. The empty policy is
// LostRunFail.
type LostRunPolicy string

// The policies for lost runs.
const (
	// LostRunFail ends it as failed, with a failure of type "lost", so that the schedule goes on.
	LostRunFail LostRunPolicy = "fail"
	// LostRunWait waits for its completion: nobody but a person, or its run timeout, ends it.
	LostRunWait LostRunPolicy = "wait"
)

// LostRunPolicies returns the policies a user can choose.
func LostRunPolicies() []LostRunPolicy { return []LostRunPolicy{LostRunFail, LostRunWait} }

// FailureLost is the type of the failure of a lost run.
const FailureLost = "lost"

// CatchupLatestGrace is how late a time may be found due without being superseded: so that times of a schedule that is
// due every second do not supersede each other as long as nothing is wrong.
const CatchupLatestGrace = time.Second

// CatchupModes returns the modes a user can choose.
func CatchupModes() []CatchupMode { return []CatchupMode{CatchupAll, CatchupLatest} }
