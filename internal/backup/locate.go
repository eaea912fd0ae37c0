package backup

import (
	"maps"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// arrivals adds the starts that left a trace while their hand-off was still waiting. The invoker records that it has chosen a
// start, and then sends the request. Only some time later does it publish the event and acknowledge the hand-off.
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

// isCovered reports whether the record has taken over a start. If it has, and does not hold the start any more, the start is
// over.
func (r *reconciliation) isCovered(s *wire.BufferedStart) bool {
	progress := r.state.Sources[s.Source]
	return progress.Covers(s.Actual)
}

// locate looks for the traces of each start, and puts it into the phase that they show.
func (r *reconciliation) locate() {
	for i := range r.state.Starts {
		s := &r.state.Starts[i]
		if !s.Waiting() && !s.Running() {
			continue
		}
		waiting := s.Phase == schedule.PhasePending || s.Phase == schedule.PhaseDeferred
		switch {
		case waiting && r.hasBegun(s):
			// The invoker had chosen it and sent the request, and had not published the event. It finds that out, as after a
			// crash.
			r.chosen(s)
			r.plan.InvokerChanged = true
		case r.hasBegun(s) || r.Dead[s.RequestID]:
		case r.orphaned(s):
			r.forget(s)
		case s.Running():
			r.requeue(s)
		}
	}
}

// chosen marks a start as ready that had begun, although the record did not have it as ready yet.
func (r *reconciliation) chosen(s *wire.BufferedStart) {
	action := &r.Definition.Schedule.Action
	request, queued := r.Queued[s.RequestID]
	switch {
	case queued:
		r.ready(s, request.TaskQueue, "")
	case action.Kind.IsWorkflow():
		r.ready(s, action.TaskQueue, action.Kind)
	default:
		r.ready(s, action.TaskQueue, "")
	}
}

// orphaned reports whether a start belongs to a trigger or backfill that was requested after the records had been copied. The
// details of that request are lost: it may have had another input.
func (r *reconciliation) orphaned(s *wire.BufferedStart) bool {
	_, known := r.Invoker.Sources[s.Source]
	_, pending := r.Backfills[s.Source]
	old := slices.ContainsFunc(r.Invoker.Starts, func(o wire.BufferedStart) bool { return o.RequestID == s.RequestID })
	return s.Manual && !known && !pending && !old
}

// forget removes a start from the record and from the history.
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

// requeue starts a run again whose request was published after the requests had been copied, and whose end nobody knows. A workflow is
// looked up first, as any start that may have been made before: if history has it, it goes on.
func (r *reconciliation) requeue(s *wire.BufferedStart) {
	r.unstart(s)
	s.Phase, s.Attempt, s.StartTime = schedule.PhaseReady, 1, time.Time{}
	r.plan.Counts.Requeued++
	r.plan.InvokerChanged = true
}

// unstart removes the event of a start from the history, and the start from the counters: if it starts again, there will be
// another event.
func (r *reconciliation) unstart(s *wire.BufferedStart) {
	for i := range r.Events {
		if e := &r.Events[i]; e.RequestID == s.RequestID && e.Kind == schedule.EventStarted {
			r.plan.Forget = append(r.plan.Forget, e.ID)
			r.state.Counters.Actions--
			return // the others are repeats
		}
	}
}

// handOffs finds the hand-offs that have left the generator or a backfiller and have not arrived, and makes their sender hand
// over again. If a part has arrived after all, the invoker's record knows it.
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

// batch sets a backfill back to where its hand-offs have arrived. It does so even for one that is done and that the invoker does
// not know: its record still exists, so it is not over.
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

// withdraw finds the start requests whose runs have ended: the record does not have them as running, or their completion is
// waiting. The record had the intent to start before the stream had the request. So a request that the record does not know has
// been dealt with and forgotten.
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
