package invoker

import (
	"slices"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// SourcesToWake returns, in order, the backfills and triggers whose backfiller has something to do now. It is a pure function of the state
// alone, so a repeated transition after a crash wakes the same ones.
//
// A source that will hand over nothing more, or that is withdrawn, is woken when none of its starts waits any more. Any other source is
// woken when half of its last batch has ended and there is room for the next batch. A wake for each start would cost a backfill of
// thousands more than the starts do.
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

// unfinished counts the waiting and the running starts of each source.
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
