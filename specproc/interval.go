package specproc

import (
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// interval is due at every t with (t − phase) divisible by every, in Unix seconds.
type interval struct {
	every, phase int64
	// stride is the greatest common divisor of every and the length of a day: on all days that begin at the same phase
	// modulo stride, the interval meets only seconds that are equal modulo stride.
	stride int64
}

func newInterval(i schedule.Interval) interval {
	every, phase := int64(i.Every.Std()/time.Second), int64(i.Phase.Std()/time.Second)
	stride, rest := every, int64(daySeconds)
	for rest > 0 {
		stride, rest = rest, stride%rest
	}
	return interval{every: every, phase: phase, stride: stride}
}

// next returns the first time of the interval after the given one.
func (i interval) next(after int64) int64 {
	return floorDiv(after-i.phase, i.every)*i.every + i.every + i.phase
}
