package schedule

import "time"

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

// StartRate is how far the starts of a namespace with a limit of them have been promised. It is a record of the cluster's
// bucket that the invokers share, and worth nothing once Next is over.
type StartRate struct {
	// Next is when the next start may be.
	Next time.Time `json:"next"`
	// Rate is how many starts there are in a second up to then.
	Rate float64 `json:"rate"`
}
