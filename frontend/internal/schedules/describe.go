package schedules

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/calendars"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// maxRecent bounds the recent actions in a description, maxBuffer its waiting starts, and maxFuture the next times of a paused schedule.
	maxRecent = 10
	maxBuffer = 10
	maxFuture = 10
)

// records are the records of a schedule without its definition. The zero value stands for a missing record.
type records struct {
	generator wire.GeneratorState
	invoker   wire.InvokerState
	// backfills are in no order.
	backfills []wire.BackfillState
}

// of returns the records without those of another incarnation, which belong to an earlier schedule with the same ID.
func (r records) of(def *wire.Definition) records {
	if r.generator.Incarnation != def.Incarnation {
		r.generator = wire.GeneratorState{}
	}
	if r.invoker.Incarnation != def.Incarnation {
		r.invoker = wire.InvokerState{}
	}
	r.backfills = slices.DeleteFunc(slices.Clone(r.backfills), func(b wire.BackfillState) bool {
		return b.Incarnation != def.Incarnation
	})
	return r
}

// describe composes the description in lists and in replies to a change. A record of another incarnation belongs to an earlier
// schedule with the same ID and counts as absent. The zero values stand for absent records.
func describe(
	def *wire.Definition, generator wire.GeneratorState, invoker wire.InvokerState, now time.Time,
) schedule.Description {
	own := records{generator: generator, invoker: invoker}.of(def)
	generator, invoker = own.generator, own.invoker
	d := schedule.Description{
		Namespace: def.Namespace, ID: def.ID, Schedule: def.Schedule, ConflictToken: def.Version,
		Info: schedule.Info{
			ActionCount:         invoker.Counters.Actions,
			MissedCatchupWindow: invoker.Counters.MissedCatchup,
			OverlapSkipped:      invoker.Counters.OverlapSkipped,
			BufferDropped:       invoker.Counters.BufferDropped,
			SkippedOnRequest:    invoker.Counters.SkippedOnRequest,
			BufferSize:          wire.CountWaiting(invoker.Starts),
			RunningWorkflows:    runs(running(invoker.Starts)),
			RecentActions:       recent(invoker.Runs()),
			FutureActionTimes:   timesAfter(generator.Future, now),
			CreateTime:          def.CreateTime,
			UpdateTime:          def.UpdateTime,
			Skips:               skipsToCome(def, &generator),
			IdleDeadline:        generator.IdleDeadline,
			Calendars:           calendars.UsesOf(def),
			ReplanTime:          def.ReplanTime,
		},
	}
	if def.Schedule.State.Paused {
		d.Info.PausedBy, d.Info.PauseTime = def.PausedBy, def.PauseTime
	}
	if d.State.LimitedActions {
		d.State.RemainingActions = invoker.RemainingActions(def)
	}
	return d
}

func running(starts []wire.BufferedStart) []wire.BufferedStart {
	return filter(starts, (*wire.BufferedStart).Running)
}

// recent returns the newest of some runs, oldest first. It is never nil.
func recent(all []schedule.Run) []schedule.Run {
	// Runs are in the order in which they ended or arrived. A deferred start runs later than those that overtook it.
	slices.SortStableFunc(all, func(a, b schedule.Run) int { return a.StartTime.Compare(b.StartTime) })
	return append([]schedule.Run{}, all[max(0, len(all)-maxRecent):]...)
}

func filter(starts []wire.BufferedStart, keep func(*wire.BufferedStart) bool) []wire.BufferedStart {
	var kept []wire.BufferedStart
	for i := range starts {
		if keep(&starts[i]) {
			kept = append(kept, starts[i])
		}
	}
	return kept
}

// runs is never nil, so that JSON shows an empty list and not null.
func runs(starts []wire.BufferedStart) []schedule.Run {
	all := make([]schedule.Run, len(starts))
	for i := range starts {
		all[i] = wire.NewRun(&starts[i])
	}
	return all
}

// timesAfter is never nil, like runs.
func timesAfter(times []time.Time, now time.Time) []time.Time {
	later := make([]time.Time, 0, len(times))
	for _, t := range times {
		if t.After(now) {
			later = append(later, t)
		}
	}
	return later
}

// describeFully adds what a list leaves out, because it takes more work to find out.
func describeFully(
	def *wire.Definition, all records, around *surroundings, now time.Time,
) schedule.Description {
	all = all.of(def)
	d := describe(def, all.generator, all.invoker, now)
	d.Info.Buffer = firstWaiting(all.invoker.Starts)
	d.Info.Backfills = progress(def, &all)
	d.Info.Reasons = reasons(def, &all, around)
	d.Info.Warnings = warnings(around.warnings)
	d.Info.ZoneData, d.Info.FrontendZoneData = all.generator.ZoneData, around.zone.Data
	return d
}

func firstWaiting(starts []wire.BufferedStart) []schedule.WaitingStart {
	waiting := filter(starts, (*wire.BufferedStart).Waiting)
	var first []schedule.WaitingStart
	for _, s := range waiting[:min(len(waiting), maxBuffer)] {
		first = append(first, schedule.WaitingStart{
			RequestID: s.RequestID, WorkflowID: s.WorkflowID, NominalTime: s.Nominal, DueTime: s.Actual,
			Phase: s.Phase, Overlap: s.Overlap, Manual: s.Manual, Source: s.Source,
			Attempt: s.Attempt, BackoffUntil: s.BackoffUntil, Delay: s.Delay,
		})
	}
	return first
}

// progress describes the triggers and backfills that have a record, and those that the generator has yet to make one for.
func progress(def *wire.Definition, all *records) []schedule.BackfillProgress {
	waiting, known := map[string]int{}, map[string]bool{}
	for i := range all.invoker.Starts {
		if s := &all.invoker.Starts[i]; s.Waiting() {
			waiting[s.Source]++
		}
	}
	var list []schedule.BackfillProgress
	for i := range all.backfills {
		b := &all.backfills[i]
		known[b.ID] = true
		list = append(list, progressOf(b, waiting[b.ID]))
	}
	for _, request := range openRequests(def, &all.generator) {
		if !known[request.ID] {
			list = append(list, progressOf(&request, 0))
		}
	}
	slices.SortFunc(list, func(a, b schedule.BackfillProgress) int {
		return cmp.Or(a.RequestTime.Compare(b.RequestTime), cmp.Compare(a.BackfillID, b.BackfillID))
	})
	return list
}

func progressOf(b *wire.BackfillState, waiting int) schedule.BackfillProgress {
	p := schedule.BackfillProgress{
		BackfillID: b.ID, RequestTime: b.RequestTime,
		// A start that is handed over but not in the buffer yet counts as done for a moment.
		Done: max(0, b.Handed-waiting), Total: b.Total, TotalCapped: b.Total >= wire.MaxBackfillTotal,
		Canceled: b.Canceled, Identity: b.Identity,
	}
	if b.Handed > 0 {
		p.HighWaterMark = b.Mark
	}
	switch {
	case b.Trigger != nil:
		p.Trigger, p.Overlap, p.Total = true, b.Trigger.Overlap, 1
	case b.Range != nil:
		p.Start, p.End, p.Overlap = b.Range.Start, b.Range.End, b.Range.Overlap
	}
	return p
}
