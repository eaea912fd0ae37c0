package invoker

import (
	"slices"

	"github.com/carillon-scheduler/carillon/internal/wire"
)

// contains reports whether the spans contain the whole range.
func contains(spans []wire.Span, span wire.Span) bool {
	return slices.ContainsFunc(spans, func(s wire.Span) bool {
		return !span.From.Before(s.From) && !span.To.After(s.To)
	})
}

// cover adds a range and joins ranges that touch. The result is sorted and disjoint. It is a single range unless a hand-off of a chain is
// missing.
func cover(spans []wire.Span, span wire.Span) []wire.Span {
	all := append(slices.Clone(spans), span)
	slices.SortFunc(all, func(a, b wire.Span) int { return a.From.Compare(b.From) })
	joined := all[:1]
	for _, s := range all[1:] {
		last := &joined[len(joined)-1]
		switch {
		case s.From.After(last.To):
			joined = append(joined, s)
		case s.To.After(last.To):
			last.To = s.To
		}
	}
	return joined
}

// uncovered returns the parts of a range that no span covers, in order. The spans must be as cover returns them.
func uncovered(spans []wire.Span, span wire.Span) []wire.Span {
	var gaps []wire.Span
	for _, s := range spans {
		if !s.To.After(span.From) || s.To.Equal(s.From) {
			continue
		}
		if !s.From.Before(span.To) {
			break
		}
		if s.From.After(span.From) {
			gaps = append(gaps, wire.Span{From: span.From, To: s.From})
		}
		span.From = s.To
	}
	if span.To.After(span.From) {
		gaps = append(gaps, span)
	}
	return gaps
}
