package schedule

import "time"

// The catch-up window (SEMANTICS §3).
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
// (SEMANTICS §3). The empty mode is CatchupAll.
type CatchupMode string

// The catch-up modes.
const (
	// CatchupAll makes up for every time within the catch-up window.
	CatchupAll CatchupMode = "all"
	// CatchupLatest makes up for the newest alone. A time is superseded, and counts as missed, if it is found due more
	// than CatchupLatestGrace after its actual time together with a newer one within the catch-up window.
	CatchupLatest CatchupMode = "latest"
)

// CatchupLatestGrace is how late a time may be found due without being superseded: so that times of a schedule that is
// due every second do not supersede each other as long as nothing is wrong.
const CatchupLatestGrace = time.Second

// CatchupModes returns the modes a user can choose.
func CatchupModes() []CatchupMode { return []CatchupMode{CatchupAll, CatchupLatest} }
