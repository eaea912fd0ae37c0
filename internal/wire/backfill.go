package wire

import (
	"slices"
	"strconv"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Requested is the event that tells of the request. Frontend and backfiller both store it: its ID, which a repeat of the
// request names as well, makes one of it.
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

// PausedEventID is the ID of the event that tells of a pause, which has made that version of the definition.
func PausedEventID(incarnation string, version uint64) string {
	return incarnation + "-" + string(schedule.EventPaused) + "-" + strconv.FormatUint(version, 10)
}

// DeletedEventID is the ID of the event that tells of the deletion of a schedule: each is deleted once, whoever tells of it.
func DeletedEventID(incarnation string) string {
	return incarnation + "-" + string(schedule.EventDeleted)
}

// ClosedEventID is the ID of the event that tells that a schedule has been closed.
func ClosedEventID(incarnation string) string {
	return incarnation + "-" + string(schedule.EventClosed)
}

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

// The share of the buffer that backfills may use (docs/semantics.md §6).
const (
	backfillShare    = 500
	reservedSlots    = 50
	maxBackfillBatch = 100
)

// BackfillRoom returns how many starts one of so many backfills may hand over now, at most a batch. What waits takes room,
// whoever has asked for it, and so do the manual runs in progress: a backfill that starts everything at once would
// otherwise have no bound.
func BackfillRoom(state *InvokerState, backfills int) int {
	room := backfillShare - reservedSlots
	for i := range state.Starts {
		if s := &state.Starts[i]; s.Waiting() || s.Manual && s.Running() {
			room--
		}
	}
	return min(max(room, 0)/max(backfills, 1), maxBackfillBatch)
}
