package workflows

import (
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
)

// Pages reads a page of the history of a run. The token is that of the page before; it is empty for the first page and after the last.
type Pages func(token []byte) (page *history.History, next []byte, err error)

// TaskToReset returns the ID of the event to which a run is to be reset: the first one in pages that completed a workflow task. So with pages from the
// beginning of the history it is that of the first task, and with pages from its end that of the last. If no task was completed, it is the event after
// the first task was scheduled. The error is that of read, or FailedPrecondition if there is no task at all.
func TaskToReset(read Pages) (point int64, err error) {
	for token := []byte(nil); ; {
		page, next, err := read(token)
		if err != nil {
			return 0, err
		}
		for _, event := range page.GetEvents() {
			switch {
			case event.EventType == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
				return event.EventId, nil
			case event.EventType == enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED && (point == 0 || event.EventId < point):
				point = event.EventId + 1
			}
		}
		switch token = next; {
		case len(token) > 0:
		case point == 0:
			return 0, serviceerror.NewFailedPrecondition("the run has no workflow task to which it could be reset")
		default:
			return point, nil
		}
	}
}
