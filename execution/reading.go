package execution

import (
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

// What follows is for those who read journals without replaying them.

// EndOf returns how a run has ended if an event ends it.
func EndOf(event *historypb.HistoryEvent) (status enumspb.WorkflowExecutionStatus, isEnd bool) {
	status, isEnd = ends[event.GetEventType()]
	return status, isEnd
}

// EndsWith reports whether the newest run of a journal has certainly ended, by the encoded last entry of the journal alone.
func EndsWith(data []byte) bool {
	entry, err := ParseEntry(data)
	return err == nil && entry.Over()
}

// Merged returns a memo or search attributes with the changes of an event. A change to nothing removes a field.
func Merged(fields, changes map[string]*commonpb.Payload) map[string]*commonpb.Payload {
	return merged(fields, changes)
}
