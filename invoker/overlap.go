package invoker

import "github.com/carillon-scheduler/carillon/schedule"

// Overlap is what the overlap policies are applied to.
type Overlap struct {
	// Running is how many runs are in progress.
	Running int
	// Limit is how many may be before a policy applies; at least 1.
	Limit int
	// Policies are those of the waiting starts in buffer order; none is unspecified.
	Policies []schedule.OverlapPolicy
}

// Resolution says what becomes of the waiting starts, by their indices. Each is in exactly one of the lists.
type Resolution struct {
	// Beside start at once, whatever runs: the policy is allow all.
	Beside []int
	// Chosen start because there is room.
	Chosen []int
	// Kept go on waiting.
	Kept []int
	// Skipped are dropped by their own policy.
	Skipped []int
	// Replaced had been chosen, and gave way to a later start that ends others.
	Replaced []int
	// Blocked would have started beside the others, but a cancel or terminate of the same pass would end them at once.
	Blocked []int
	// Cancel and Terminate are how many of the oldest runs to end so.
	Cancel    int
	Terminate int
}

// Resolve applies the overlap policies in buffer order (docs/semantics.md §5).
func Resolve(o Overlap) Resolution {
	var r Resolution
	for i, policy := range o.Policies {
		switch {
		case policy == schedule.OverlapAllowAll:
			r.Beside = append(r.Beside, i)
		case o.Running+len(r.Chosen) < o.Limit:
			r.Chosen = append(r.Chosen, i)
		default:
			r.collide(i, policy, o.Running)
		}
	}
	r.Cancel, r.Terminate = min(r.Cancel, o.Running), min(r.Terminate, o.Running)
	if r.Cancel+r.Terminate > 0 {
		r.Blocked, r.Beside = r.Beside, nil
	}
	return r
}

// collide applies the policy of a start for which there is no room.
func (r *Resolution) collide(i int, policy schedule.OverlapPolicy, running int) {
	switch policy {
	case schedule.OverlapBufferOne:
		if len(r.Kept) == 0 {
			r.Kept = append(r.Kept, i)
			return
		}
	case schedule.OverlapBufferAll:
		r.Kept = append(r.Kept, i)
		return
	case schedule.OverlapCancelOther, schedule.OverlapTerminateOther:
		r.end(i, policy, running)
		return
	}
	r.Skipped = append(r.Skipped, i)
}

// end makes room for a start: by ending a run, or, where nothing runs yet, in place of a chosen one.
func (r *Resolution) end(i int, policy schedule.OverlapPolicy, running int) {
	switch {
	case running == 0:
		r.Replaced = append(r.Replaced, r.Chosen[0])
		r.Chosen = append(r.Chosen[1:], i)
		return
	case policy == schedule.OverlapCancelOther:
		r.Cancel++
	default:
		r.Terminate++
	}
	r.Kept = append(r.Kept, i)
}
