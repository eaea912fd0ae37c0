package invoker

import (
	"github.com/carillon-scheduler/carillon/schedule"
)

// Fold brings the last result up to date with completions, in order (SEMANTICS §7): a success replaces success and
// failure, a failure or time-out sets the failure and keeps the last success, any other ending changes nothing. It
// reports whether the record must be written. A completion older than what is recorded is passed over.
func Fold(result schedule.Result, incarnation string, ended []schedule.Completion) (schedule.Result, bool) {
	changed := false
	if result.Incarnation != incarnation {
		result = schedule.Result{Incarnation: incarnation}
	}
	newest := result.CloseTime
	for _, c := range ended {
		if c.CloseTime.Before(newest) {
			continue
		}
		switch c.Status {
		case schedule.StatusCompleted:
			if len(c.Result) == 0 && len(result.Success) == 0 && result.Failure == nil {
				newest = c.CloseTime // nothing to write
				continue
			}
			result.Success, result.Failure = c.Result, nil
		case schedule.StatusFailed, schedule.StatusTimedOut:
			result.Failure = c.Failure
		default:
			continue
		}
		newest, result.CloseTime = c.CloseTime, c.CloseTime
		changed = true
	}
	return result, changed
}
