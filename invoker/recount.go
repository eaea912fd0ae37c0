package invoker

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// givenUp is how many actions a hand-off says will not be started.
func givenUp(e *wire.Enqueue) int { return e.Missed + e.Superseded + e.Dropped }

// recountingSpec returns the compiled spec by which hand-offs were made, if one of them gives up actions; else nil.
func recountingSpec(d *wire.Definition, in Input) (*specproc.Spec, error) {
	for i := range in.Enqueues {
		if givenUp(&in.Enqueues[i].Body) > 0 {
			return specproc.CompileDefinition(d)
		}
	}
	return nil, nil
}

// settle notes the version and the nominal times of a hand-off. It returns the ranges of nominal times that those of other versions have
// settled: the generator passes over those times (its record has a LastNominal of its own), unless it has died before it
// could write down that it had handed them over, or goes by an older version still. Then an update that changes the jitter has moved
// them to where nothing is covered.
//
// While a hand-off is missing that a later one has overtaken, nothing is known of its times, and what lies behind them is settled:
// no action is due before its nominal time. The first of all begins when the schedule was created.
func settle(e *wire.Enqueue, progress *wire.SourceProgress, created time.Time) (settled []wire.Span) {
	if e.Source != schedule.SourceAuto {
		return nil
	}
	if e.Version > progress.Version {
		progress.Version, progress.Settled = e.Version, progress.LastNominal
	}
	settled = behindGaps(settled, progress.Covered, progress.Settled, created)
	if e.Version < progress.Version {
		settled = behindGaps(settled, progress.Covered, progress.LastNominal, created)
	}
	newest := []time.Time{progress.LastNominal, e.MissedSpan.To, e.SupersededSpan.To, e.DroppedSpan.To}
	for i := range e.Starts {
		newest = append(newest, e.Starts[i].Nominal)
	}
	progress.LastNominal = slices.MaxFunc(newest, time.Time.Compare)
	return settled
}

// behindGaps adds the nominal times that are settled for certain, if the last one that has been handed over was this.
func behindGaps(settled, covered []wire.Span, last, created time.Time) []wire.Span {
	if len(covered) == 1 && !covered[0].From.After(created) {
		return cover(settled, wire.Span{To: last}) // what was due first may have its nominal time before the creation
	}
	for _, s := range covered {
		if s.From.Before(last) && !s.To.Before(last) {
			return cover(settled, wire.Span{From: s.From, To: last})
		}
	}
	return settled
}

// losses are actions of a hand-off that are given up for one reason: so many, between two nominal times.
type losses struct {
	kind     schedule.EventKind
	count    int
	nominals wire.Span
	reason   string
	// counted is how many of them the newest hand-off has told of, if this one begins where that did.
	counted int
}

// lossesOf returns what a hand-off gives up, by reason.
func lossesOf(e *wire.Enqueue, progress *wire.SourceProgress) []losses {
	all := []losses{
		{kind: schedule.EventMissed, count: e.Missed, nominals: e.MissedSpan, reason: reasonMissed},
		{kind: schedule.EventMissed, count: e.Superseded, nominals: e.SupersededSpan, reason: reasonSuperseded},
		{kind: schedule.EventDropped, count: e.Dropped, nominals: e.DroppedSpan, reason: cmp.Or(e.DropReason, reasonTooMany)},
	}
	if e.From.Equal(progress.LastFrom) {
		all[0].counted, all[1].counted, all[2].counted = progress.LastMissed, progress.LastSuperseded, progress.LastDropped
	}
	return all
}

// giveUp counts what a hand-off gives up and no earlier one has settled, and tells of it. Starts are told apart one by one,
// but not what is given up: a generator that dies, or is held up, before it writes down what it has handed over makes it
// again, and what is late by then it gives up, though it may have been started. Hand-offs may overtake each other, so what
// is new may lie in several gaps between what is covered; each has an event of its own, so that all the times between its
// first and its last are among those that it counts.
func (m *machine) giveUp(e *wire.Enqueue, progress *wire.SourceProgress, settled []wire.Span, trace string) {
	gaps := uncovered(progress.Covered, e.Span)
	whole := len(gaps) == 1 && gaps[0] == e.Span
	for _, l := range lossesOf(e, progress) {
		switch {
		case l.count == 0:
		case whole && !l.nominals.To.IsZero() && isUnsettled(settled, l.nominals):
			m.lose(&l, l.count, l.nominals, e.Source, trace)
		case l.nominals.To.IsZero() || !m.canRecount(e, &l):
			m.lose(&l, max(l.count-l.counted, 0), l.nominals, e.Source, trace)
		default:
			for _, gap := range gaps {
				for _, part := range unsettled(settled, l.nominals) {
					t := m.spec.Tally(gap.From, gap.To, m.definition.JitterSeed(), part.From, part.To)
					m.lose(&l, t.Count, wire.Span{From: t.First, To: t.Last}, e.Source, trace)
				}
			}
		}
	}
}

// unsettled returns the parts of nominal times, from a first to a last, that are not in what settle returns.
func unsettled(settled []wire.Span, nominals wire.Span) []wire.Span {
	parts := uncovered(settled, wire.Span{From: nominals.From.Add(-1), To: nominals.To})
	for i := range parts {
		parts[i].From = parts[i].From.Add(1)
	}
	return parts
}

// isSettled reports whether a nominal time is in what settle returns.
func isSettled(settled []wire.Span, nominal time.Time) bool {
	return slices.ContainsFunc(settled, func(s wire.Span) bool { return nominal.After(s.From) && !nominal.After(s.To) })
}

// isUnsettled reports whether none of the nominal times is in what settle returns.
func isUnsettled(settled []wire.Span, nominals wire.Span) bool {
	parts := unsettled(settled, nominals)
	return len(parts) == 1 && parts[0] == nominals
}

// canRecount reports whether the schedule's spec has the times that a hand-off gives up. It may be another one by now, or a calendar that it
// names may; but most updates change something else.
func (m *machine) canRecount(e *wire.Enqueue, l *losses) bool {
	if m.spec == nil {
		return false
	}
	if e.Version >= max(m.definition.LimitVersion, m.definition.CalendarsVersion) {
		return true
	}
	t := m.spec.Tally(e.From, e.To, m.definition.JitterSeed(), l.nominals.From, l.nominals.To)
	return t.Count == l.count && t.First.Equal(l.nominals.From) && t.Last.Equal(l.nominals.To)
}

// lose counts due actions that will not be started, and tells of them in one event.
func (m *machine) lose(l *losses, count int, nominals wire.Span, source, trace string) {
	if count == 0 {
		return
	}
	event := schedule.Event{
		Kind: l.kind, Count: count, First: nominals.From, Last: nominals.To, Source: source, Reason: l.reason, Trace: trace,
	}
	m.state.Counters.Add(event)
	m.event(event)
}
