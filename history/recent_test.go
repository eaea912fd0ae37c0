package history

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/carillon-scheduler/carillon/execution"
)

// TestRecentHasWhatATaskBrings: what has waited for the end of a workflow task, as much as may, is still in memory when the next task asks for it, whatever
// came before. Else each such task would read the journal from its beginning.
func TestRecentHasWhatATaskBrings(t *testing.T) {
	t.Parallel()
	signal := func(id int64, size int) *historypb.HistoryEvent {
		return &historypb.HistoryEvent{EventId: id, Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
			WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{
				Input: &commonpb.Payloads{Payloads: []*commonpb.Payload{{Data: make([]byte, size)}}},
			},
		}}
	}
	for _, before := range []int{0, 1, 100, 250, 500, 900} {
		r, next := recent{}, int64(1)
		entry := func(n, size int) (first int64) {
			part := execution.Part{RunID: "r"}
			first = next
			for range n {
				part.Events = append(part.Events, signal(next, size))
				next++
			}
			r.add(&execution.Entry{Parts: []execution.Part{part}})
			return first
		}
		for range before {
			entry(1, 1<<10)
		}
		first := entry(1, 100) // the task completes
		entry(900, 500)
		entry(1, 100) // the next one starts
		events, ok := r.span("r", first, next-1)
		require.True(t, ok, before)
		require.Len(t, events, 902)
		require.LessOrEqual(t, r.bytes, int64(maxRecent))
	}
}
