package schedule

import (
	"slices"
	"time"
)

// TriggerHandOff is the one hand-off of a trigger: its start, by a definition. Frontend and backfiller both make it, and the
// invoker takes it over once: it is the same span of the same source.
func (b *BackfillState) TriggerHandOff(d *Definition) *Enqueue {
	at := b.RequestTime
	start := NewStart(d, b.ID, at, at)
	start.Overlap, start.Identity, start.Overridden = b.Trigger.Overlap, b.Identity, b.Trigger.Overrides()
	return &Enqueue{
		Incarnation: d.Incarnation, Version: d.Version, Source: b.ID, Span: Span{From: at.Add(-1), To: at},
		Starts: []BufferedStart{start}, Complete: true,
	}
}

// Triggered returns the record of a trigger as it is once its start has been handed over.
func (b BackfillState) Triggered() BackfillState {
	b.Mark, b.Handed, b.Done, b.Attempt = b.RequestTime, 1, true, 0
	return b
}

// Covers reports whether a time lies in a range that has been taken over.
func (p *SourceProgress) Covers(at time.Time) bool {
	return slices.ContainsFunc(p.Covered, func(s Span) bool { return at.After(s.From) && !at.After(s.To) })
}

// TakenFrom returns up to when every hand-off has been taken over, of those that follow each other from the beginning of a source.
// It is the beginning itself as long as the first of them is missing, whatever has overtaken it.
func (p *SourceProgress) TakenFrom(begin time.Time) time.Time {
	if len(p.Covered) == 0 || p.Covered[0].From.After(begin) || p.Covered[0].To.Before(begin) {
		return begin
	}
	return p.Covered[0].To
}

// HandedOver reports whether an invoker has taken over everything of a source up to a time.
func (s *InvokerState) HandedOver(source string, upTo time.Time) bool {
	covered := s.Sources[source].Covered
	return len(covered) > 0 && !covered[0].To.Before(upTo)
}
