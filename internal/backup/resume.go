package backup

import (
	"strconv"
	"time"

	"github.com/carillon-scheduler/carillon/generator"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// assumedReason is why actions are not started that were due between the moment of a backup and the time to resume from.
const assumedReason = "restored from a backup: taken for done"

// resume makes a schedule continue from the time that the restore was given, if any. What was due up to the moment of the backup
// and had not been handed over is handed over, because nobody has started it. What was due since counts as missed, and an event
// reports that.
//
// The generator has only one mark. So resume makes the hand-off up to the moment itself, with the generator's own function, and
// the invoker's record says that the rest has arrived.
func (s *settlement) resume(k *known, p *plan) {
	d := &k.Definition
	if p.Paused != nil {
		d = p.Paused
	}
	if s.ResumeFrom.IsZero() || p.Deleted || d.Schedule.State.Paused {
		return
	}
	version := p.Generator.Version
	in := generator.Input{
		Definition: d, Spec: k.Spec, State: p.Generator, Remaining: p.Invoker.RemainingActions(d), Now: s.manifest.Moment,
	}
	pending := generator.Decide(in)
	in.State, in.Now = pending.State, s.ResumeFrom
	if in.State.Mark.Before(s.manifest.Moment) {
		in.State.Mark = s.manifest.Moment
	}
	assumed := generator.Decide(in)
	p.HandOff = pending.HandOff
	p.Generator = pending.State
	p.Generator.Version = version // the generator has not seen the changes of a newer version yet
	p.Generator.Mark, p.Generator.HandedOff = s.ResumeFrom, s.ResumeFrom
	p.Generator.LastNominal = assumed.State.LastNominal
	p.GeneratorChanged = true
	p.assume(d, wire.Span{From: pending.State.HandedOff, To: s.ResumeFrom}, assumed.HandOff)
}

// assume records in the invoker's record that a span has been dealt with.
func (p *plan) assume(d *wire.Definition, span wire.Span, due *wire.Enqueue) {
	state := &p.Invoker
	progress := state.Sources[schedule.SourceAuto]
	progress.Covered = join(append(progress.Covered, span))
	state.Sources[schedule.SourceAuto] = progress
	p.InvokerChanged = true
	if due == nil {
		return
	}
	event := schedule.Event{
		Kind: schedule.EventMissed, Source: schedule.SourceAuto, Reason: assumedReason,
		Namespace: d.Namespace, ScheduleID: d.ID, Time: span.To.UTC(),
		Count: len(due.Starts) + due.Missed + due.Dropped + due.Superseded,
	}
	event.First, event.Last = bounds(due)
	state.EventSequence++
	event.ID = d.Incarnation + "-" + strconv.FormatUint(state.EventSequence, 10)
	state.Counters.Add(event)
	state.Outbox = append(state.Outbox, event)
	p.Counts.Assumed += event.Count
}

// bounds returns the nominal times of the first and the last action of a hand-off.
func bounds(e *wire.Enqueue) (first, last time.Time) {
	spans := []wire.Span{e.MissedSpan, e.SupersededSpan, e.DroppedSpan}
	if n := len(e.Starts); n > 0 {
		spans = append(spans, wire.Span{From: e.Starts[0].Nominal, To: e.Starts[n-1].Nominal})
	}
	for _, s := range spans {
		if s.From.IsZero() {
			continue
		}
		if first.IsZero() || s.From.Before(first) {
			first = s.From
		}
		if s.To.After(last) {
			last = s.To
		}
	}
	return first, last
}
