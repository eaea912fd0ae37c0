package execution

import (
	"fmt"
	"strconv"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"
)

// The limits are Temporal's, but where a comment says why not. A worker reads all of a history whenever it has lost the run from its cache.
const (
	// suggestEvents, suggestBytes and suggestUpdates are from when on workers are told to begin a new run.
	suggestEvents  = 4 << 10
	suggestBytes   = 4 << 20
	suggestUpdates = maxUpdates * 9 / 10
	// maxEvents and maxBytes end a run.
	maxEvents = 50 << 10
	maxBytes  = 50 << 20
	// maxPending is how many activities may be pending, and how many children, signals and cancellations of other workflows, each.
	maxPending = 2000
	// maxSignals is how many signals a run accepts.
	maxSignals = 10000
	// maxBuffered and maxBufferedBytes are how much may wait for the end of a workflow task. It must fit into one entry together with what ends the
	// task, also if the NATS server accepts only 1 MB, and into the first page of the history that the next task brings.
	// Temporal lets 100 events wait, which it stores anew with each.
	maxBuffered      = 900
	maxBufferedBytes = 512 << 10
	// maxText is how many bytes an ID or a name in a command may have.
	maxText = 1000
	// maxAttributes and maxAttributeBytes are how many search attributes a run may have, and the size of all. maxMemo is the size of its memo.
	maxAttributes     = 100
	maxAttributeBytes = 40 << 10
	maxMemo           = 2 << 20
)

func tooMany(what string) string {
	return "the number of pending " + what + " has reached the limit of " + strconv.Itoa(maxPending)
}

// tooLong says which of the texts of a command is too long; empty if none is. Each is preceded by what it is.
func tooLong(texts ...string) string {
	for i := 0; i+1 < len(texts); i += 2 {
		if size := len(texts[i+1]); size > maxText {
			return fmt.Sprintf("%s has %d bytes, %d are possible", texts[i], size, maxText)
		}
	}
	return ""
}

// attributesTooLarge says why a run cannot have search attributes; empty if it can.
func attributesTooLarge(fields map[string]*commonpb.Payload) string {
	if len(fields) > maxAttributes {
		return fmt.Sprintf("the workflow would have %d search attributes, %d are possible", len(fields), maxAttributes)
	}
	if size := proto.Size(&commonpb.SearchAttributes{IndexedFields: fields}); size > maxAttributeBytes {
		return fmt.Sprintf("the search attributes of the workflow would have %d bytes, %d are possible", size, maxAttributeBytes)
	}
	return ""
}

// memoTooLarge says why a run cannot have a memo; empty if it can.
func memoTooLarge(fields map[string]*commonpb.Payload) string {
	if size := proto.Size(&commonpb.Memo{Fields: fields}); size > maxMemo {
		return fmt.Sprintf("the memo of the workflow would have %d bytes, %d are possible", size, maxMemo)
	}
	return ""
}

// suggestNew says why the workflow should continue as new; nil if it need not. A worker that replays the history must find the same again, so what
// counts is the moment at which the task started.
func (r *Run) suggestNew(task *WorkflowTask) (reasons []enumspb.SuggestContinueAsNewReason) {
	if r.Bytes >= suggestBytes {
		reasons = append(reasons, enumspb.SUGGEST_CONTINUE_AS_NEW_REASON_HISTORY_SIZE_TOO_LARGE)
	}
	if r.NextEvent >= suggestEvents {
		reasons = append(reasons, enumspb.SUGGEST_CONTINUE_AS_NEW_REASON_TOO_MANY_HISTORY_EVENTS)
	}
	if task.ManyUpdates {
		reasons = append(reasons, enumspb.SUGGEST_CONTINUE_AS_NEW_REASON_TOO_MANY_UPDATES)
	}
	return reasons
}

// boundBuffered ends the workflow task in progress if too much waits for its end: the next one brings it.
func (tx *transition) boundBuffered() {
	if r := tx.run; r.Open() && r.Task.Started != 0 && tooMuch(r.Buffered) {
		tx.failTask(enumspb.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND, nil, "")
		tx.scheduleTask()
	}
}

func tooMuch(buffered []*historypb.HistoryEvent) bool {
	size := 0
	for _, event := range buffered {
		size += proto.Size(event)
	}
	return len(buffered) > maxBuffered || size > maxBufferedBytes
}

// enforceLimits ends a run whose history has become too long. What has arrived stays in it.
func (tx *transition) enforceLimits() {
	switch r := tx.run; {
	case !r.Open():
	case r.NextEvent > maxEvents:
		tx.terminate("Workflow history count exceeds limit.", nil, "history-service")
	case r.Bytes > maxBytes:
		tx.terminate("Workflow history size exceeds limit.", nil, "history-service")
	}
}
