package frontend

import (
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// maxRecent bounds the recent actions of a description.
const maxRecent = 10

// describe composes what the API tells of a schedule from its records. A record of another incarnation is that of an
// earlier schedule of the same ID, and counts as absent; the zero values stand for absent records too.
func describe(
	def *schedule.Definition, generator schedule.GeneratorState, invoker schedule.InvokerState, now time.Time,
) schedule.Description {
	if generator.Incarnation != def.Incarnation {
		generator = schedule.GeneratorState{}
	}
	if invoker.Incarnation != def.Incarnation {
		invoker = schedule.InvokerState{}
	}
	d := schedule.Description{
		Namespace: def.Namespace, ID: def.ID, Schedule: def.Schedule, ConflictToken: def.Version,
		Info: schedule.Info{
			ActionCount:         invoker.Counters.Actions,
			MissedCatchupWindow: invoker.Counters.MissedCatchup,
			OverlapSkipped:      invoker.Counters.OverlapSkipped,
			BufferDropped:       invoker.Counters.BufferDropped,
			BufferSize:          countWaiting(invoker.Starts),
			RunningWorkflows:    runs(running(invoker.Starts)),
			RecentActions:       runs(recent(invoker.Starts)),
			FutureActionTimes:   timesAfter(generator.Future, now),
			CreateTime:          def.CreateTime,
			UpdateTime:          def.UpdateTime,
		},
	}
	if d.State.LimitedActions {
		d.State.RemainingActions = invoker.RemainingActions(def)
	}
	return d
}

func countWaiting(starts []schedule.BufferedStart) int {
	n := 0
	for i := range starts {
		if starts[i].Waiting() {
			n++
		}
	}
	return n
}

func running(starts []schedule.BufferedStart) []schedule.BufferedStart {
	return filter(starts, (*schedule.BufferedStart).Running)
}

// recent returns the last starts that became runs, oldest first.
func recent(starts []schedule.BufferedStart) []schedule.BufferedStart {
	started := filter(starts, func(s *schedule.BufferedStart) bool { return !s.Waiting() })
	// The buffer is in order of arrival; a start that was deferred runs later than those that overtook it.
	slices.SortStableFunc(started, func(a, b schedule.BufferedStart) int { return a.StartTime.Compare(b.StartTime) })
	return started[max(0, len(started)-maxRecent):]
}

func filter(starts []schedule.BufferedStart, keep func(*schedule.BufferedStart) bool) []schedule.BufferedStart {
	var kept []schedule.BufferedStart
	for i := range starts {
		if keep(&starts[i]) {
			kept = append(kept, starts[i])
		}
	}
	return kept
}

// runs is never nil, so that it is an empty list in JSON and not null.
func runs(starts []schedule.BufferedStart) []schedule.Run {
	all := make([]schedule.Run, len(starts))
	for i := range starts {
		all[i] = schedule.NewRun(&starts[i])
	}
	return all
}

// timesAfter is never nil, as runs is not.
func timesAfter(times []time.Time, now time.Time) []time.Time {
	later := make([]time.Time, 0, len(times))
	for _, t := range times {
		if t.After(now) {
			later = append(later, t)
		}
	}
	return later
}
