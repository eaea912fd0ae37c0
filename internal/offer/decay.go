package offer

import (
	"math"
	"time"
)

const (
	// meanAge is how long ago on average the tasks were counted that a rate is about. So it is as old as an average of the last 30 s.
	meanAge = 15 * time.Second
	// leastCounted is for how long at least a rate has been counted: one task in the first moment is not a thousand a second.
	leastCounted = time.Second
	// fewTasks is a weight that counts as none. A single task has it after 45 s.
	fewTasks = 0.05
)

// decaying is a sum of tasks in which each weighs less the longer ago it was counted: 1 at first, 1/e after [meanAge]. The zero value is the
// sum of none. It is pure: times are given, and count from when the counting began.
type decaying struct {
	weight float64
	at     time.Duration // when it had this weight
}

// add returns the sum with n more tasks. A time before that of the last ones counts as theirs.
func (d decaying) add(now time.Duration, n int) decaying {
	return decaying{d.weightAt(now) + float64(n), max(now, d.at)}
}

// weightAt returns the weight of the sum.
func (d decaying) weightAt(now time.Duration) float64 {
	if d.weight == 0 || now <= d.at {
		return d.weight
	}
	return d.weight * math.Exp(-float64(now-d.at)/float64(meanAge))
}

// perSecond returns the rate of the tasks: for tasks that come at the same rate all the time it is that rate, from the first second on.
// It ends at 0.
func (d decaying) perSecond(now time.Duration) float64 {
	weight := d.weightAt(now)
	if weight < fewTasks {
		return 0
	}
	// What one task a second would weigh now, if they had come since the counting began.
	steady := meanAge.Seconds() * -math.Expm1(-float64(max(now, d.at, leastCounted))/float64(meanAge))
	return weight / steady
}
