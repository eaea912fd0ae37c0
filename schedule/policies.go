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
