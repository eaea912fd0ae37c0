package schedule

import "strconv"

// Requested is the event that tells of the request. Frontend and backfiller both store it: its ID, which a repeat of the
// request names as well, makes one of it.
func (b *BackfillState) Requested(key Key) Event {
	event := Event{
		Time: b.RequestTime.UTC(), Namespace: key.Namespace, ScheduleID: key.ID, Kind: EventTriggered,
		RequestID: b.RequestID, Source: b.ID, Identity: b.Identity, Trace: b.Trace,
	}
	if b.Trigger != nil {
		event.Reason = b.Trigger.Note
	} else {
		event.Kind, event.Reason = EventBackfillRequested, b.Range.Note
		event.First, event.Last = b.Range.Start.UTC(), b.Range.End.UTC()
	}
	event.ID = b.Incarnation + "-" + string(event.Kind) + "-" + b.ID
	return event
}

// PausedEventID is the ID of the event that tells of a pause, which has made that version of the definition.
func PausedEventID(incarnation string, version uint64) string {
	return incarnation + "-" + string(EventPaused) + "-" + strconv.FormatUint(version, 10)
}

// DeletedEventID is the ID of the event that tells of the deletion of a schedule: each is deleted once, whoever tells of it.
func DeletedEventID(incarnation string) string { return incarnation + "-" + string(EventDeleted) }

// ClosedEventID is the ID of the event that tells that a schedule has been closed.
func ClosedEventID(incarnation string) string { return incarnation + "-" + string(EventClosed) }
