package invoker

import (
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
			return specproc.Compile(d.Schedule.Spec)
		}
	}
	return nil, nil
}

// trim leaves out of a hand-off what earlier ones have covered from its beginning on. Starts are told apart one by one, but
// not what is given up: a generator that dies, or is held up, before it writes down what it has handed over makes it
// again, and what is late by then it gives up, though it may have been started.
func (m *machine) trim(e *schedule.Enqueue, progress schedule.SourceProgress) *schedule.Enqueue {
	from := coveredFrom(progress.Covered, e.From)
	replaced := e.Version < m.definition.LimitVersion // the spec is another one by now
	if m.spec == nil || replaced || !from.After(e.From) || givenUp(e) == 0 || givenUp(e) > maxRecount {
		return e
	}
	rest := *e
	rest.From = from
	rest.Missed, rest.MissedSpan = m.recount(e.Missed, e.MissedSpan, rest.Span)
	rest.Superseded, rest.SupersededSpan = m.recount(e.Superseded, e.SupersededSpan, rest.Span)
	rest.Dropped, rest.DroppedSpan = m.recount(e.Dropped, e.DroppedSpan, rest.Span)
	return &rest
}

// recount counts those of the actions given up, by their nominal times, that are due within a range.
func (m *machine) recount(count int, nominals, due schedule.Span) (int, schedule.Span) {
	rest := schedule.Span{To: nominals.To}
	n := 0
	for t := range m.spec.Between(due.From, due.To, m.definition.JitterSeed()) {
		if t.Nominal.After(nominals.To) || n == count {
			break
		}
		if t.Nominal.Before(nominals.From) {
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
