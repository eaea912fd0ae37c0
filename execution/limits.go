package execution

import "strconv"

// The limits of a history are Temporal's. A worker reads all of it whenever it has lost the run from its cache.
const (
	// suggestEvents and suggestBytes are when workers are told to begin a new run.
	suggestEvents = 10 << 10
	suggestBytes  = 10 << 20
	// maxEvents and maxBytes end a run.
	maxEvents = 50 << 10
	maxBytes  = 50 << 20
	// maxPending is how many activities may be pending, and how many children, signals and cancellations of other workflows, each.
	maxPending = 2000
)

func tooMany(what string) string {
	return "the number of pending " + what + " has reached the limit of " + strconv.Itoa(maxPending)
}

// suggestNew reports whether the workflow should continue as new.
func (r *Run) suggestNew() bool { return r.NextEvent > suggestEvents || r.Bytes > suggestBytes }

// enforceLimits ends a run whose history has become too long. What has arrived stays in it.
func (tx *transition) enforceLimits() {
	switch r := tx.run; {
	case !r.Open():
	case r.NextEvent > maxEvents:
		tx.terminate("Workflow history count exceeds limit.", nil, "history-service")
	case r.Bytes > maxBytes:
		tx.terminate("Workflow history size exceeds limit.", nil, "history-service")
	}
}
