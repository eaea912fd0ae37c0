package invoker

import (
	"math"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Overlap is the input of the overlap policies.
type Overlap struct {
	// Running is how many runs are in progress.
	Running int
	// Limit is how many runs may be in progress before a policy applies; at least 1.
	Limit int
	// Policies are the policies of the waiting starts in buffer order; none is unspecified.
	Policies []schedule.OverlapPolicy
}

// Resolution says what becomes of the waiting starts, by their indices. Each is in exactly one of the lists.
type Resolution struct {
	// Beside are the starts with the policy allow all: they start at once, whatever runs.
	Beside []int
	// Chosen are the starts that begin because there is room.
	Chosen []int
	// Kept continue to wait.
	Kept []int
	// Skipped are dropped by their own policy.
	Skipped []int
	// Replaced had been chosen, but a later start that ends others took their place.
	Replaced []int
	// Blocked would have started beside the others, but a cancel or terminate in the same pass would end them at once.
	Blocked []int
	// Cancel and Terminate are how many of the oldest runs to cancel and to terminate.
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

// collisions says what a policy does with a start for which there is no room. schedule.OverlapAllowAll is missing: it needs no room.
var collisions = map[schedule.OverlapPolicy]collision{
	schedule.OverlapSkip:           {},
	schedule.OverlapBufferOne:      {keeps: 1},
	schedule.OverlapBufferAll:      {keeps: math.MaxInt},
	schedule.OverlapCancelOther:    {ends: func(r *Resolution) { r.Cancel++ }},
	schedule.OverlapTerminateOther: {ends: func(r *Resolution) { r.Terminate++ }},
}

// collision is a row of [collisions].
type collision struct {
	// keeps is how many starts may wait. Further starts are skipped.
	keeps int
	// ends counts a run to end, so that the start gets its room; nil if the policy ends no run.
	ends func(*Resolution)
}

// collide applies the policy to a start for which there is no room.
func (r *Resolution) collide(i int, policy schedule.OverlapPolicy, running int) {
	switch c := collisions[policy]; {
	case c.ends != nil && running == 0:
		r.Replaced = append(r.Replaced, r.Chosen[0])
		r.Chosen = append(r.Chosen[1:], i)
	case c.ends != nil:
		c.ends(r)
		r.Kept = append(r.Kept, i)
	case len(r.Kept) < c.keeps:
		r.Kept = append(r.Kept, i)
	default:
		r.Skipped = append(r.Skipped, i)
	}
}

// endsOthers reports whether a policy ends runs to make room.
func endsOthers(policy schedule.OverlapPolicy) bool { return collisions[policy].ends != nil }
