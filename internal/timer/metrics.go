package timer

import (
	"strings"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// kindOf finds in a subject, "carillon.timer.<shard>.<kind>.…", which timer it is for.
func kindOf(timerSubject string) string {
	_, rest, _ := strings.Cut(timerSubject, ".timer.")
	_, rest, _ = strings.Cut(rest, ".")
	kind, _, _ := strings.Cut(rest, ".")
	switch kind {
	case metrics.TimerDue, metrics.TimerGuard, metrics.TimerRetry, metrics.TimerBackfill, metrics.TimerTimeout:
		return kind
	}
	return metrics.TimerOther
}
