package invoker

import (
	"slices"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// SourcesToWake returns the backfills and triggers, in order, whose backfiller has something to do now. It is a pure
// function of the state alone, so that whoever repeats a transition after a crash wakes the same ones.
//
// A source that will hand over no more, or is withdrawn, is waited for until none of its starts waits. Any other one may
// hand over the next batch when half of the last has ended and there is room for it: a wake for each start would cost a
// backfill of thousands more than the starts do.
func SourcesToWake(state *wire.InvokerState) []string {
	waiting, running := unfinished(state)
	room := wire.BackfillRoom(state, incomplete(state)) > 0
	var wake []string
	for source, progress := range state.Sources {
		useful := false
		switch {
		case source == schedule.SourceAuto:
		case progress.Complete || progress.Withdrawn:
			useful = waiting[source] == 0
		default:
			useful = room && 2*(waiting[source]+running[source]) <= progress.LastCount
		}
		if useful {
			wake = append(wake, source)
		}
	}
	slices.Sort(wake)
	return wake
}

// unfinished counts the starts of each source that wait, and those that run.
func unfinished(state *wire.InvokerState) (waiting, running map[string]int) {
	waiting, running = map[string]int{}, map[string]int{}
	for i := range state.Starts {
		switch s := &state.Starts[i]; {
		case s.Waiting():
			waiting[s.Source]++
		case s.Running():
			running[s.Source]++
		}
	}
	return waiting, running
}

// incomplete counts the sources that share the room for backfills.
func incomplete(state *wire.InvokerState) int {
	count := 0
	for source, progress := range state.Sources {
		if source != schedule.SourceAuto && !progress.Complete && !progress.Withdrawn {
			count++
		}
	}
	return count
}
