package invoker

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// givenUp is how many actions a hand-off says will not be started.
func givenUp(e *schedule.Enqueue) int { return e.Missed + e.Superseded + e.Dropped }

// recountingSpec returns the compiled spec by which hand-offs were made, if one of them gives up actions; else nil.
func recountingSpec(d *schedule.Definition, in Input) (*specproc.Spec, error) {
	for i := range in.Enqueues {
		if givenUp(&in.Enqueues[i].Body) > 0 {
			return specproc.CompileDefinition(d)
		}
	}
	return nil, nil
}

// settle notes the version and the nominal times of a hand-off. It returns which nominal times the hand-offs of earlier
// versions have settled, if this is of the newest version: the generator passes over those times (its record has
// a LastNominal of its own), unless it has died before it could write down that it had handed them over. Then an update that
// changes the jitter has moved them to where nothing is covered.
//
// While a hand-off is missing that a later one has overtaken, nothing is known of its times, and what lies behind them is settled:
// no action is due before its nominal time. The first of all begins when the schedule was created.
func settle(e *schedule.Enqueue, progress *schedule.SourceProgress, created time.Time) (settled schedule.Span) {
	if e.Source != schedule.SourceAuto {
		return settled
	}
	if e.Version > progress.Version {
		progress.Version, progress.Settled = e.Version, progress.LastNominal
	}
	if e.Version == progress.Version {
		settled = behindGaps(progress, created)
	}
	newest := []time.Time{progress.LastNominal, e.MissedSpan.To, e.SupersededSpan.To, e.DroppedSpan.To}
	for i := range e.Starts {
		newest = append(newest, e.Starts[i].Nominal)
	}
	progress.LastNominal = slices.MaxFunc(newest, time.Time.Compare)
	return settled
}

// behindGaps returns the nominal times that the hand-offs of earlier versions have settled for certain, after the first and up to the last
// of the span.
func behindGaps(progress *schedule.SourceProgress, created time.Time) schedule.Span {
	if len(progress.Covered) == 1 && !progress.Covered[0].From.After(created) {
		return schedule.Span{To: progress.Settled} // what is due since the creation may have been so before, but for the jitter
	}
	for _, s := range progress.Covered {
		if s.From.Before(progress.Settled) && !s.To.Before(progress.Settled) {
			return schedule.Span{From: s.From, To: progress.Settled}
		}
	}
	return schedule.Span{}
}

// isSettled reports whether a nominal time is one of those that settle returns.
func isSettled(settled schedule.Span, nominal time.Time) bool {
	return nominal.After(settled.From) && !nominal.After(settled.To)
}

// losses are actions of a hand-off that are given up for one reason: so many, between two nominal times.
type losses struct {
	kind     schedule.EventKind
	count    int
	nominals schedule.Span
	reason   string
	// counted is how many of them the newest hand-off has told of, if this one begins where that did.
	counted int
}

// lossesOf returns what a hand-off gives up, by reason.
func lossesOf(e *schedule.Enqueue, progress *schedule.SourceProgress) []losses {
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
func (m *machine) giveUp(e *schedule.Enqueue, progress *schedule.SourceProgress, settled schedule.Span, trace string) {
	gaps := uncovered(progress.Covered, e.Span)
	whole := len(gaps) == 1 && gaps[0] == e.Span
	for _, l := range lossesOf(e, progress) {
		switch {
		case l.count == 0:
		case whole && (l.nominals.From.After(settled.To) || !l.nominals.To.After(settled.From)):
			m.lose(&l, l.count, l.nominals, e.Source, trace)
		case l.nominals.To.IsZero() || !m.canRecount(e, &l):
			m.lose(&l, max(l.count-l.counted, 0), l.nominals, e.Source, trace)
		default:
			for _, gap := range gaps {
				for _, part := range without(l.nominals, settled) {
					t := m.spec.Tally(gap.From, gap.To, m.definition.JitterSeed(), part.From, part.To)
					m.lose(&l, t.Count, schedule.Span{From: t.First, To: t.Last}, e.Source, trace)
				}
			}
		}
	}
}

// without returns the nominal times of a span, from its first to its last, that are not among those which settle returns: before and
// behind them.
func without(nominals, settled schedule.Span) []schedule.Span {
	before, behind := nominals, nominals
	if before.To.After(settled.From) {
		before.To = settled.From
	}
	behind.From = later(behind.From, settled.To.Add(1))
	return []schedule.Span{before, behind}
}

// canRecount reports whether the schedule's spec has the times that a hand-off gives up. It may be another one by now, or a calendar that it
// names may; but most updates change something else.
func (m *machine) canRecount(e *schedule.Enqueue, l *losses) bool {
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
func (m *machine) lose(l *losses, count int, nominals schedule.Span, source, trace string) {
	if count == 0 {
		return
	}
	event := schedule.Event{
		Kind: l.kind, Count: count, First: nominals.From, Last: nominals.To, Source: source, Reason: l.reason, Trace: trace,
	}
	m.state.Counters.Add(event)
	m.event(event)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
