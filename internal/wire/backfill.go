package wire

import (
	"slices"
	"strconv"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Requested is the event of the request. Frontend and backfiller both store it; a repeat of the request has the same ID, so all are one
// event.
func (b *BackfillState) Requested(key schedule.Key) schedule.Event {
	event := schedule.Event{
		Time: b.RequestTime.UTC(), Namespace: key.Namespace, ScheduleID: key.ID, Kind: schedule.EventTriggered,
		RequestID: b.RequestID, Source: b.ID, Identity: b.Identity, Trace: b.Trace,
	}
	if b.Trigger != nil {
		event.Reason = b.Trigger.Note
	} else {
		event.Kind, event.Reason = schedule.EventBackfillRequested, b.Range.Note
		event.First, event.Last = b.Range.Start.UTC(), b.Range.End.UTC()
	}
	event.ID = b.Incarnation + "-" + string(event.Kind) + "-" + b.ID
	return event
}

// PausedEventID is the ID of the event of the pause that made a version of the definition.
func PausedEventID(incarnation string, version uint64) string {
	return incarnation + "-" + string(schedule.EventPaused) + "-" + strconv.FormatUint(version, 10)
}

// DeletedEventID is the ID of the event of a schedule's deletion. Whoever stores it, each schedule has only one.
func DeletedEventID(incarnation string) string {
	return incarnation + "-" + string(schedule.EventDeleted)
}

// ClosedEventID is the ID of the event of a schedule's closing.
func ClosedEventID(incarnation string) string {
	return incarnation + "-" + string(schedule.EventClosed)
}

// TriggerHandOff is the only hand-off of a trigger: its start, according to a definition. Frontend and backfiller both make it. The invoker
// takes it over once, because it is the same span of the same source.
func (b *BackfillState) TriggerHandOff(d *Definition) *Enqueue {
	at, nominal := b.RequestTime, b.RequestTime
	if asked := b.Trigger.NominalTime; !asked.IsZero() {
		nominal = asked
	}
	start := NewStart(d, b.ID, nominal, nominal)
	start.Overlap, start.Identity, start.Overridden = b.Trigger.Overlap, b.Identity, b.Trigger.Overrides()
	return &Enqueue{
		Incarnation: d.Incarnation, Version: d.Version, Source: b.ID, Span: Span{From: at.Add(-1), To: at},
		Starts: []BufferedStart{start}, Complete: true,
	}
}

// Triggered returns the record of a trigger after its start has been handed over.
func (b BackfillState) Triggered() BackfillState {
	b.Mark, b.Handed, b.Done, b.Attempt = b.RequestTime, 1, true, 0
	return b
}

// Covers reports whether a time lies in a range that was taken over.
func (p *SourceProgress) Covers(at time.Time) bool {
	return slices.ContainsFunc(p.Covered, func(s Span) bool { return at.After(s.From) && !at.After(s.To) })
}

// TakenFrom returns the time up to which all hand-offs of a source, from its beginning on, have been taken over. It is the beginning itself
// while the first hand-off is missing, even if later ones have arrived.
func (p *SourceProgress) TakenFrom(begin time.Time) time.Time {
	if len(p.Covered) == 0 || p.Covered[0].From.After(begin) || p.Covered[0].To.Before(begin) {
		return begin
	}
	return p.Covered[0].To
}

// HandedOver reports whether the invoker has taken over everything of a source up to a time.
func (s *InvokerState) HandedOver(source string, upTo time.Time) bool {
	covered := s.Sources[source].Covered
	return len(covered) > 0 && !covered[0].To.Before(upTo)
}

// The share of the buffer that backfills may use (docs/semantics.md §6).
const (
	backfillShare    = 500
	reservedSlots    = 50
	maxBackfillBatch = 100
)

// BackfillRoom returns how many starts one of the given number of backfills may hand over now; at most a batch. All waiting starts take
// room, whoever asked for them, and so do manual runs in progress: otherwise, a backfill that starts everything at once would have no
// bound.
func BackfillRoom(state *InvokerState, backfills int) int {
	room := backfillShare - reservedSlots
	for i := range state.Starts {
		if s := &state.Starts[i]; s.Waiting() || s.Manual && s.Running() {
			room--
		}
	}
	return min(max(room, 0)/max(backfills, 1), maxBackfillBatch)
}
