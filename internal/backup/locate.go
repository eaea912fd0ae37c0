package backup

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// arrivals takes in the starts that left a trace while their hand-off was still waiting: the invoker writes down that it has
// chosen a start before it sends the request, and tells of it, and lets go of the hand-off, only some time after.
func (r *reconciliation) arrivals() {
	for i := range r.Arriving {
		if r.Arriving[i].Incarnation != r.Definition.Incarnation {
			continue
		}
		for _, start := range r.Arriving[i].Starts {
			if r.hasBegun(&start) && r.find(start.RequestID) == nil && !r.state.Ended.Has(start.RequestID) && !r.isCovered(&start) {
				start.Phase = schedule.PhasePending
				r.state.Starts = append(r.state.Starts, start)
				r.cover(start.Source, wire.Span{From: start.Actual.Add(-1), To: start.Actual})
				r.plan.InvokerChanged = true
			}
		}
	}
}

// hasBegun reports whether the request of a start is in the action stream, or its completion in the task stream.
func (r *reconciliation) hasBegun(s *wire.BufferedStart) bool {
	_, queued := r.Queued[s.RequestID]
	return queued || r.Reported[s.RequestID]
}

// isCovered reports whether the record has taken over a start, which is over then if it is not there.
func (r *reconciliation) isCovered(s *wire.BufferedStart) bool {
	progress := r.state.Sources[s.Source]
	return progress.Covers(s.Actual)
}

// locate looks for each start where it leaves traces, and puts it into the phase they stand for.
func (r *reconciliation) locate() {
	for i := range r.state.Starts {
		s := &r.state.Starts[i]
		if !s.Waiting() && !s.Running() {
			continue
		}
		waiting := s.Phase == schedule.PhasePending || s.Phase == schedule.PhaseDeferred
		switch {
		case waiting && r.hasBegun(s):
			// The invoker had chosen it and sent the request, and had not told of it. It finds that out, as after a crash.
			r.ready(s, cmp.Or(r.Queued[s.RequestID].TaskQueue, r.Definition.Schedule.Action.TaskQueue))
			r.plan.InvokerChanged = true
		case r.hasBegun(s) || r.Dead[s.RequestID]:
		case r.orphaned(s):
			r.forget(s)
		case s.Running():
			r.requeue(s)
		}
	}
}

// orphaned reports whether a start was asked for by a trigger or backfill that was requested after the records had been
// copied. What it asked for is not known: it may have been another input.
func (r *reconciliation) orphaned(s *wire.BufferedStart) bool {
	_, known := r.Invoker.Sources[s.Source]
	_, pending := r.Backfills[s.Source]
	old := slices.ContainsFunc(r.Invoker.Starts, func(o wire.BufferedStart) bool { return o.RequestID == s.RequestID })
	return s.Manual && !known && !pending && !old
}

// forget takes a start out of the record, and out of the history.
func (r *reconciliation) forget(s *wire.BufferedStart) {
	r.unstart(s)
	for i := range r.Events {
		if e := &r.Events[i]; e.RequestID == s.RequestID || e.Source == s.Source {
			r.plan.Forget = append(r.plan.Forget, e.ID)
		}
	}
	r.plan.Counts.Forgotten++
	r.plan.InvokerChanged = true
	s.Phase = removed
}

// requeue makes a run start again whose request was published after the requests had been copied, and of whose end nothing
// is known.
func (r *reconciliation) requeue(s *wire.BufferedStart) {
	r.unstart(s)
	s.Phase, s.Attempt, s.StartTime = schedule.PhaseReady, 1, time.Time{}
	r.plan.Counts.Requeued++
	r.plan.InvokerChanged = true
}

// unstart takes the event of a start out of the history, and out of what is counted: if it starts again, there will be
// another.
func (r *reconciliation) unstart(s *wire.BufferedStart) {
	for i := range r.Events {
		if e := &r.Events[i]; e.RequestID == s.RequestID && e.Kind == schedule.EventStarted {
			r.plan.Forget = append(r.plan.Forget, e.ID)
			r.state.Counters.Actions--
			return // others are repeats
		}
	}
}

// handOffs finds the hand-offs that have left the generator or a backfiller and not arrived, and makes that hand over
// again. What of it has arrived all the same, the invoker's record knows.
func (r *reconciliation) handOffs() {
	r.handOff()
	for _, id := range slices.Sorted(maps.Keys(r.Backfills)) {
		r.batch(r.Backfills[id])
	}
}

func (r *reconciliation) handOff() {
	g := &r.plan.Generator
	arrived := r.arrived(schedule.SourceAuto)
	if g.Incarnation == "" || !g.HandedOff.After(arrived) ||
		r.HandedOver(schedule.SourceAuto, wire.Span{From: arrived, To: g.HandedOff}) {
		return
	}
	g.Mark, g.HandedOff, g.LastNominal = arrived, arrived, r.state.LastNominal(arrived)
	r.plan.GeneratorChanged = true
	r.plan.Counts.HandOffs++
}

// batch sets a backfill back to where its hand-offs have arrived. One that is done, and of which the invoker knows nothing,
// included: its record is there, so it is not over.
func (r *reconciliation) batch(b wire.BackfillState) {
	if b.Incarnation != r.Definition.Incarnation || b.Mark.IsZero() {
		return
	}
	progress, known := r.state.Sources[b.ID]
	arrived := r.arrived(b.ID)
	switch {
	case known && len(progress.Covered) > 0 && !arrived.Before(b.Mark):
		return
	case r.HandedOver(b.ID, wire.Span{From: arrived, To: b.Mark}):
		return
	case b.Trigger != nil || !known || len(progress.Covered) == 0:
		b.Mark, b.Handed = time.Time{}, 0
	default:
		b.Handed = max(b.Handed-r.Spec.Count(arrived, b.Mark, r.Definition.JitterSeed()), 0)
		b.Mark = arrived
	}
	b.Done, b.Attempt = false, 0
	r.plan.Backfills = append(r.plan.Backfills, b)
	r.plan.Counts.HandOffs++
}

// withdraw finds the start requests whose runs have ended: those the record does not have as under way, or whose
// completion is waiting. The intent to start was in the record before the request was in the stream, so a request that
// the record does not know has been dealt with and forgotten.
func (r *reconciliation) withdraw() {
	underWay := map[string]bool{}
	for i := range r.state.Starts {
		if s := &r.state.Starts[i]; s.Phase == schedule.PhaseReady || s.Phase == schedule.PhaseStarted {
			underWay[s.RequestID] = !r.Reported[s.RequestID]
		}
	}
	for requestID, request := range r.Queued {
		if !underWay[requestID] {
			r.plan.Withdraw = append(r.plan.Withdraw, request.Sequence)
		}
	}
	slices.Sort(r.plan.Withdraw)
	r.plan.Counts.Withdrawn = len(r.plan.Withdraw)
}
