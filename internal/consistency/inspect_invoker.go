package consistency

import (
	"maps"
	"slices"
	"strconv"

	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// invoker checks that what the invoker is to execute will be executed.
func (in *inspector) invoker() {
	d, inv := &in.Definition.Value, &in.Invoker
	if in.invoking() || inv.there() && !inv.legible() {
		return
	}
	if !inv.there() || inv.Value.Incarnation != d.Incarnation {
		in.noInvoker()
		return
	}
	if why := in.stalled(); why != "" {
		in.found(StartsStalled, "", revision(inv.Revision), wakeInvoker{wake: in.wake()}, "wake the invoker", "%s", why)
	}
	for _, source := range slices.Sorted(maps.Keys(inv.Value.Sources)) {
		b, looked := in.Backfills[source]
		if source != schedule.SourceAuto && looked && !b.there() {
			in.found(SourceStale, source, "", wakeInvoker{wake: in.wake()}, "wake the invoker, which forgets it",
				"the invoker keeps room for trigger or backfill %s, which is over", source)
		}
	}
}

// noInvoker reports an invoker's record that is gone. No record is needed before something has been due. If no event reports on
// what was due, there never was a record, and the due actions are what is lost: see handOff.
func (in *inspector) noInvoker() {
	g := &in.Generator
	if in.Untold || !g.legible() || g.Value.Incarnation != in.Definition.Value.Incarnation ||
		!g.Value.HandedOff.After(in.Definition.Value.CreateTime) {
		return
	}
	in.found(InvokerMissing, "", revision(in.Definition.Revision), wakeInvoker{wake: in.wake()},
		"wake the invoker, which begins anew", "the invoker's record is gone, and with it the counters and whatever waited or ran")
}

// stalled describes what waits for a wake that will not come. It returns "" if all is well.
func (in *inspector) stalled() string {
	ready, running, waiting, delayed, late := 0, 0, 0, 0, false
	for i := range in.Invoker.Value.Starts {
		switch s := &in.Invoker.Value.Starts[i]; s.Phase {
		case schedule.PhaseReady:
			ready++
			late = late || !s.BackoffUntil.IsZero() && in.Now.Sub(s.BackoffUntil) > overdue
		case schedule.PhaseStarted:
			running++
		case schedule.PhasePending:
			if !s.Delayed() {
				return "a start waits to be decided on, and nothing wakes the invoker"
			}
			delayed++
			late = late || !s.Delay.NotBefore.IsZero() && in.Now.Sub(s.Delay.NotBefore) > overdue
		case schedule.PhaseDeferred:
			waiting++
		}
	}
	controls := len(in.Invoker.Value.Controls)
	switch retry := in.timer(timerRetry, ""); {
	case ready > 0 && !retry:
		return plural(ready, "start") + " ready to execute, and nothing wakes the invoker"
	case delayed > 0 && !retry:
		return plural(delayed, "start") + " delayed by a limit of the namespace, and nothing wakes the invoker"
	case controls > 0 && !retry:
		return plural(controls, "cancel or terminate") + " to deliver, and nothing wakes the invoker"
	case late:
		return "a start is to be tried again, and the timer for that has not fired"
	case waiting > 0 && ready+running+delayed == 0:
		return plural(waiting, "start") + " waiting for a run to end, and none is running"
	}
	return ""
}

func plural(n int, word string) string {
	if n == 1 {
		return "a " + word + " is"
	}
	return strconv.Itoa(n) + " " + word + "s are"
}

// runs checks that every run that counts as running is somewhere. The stream no longer has a run that is being terminated.
func (in *inspector) runs() {
	inv := &in.Invoker
	if !inv.legible() || inv.Value.Incarnation != in.Definition.Value.Incarnation {
		return
	}
	for i := range inv.Value.Starts {
		start := &inv.Value.Starts[i]
		run, looked := in.Runs[start.RequestID]
		if !start.Running() || !looked || run.Known || in.terminating(start) {
			continue
		}
		evidence := instant(start.StartTime)
		switch {
		case run.Callback != deadletter.Number{}:
			in.askedFor(CompletionDead, start.RequestID, evidence, replay{run.Callback}, "replay it",
				"run %s has ended, and its completion is dead letter %s", start.RunID, run.Callback)
		case run.Request != deadletter.Number{}:
			in.askedFor(RequestDead, start.RequestID, evidence, replay{run.Request}, "replay it",
				"run %s has not begun: its start request is dead letter %s", start.RunID, run.Request)
		case run.Report != nil:
			in.found(EndUntold, start.RequestID, evidence, tellEnd{run.Report}, "tell it",
				"the workflow %s, run %s, has ended, and nobody has told the schedule", start.WorkflowID, start.RunID)
		default:
			m, repair := in.mendLost(start)
			in.found(RunLost, start.RequestID, evidence, m, repair, "run %s of %s counts as running since %s, and %s",
				start.RunID, start.WorkflowID, instant(start.StartTime), whereLost(start))
		}
	}
}

// whereLost says where a run is not.
func whereLost(start *wire.BufferedStart) string {
	if start.ActionKind.IsWorkflow() {
		return "this workflow is not in progress, and nobody has reported its end"
	}
	return "is in no queue, with no worker, and has no completion"
}

// mendLost ends a lost run, unless the schedule leaves that to a person.
func (in *inspector) mendLost(start *wire.BufferedStart) (m mend, repair string) {
	if in.Definition.Value.Schedule.Policies.LostRuns == schedule.LostRunWait {
		return nil, "the schedule waits for lost runs: update it to lostRuns " + string(schedule.LostRunFail) +
			", with which --repair ends it, or publish its completion"
	}
	return reportLost{*start}, "complete it as failed, of type " + schedule.FailureLost
}

func (in *inspector) terminating(start *wire.BufferedStart) bool {
	return slices.ContainsFunc(in.Invoker.Value.Controls, func(c wire.PendingControl) bool {
		return c.RequestID == start.RequestID && c.Kind == schedule.ControlTerminate
	})
}

// backfills checks that each trigger and backfill belongs to the schedule, and that the backfiller will look at it.
func (in *inspector) backfills() {
	for _, id := range slices.Sorted(maps.Keys(in.Backfills)) {
		b := in.Backfills[id]
		if !b.legible() || in.backfilling(id) {
			continue
		}
		m := wakeBackfill{id: id, wake: in.wake()}
		if b.Value.Incarnation != in.Definition.Value.Incarnation {
			in.found(BackfillOrphaned, id, revision(b.Revision), m, "wake the backfiller, which removes it",
				"trigger or backfill %s is of an earlier schedule of this ID", id)
			continue
		}
		in.found(BackfillStalled, id, revision(b.Revision), m, "wake the backfiller, which goes on with it",
			"trigger or backfill %s is not over, and nothing wakes the backfiller", id)
	}
}
