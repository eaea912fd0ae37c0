package cli

import (
	"fmt"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// fateKinds are the events that say what became of the runs of a backfill.
var fateKinds = []schedule.EventKind{
	schedule.EventBackfillRequested, schedule.EventStarted, schedule.EventCompleted, schedule.EventSkipped,
	schedule.EventDropped, schedule.EventMissed, schedule.EventDeleted,
}

// fateOrder is the order in which the output lists the fates of runs.
var fateOrder = []struct{ fate, text string }{
	{string(schedule.StatusCompleted), "completed"},
	{string(schedule.StatusFailed), "failed"},
	{string(schedule.StatusTimedOut), "timed out"},
	{string(schedule.StatusCanceled), "canceled"},
	{string(schedule.StatusTerminated), "terminated"},
	{string(schedule.EventSkipped), "skipped"},
	{string(schedule.EventDropped), "dropped"},
	{string(schedule.EventMissed), "missed"},
}

// backfillFates is what became of the times of one backfill. It is built from the events of the schedule, in the order in which they were
// stored.
type backfillFates struct {
	source string
	// byRequest has the fate of each start: the status of its run, or the kind of event that ended the start without a run.
	byRequest map[string]string
	// begun says that an event of the backfill has been seen. deleted says that the schedule was deleted after that.
	begun, deleted bool
}

func newBackfillFates(source string) backfillFates {
	return backfillFates{source: source, byRequest: map[string]string{}}
}

// add takes an event into account. Events of other sources and repeated events change nothing.
func (f *backfillFates) add(e *schedule.Event) {
	if e.Kind == schedule.EventDeleted {
		f.deleted = f.deleted || f.begun
		return
	}
	if e.Source != f.source {
		return
	}
	f.begun = true
	switch e.Kind {
	case schedule.EventCompleted:
		f.byRequest[e.RequestID] = string(e.Status)
	case schedule.EventSkipped, schedule.EventDropped, schedule.EventMissed:
		if _, known := f.byRequest[e.RequestID]; !known {
			f.byRequest[e.RequestID] = string(e.Kind)
		}
	}
}

// known returns the number of times whose fate is known.
func (f *backfillFates) known() int { return len(f.byRequest) }

// text says in one line what became of all times. The total is their number.
func (f *backfillFates) text(total int) string {
	if total == 0 {
		return "nothing is due in the range: no runs were started"
	}
	text := plural(total, "time") + ", " + f.list(total, true)
	if f.known() < total {
		return text
	}
	return "all ended: " + text
}

// failure returns an error if not all times have led to a completed run. The total is their number.
func (f *backfillFates) failure(total int) error {
	completed := f.counts()[string(schedule.StatusCompleted)]
	if completed >= total {
		return nil
	}
	return fmt.Errorf("%d of %s did not complete: %s", total-completed, plural(total, "time"), f.list(total, false))
}

// list counts the times by fate, such as "2 completed, 1 skipped".
func (f *backfillFates) list(total int, completed bool) string {
	var parts []string
	counts := f.counts()
	for _, fate := range fateOrder {
		if n := counts[fate.fate]; n > 0 && (completed || fate.fate != string(schedule.StatusCompleted)) {
			parts = append(parts, fmt.Sprintf("%d %s", n, fate.text))
		}
	}
	if unknown := total - f.known(); unknown > 0 {
		parts = append(parts, fmt.Sprintf("%d unknown to the event history", unknown))
	}
	return strings.Join(parts, ", ")
}

func (f *backfillFates) counts() map[string]int {
	counts := map[string]int{}
	for _, fate := range f.byRequest {
		counts[fate]++
	}
	return counts
}
