package invoker

import (
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// maxRecount bounds how many actions are counted again, one by one. Only in a hand-off that speaks of more, some may be
// counted twice.
const maxRecount = 100_000

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

// settle notes the version and the nominal times of a hand-off. It returns up to which nominal time the hand-offs of earlier
// versions have settled everything, if this is of the newest version: the generator passes over those times (its record has
// a LastNominal of its own), unless it has died before it could write down that it had handed them over. Then an update that
// changes the jitter has moved them to where nothing is covered.
//
// While a hand-off is missing that a later one has overtaken, nothing is known of its times. The first of all begins when the
// schedule was created.
func settle(e *schedule.Enqueue, progress *schedule.SourceProgress, created time.Time) (until time.Time) {
	if e.Source != schedule.SourceAuto {
		return time.Time{}
	}
	if e.Version > progress.Version {
		progress.Version, progress.Settled = e.Version, progress.LastNominal
	}
	whole := len(progress.Covered) == 1 && !progress.Covered[0].From.After(created)
	if e.Version == progress.Version && whole {
		until = progress.Settled
	}
	newest := []time.Time{progress.LastNominal, e.MissedSpan.To, e.SupersededSpan.To, e.DroppedSpan.To}
	for i := range e.Starts {
		newest = append(newest, e.Starts[i].Nominal)
	}
	progress.LastNominal = slices.MaxFunc(newest, time.Time.Compare)
	return until
}

// trim leaves out of a hand-off what earlier ones have covered from its beginning on, or settled. Starts are told apart one
// by one, but not what is given up: a generator that dies, or is held up, before it writes down what it has handed over
// makes it again, and what is late by then it gives up, though it may have been started.
func (m *machine) trim(e *schedule.Enqueue, progress schedule.SourceProgress, settled time.Time) *schedule.Enqueue {
	from := coveredFrom(progress.Covered, e.From)
	// The spec, or a calendar that it names, is another one by now.
	replaced := e.Version < max(m.definition.LimitVersion, m.definition.CalendarsVersion)
	known := from.After(e.From) || slices.ContainsFunc([]schedule.Span{e.MissedSpan, e.SupersededSpan, e.DroppedSpan},
		func(nominals schedule.Span) bool { return !nominals.To.IsZero() && !nominals.From.After(settled) })
	if m.spec == nil || replaced || !known || givenUp(e) == 0 || givenUp(e) > maxRecount {
		return e
	}
	rest := *e
	rest.From = from
	rest.Missed, rest.MissedSpan = m.recount(e.Missed, e.MissedSpan, rest.Span, settled)
	rest.Superseded, rest.SupersededSpan = m.recount(e.Superseded, e.SupersededSpan, rest.Span, settled)
	rest.Dropped, rest.DroppedSpan = m.recount(e.Dropped, e.DroppedSpan, rest.Span, settled)
	return &rest
}

// recount counts those of the actions given up, by their nominal times, that are due within a range and not settled.
func (m *machine) recount(count int, nominals, due schedule.Span, settled time.Time) (int, schedule.Span) {
	rest := schedule.Span{To: nominals.To}
	n := 0
	for t := range m.spec.Between(due.From, due.To, m.definition.JitterSeed()) {
		if t.Nominal.After(nominals.To) || n == count {
			break
		}
		if t.Nominal.Before(nominals.From) || !t.Nominal.After(settled) {
			continue
		}
		if n == 0 {
			rest.From = t.Nominal
		}
		n++
	}
	if n == 0 {
		return 0, schedule.Span{}
	}
	return n, rest
}

// coveredFrom is until when everything after a time has been taken over; the time itself if nothing has.
func coveredFrom(spans []schedule.Span, from time.Time) time.Time {
	for _, s := range spans {
		if !from.Before(s.From) && from.Before(s.To) {
			return s.To
		}
	}
	return from
}
